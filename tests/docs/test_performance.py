"""`docs/reference/performance.md` says what was measured, and nothing else."""

from benchmarks.performance import chart, document
from benchmarks.performance.load import without_their_entry
from chalicelib.entrypoints.catalogue import operations
from local.paths import ROOT


def test_the_page_is_made_of_the_figures_that_were_kept() -> None:
    assert document.FILE.read_text() == document.document(), "run `python -m benchmarks.performance.document`"


def test_every_section_that_is_measured_is_in_the_page() -> None:
    folder = ROOT / "benchmarks/performance"
    modules = {file.stem.removesuffix("_section") for file in folder.glob("*_section.py")}
    assert modules == set(document.sections_made())


def test_a_load_is_not_kept_where_a_change_that_was_acknowledged_has_no_entry_or_two() -> None:
    entries = [{"data": {"name": name}} for name in ("once", "twice", "twice", "of others")]
    assert without_their_entry(["once", "twice", "lost"], entries) == ["twice", "lost"]


def test_what_each_operation_asks_is_measured() -> None:
    measured = document.read("operations")["operations"]
    assert measured.keys() == {operation.id for operation in operations()}, "run `make measure`"


def test_only_what_is_a_whole_takes_more_beside_10_000_neighbours_than_beside_1_000() -> None:
    measured = document.read("operations")["operations"]
    grown = {name for name, sizes in measured.items() if any(sizes[-1][what] > sizes[1][what] for what in sizes[1])}
    assert grown == {"get_sitemap", "get_taxonomy_tree"}, "what is asked for as a whole, and is bounded, is read whole"


def test_the_chart_is_what_the_figures_say() -> None:
    assert chart.FILE.read_text() == chart.svg(document.read("peers")), "run `make bench`"
