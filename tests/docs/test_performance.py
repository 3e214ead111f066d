"""`docs/reference/performance.md` matches the measurements."""

from benchmarks.performance import chart, document
from benchmarks.performance.load import find_names_without_one_entry
from chalicelib.entrypoints.catalogue import all_operations
from local.paths import ROOT


def test_the_page_is_generated_from_the_results():
    assert document.PAGE_FILE.read_text() == document.render_page(), "run `python -m benchmarks.performance.document`"


def test_the_page_has_every_measured_section():
    folder = ROOT / "benchmarks/performance"
    modules = {file.stem.removesuffix("_section") for file in folder.glob("*_section.py")}
    assert modules == set(document.section_names())


def test_acknowledged_changes_without_exactly_one_entry_are_reported():
    entries = [{"data": {"name": name}} for name in ("once", "twice", "twice", "of others")]
    assert find_names_without_one_entry(["once", "twice", "lost"], entries) == ["twice", "lost"]


def test_every_operation_is_measured():
    measured = document.load_results("operations")["operations"]
    assert measured.keys() == {operation.id for operation in all_operations()}, "run `make measure`"


def test_only_operations_that_return_a_whole_tree_make_more_calls_with_10_000_records_than_with_1_000():
    measured = document.load_results("operations")["operations"]
    growing_operations = {
        name for name, sizes in measured.items() if any(sizes[-1][unit] > sizes[1][unit] for unit in sizes[1])
    }
    assert growing_operations == {"get_sitemap", "get_taxonomy_tree"}, "only a bounded tree may be read as a whole"


def test_the_chart_is_generated_from_the_results():
    assert chart.CHART_FILE.read_text() == chart.render_svg(document.load_results("peers")), "run `make bench`"
