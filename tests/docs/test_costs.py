"""`docs/reference/costs.md` is about every operation, and what it prices is what the code asks for."""

import json

import pytest

from benchmarks.costs import dollars, measuring, results, sizes
from benchmarks.costs.classes import CLASSES, class_of
from benchmarks.costs.document import FILE, document
from benchmarks.costs.measuring import bench, calls
from chalicelib.entrypoints.catalogue import operations
from infrastructure.configuration import CHALICE
from infrastructure.deploy import UNRESERVED
from infrastructure.gateway import THROTTLE

AGAIN = "run `python -m benchmarks.costs`, and commit what it writes"

pytestmark = pytest.mark.no_cover


def test_the_page_is_what_the_figures_say() -> None:
    assert FILE.read_text() == document(results.read()), f"{AGAIN} (--document is enough)"


def test_every_operation_has_its_class_and_its_row() -> None:
    kept, page = results.read()["operations"], FILE.read_text()
    assert {operation.id: class_of(operation) for operation in operations()} == {
        name: record["class"] for name, record in kept.items()
    }, AGAIN
    assert {record["class"] for record in kept.values()} == set(CLASSES)
    shown = {name for name in (*kept, *results.read()["others"]) if f"`{name}`" in page or f"**{name}**" in page}
    assert {*kept, *results.read()["others"]} - shown == {measuring.SWEEP, measuring.ANCHOR}


def test_the_typical_operation_of_each_class_still_asks_for_what_was_priced() -> None:
    kept = results.read()
    names = {results.typical(kept, name)[0] for name in CLASSES}
    with bench() as made:
        now = dict(made.operations(1, names)) | dict(made.others(1))
    for name, record in now.items():
        measured = kept["operations"].get(name) or kept["others"][name]
        assert calls(record) == calls(measured), f"{name} asks for something else than was priced: {AGAIN}"


def test_the_limits_of_atrium_are_those_that_it_has() -> None:
    page, config = FILE.read_text(), json.loads((CHALICE / "config.json").read_text())
    functions = config["stages"]["prod"]["lambda_functions"]
    reserved = {name: function["reserved_concurrency"] for name, function in functions.items()}
    in_all = sum(reserved.values())
    assert f"reserves {in_all} and leaves {UNRESERVED}, so it needs {in_all + UNRESERVED} " in page
    assert "{ThrottlingRateLimit:,} a second, {ThrottlingBurstLimit:,} at once".format(**THROTTLE) in page
    for name in ("api_handler", "events"):
        (row,) = [line for line in page.splitlines() if f"`reserved_concurrency` of `{name}`" in line]
        assert f" | {reserved[name]} | " in row


def test_units_are_those_of_the_developer_guide() -> None:
    small, key = {"pk": "a", "sk": "b"}, {"index1pk": "x", "index1sk": "y"}
    assert [sizes.read_units(size) for size in (0, 4096, 4097)] == [1, 1, 2]
    assert [sizes.write_units(size) for size in (0, 1024, 1025)] == [1, 1, 2]
    assert (
        sizes.size({**small, "n": -12345, "b": b"1234", "t": True, "l": ["x"], "m": {"k": "v"}})
        == 6 + 6 + 5 + 2 + 6 + 7
    )
    assert sizes.index_units(None, small) == 0
    assert sizes.index_units(None, small | key) == 1
    assert sizes.index_units(small | key, small | key) == 0
    assert sizes.index_units(small | key, small | key | {"other": "z" * 2000}) == 2
    assert sizes.index_units(small | key, small | key | {"index1sk": "z"}) == 2
    assert sizes.index_units(small | key, None) == 1
    assert sizes.index_units(None, small | {"facet1pk": "x", "facet2pk": "y", "duepk": "d", "duesk": "e"}) == 3


def test_a_request_is_priced_by_all_that_it_takes() -> None:
    turn = {
        "function": "api_handler",
        "messages": 0,
        "logged": 150,
        "cpu": 0.010 * dollars.PROCESSORS,
        "waits": [],
        "read": 8.0,
        "written": 4.0,
        "indexed": 4.0,
        "fifo": 1,
        "standard": 0,
        "puts": 0,
        "gets": 0,
        "mails": 1,
        "keys": 0,
    }
    behind = turn | {"function": "jobs", "messages": 1, "mails": 0, "fifo": 0, "logged": 650}
    of = dollars.dollars({"turns": [turn, behind]})
    priced = {name: round(each * 1e6, 6) for name, each in vars(of).items()}
    assert priced == {
        "gateway": 3.5,
        "functions": 2 * (0.2 + 0.166667),
        "table": 2 * (8 * 0.125 + 8 * 0.625),
        "queues": 0.5 + 2 * 0.4,
        "logs": 1.0,
        "others": 100.0,
    }
