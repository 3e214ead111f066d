"""`docs/reference/scale.md` matches the measurements."""

from benchmarks.log_scale import document, results


def test_the_page_is_generated_from_the_results():
    assert document.PAGE_FILE.read_text() == document.render_page(results.load_results()), (
        "run `python -m benchmarks.log_scale`"
    )
