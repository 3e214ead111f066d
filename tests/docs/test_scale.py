"""`docs/reference/scale.md` says what was measured, and nothing else."""

from benchmarks.log_scale import document, results


def test_the_page_is_made_of_the_figures_that_were_kept() -> None:
    assert document.FILE.read_text() == document.document(results.read()), "run `python -m benchmarks.log_scale`"
