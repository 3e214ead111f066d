"""`docs/reference/costs.md` covers every operation, and prices the AWS calls that the code makes."""

import json

import pytest

from benchmarks.costs import bench, cost_model, item_sizes, results
from benchmarks.costs.bench import calls_by_invocation, open_bench
from benchmarks.costs.classes import CLASSES, class_of
from benchmarks.costs.document import PAGE_FILE, render_page
from chalicelib.entrypoints.catalogue import all_operations
from infrastructure.configuration import CHALICE_FOLDER
from infrastructure.deploy import MIN_UNRESERVED_CONCURRENCY
from infrastructure.gateway import THROTTLE

RUN_BENCHMARK = "run `python -m benchmarks.costs`, and commit what it writes"

pytestmark = pytest.mark.no_cover


def test_the_page_is_generated_from_the_results():
    assert PAGE_FILE.read_text() == render_page(results.load_results()), f"{RUN_BENCHMARK} (--document is enough)"


def test_every_operation_has_a_class_and_a_row():
    records, page = results.load_results()["operations"], PAGE_FILE.read_text()
    assert {operation.id: class_of(operation) for operation in all_operations()} == {
        name: record["class"] for name, record in records.items()
    }, RUN_BENCHMARK
    assert {record["class"] for record in records.values()} == set(CLASSES)
    names = {*records, *results.load_results()["others"]}
    names_without_row = {name for name in names if f"`{name}`" not in page and f"**{name}**" not in page}
    assert names_without_row == {bench.EMPTY_SWEEP, bench.EMPTY_ANCHORING}


def test_the_typical_operation_of_each_class_makes_the_calls_that_were_priced():
    priced = results.load_results()
    names = {results.typical_operation(priced, name)[0] for name in CLASSES}
    with open_bench() as measurements:
        measured = dict(measurements.measure_operations(1, names)) | dict(measurements.measure_other_requests(1))
    for name, record in measured.items():
        expected = priced["operations"].get(name) or priced["others"][name]
        assert calls_by_invocation(record) == calls_by_invocation(expected), (
            f"{name} makes other calls than those that were priced: {RUN_BENCHMARK}"
        )


def test_the_documented_limits_are_those_of_the_configuration():
    page, config = PAGE_FILE.read_text(), json.loads((CHALICE_FOLDER / "config.json").read_text())
    functions = config["stages"]["prod"]["lambda_functions"]
    reserved = {name: function["reserved_concurrency"] for name, function in functions.items()}
    total = sum(reserved.values())
    left = MIN_UNRESERVED_CONCURRENCY
    assert f"reserves {total} and leaves {left}, so it needs {total + left} " in page
    assert "{ThrottlingRateLimit:,} a second, {ThrottlingBurstLimit:,} at once".format(**THROTTLE) in page
    for name in ("api_handler", "events"):
        (row,) = [line for line in page.splitlines() if f"`reserved_concurrency` of `{name}`" in line]
        assert f" | {reserved[name]} | " in row


def test_capacity_units_follow_the_developer_guide():
    item, index_key = {"pk": "a", "sk": "b"}, {"index1pk": "x", "index1sk": "y"}
    assert [item_sizes.read_units(size) for size in (0, 4096, 4097)] == [1, 1, 2]
    assert [item_sizes.write_units(size) for size in (0, 1024, 1025)] == [1, 1, 2]
    attributes = {**item, "n": -12345, "b": b"1234", "t": True, "l": ["x"], "m": {"k": "v"}}
    assert item_sizes.item_size(attributes) == 6 + 6 + 5 + 2 + 6 + 7
    indexed = item | index_key
    for before, after, units in (
        (None, item, 0),
        (None, indexed, 1),
        (indexed, indexed, 0),
        (indexed, indexed | {"other": "z" * 2000}, 2),
        (indexed, indexed | {"index1sk": "z"}, 2),
        (indexed, None, 1),
        (None, item | {"facet1pk": "x", "facet2pk": "y", "duepk": "d", "duesk": "e"}, 3),
    ):
        assert item_sizes.index_units(before, after) == units, (before, after)


def test_the_price_of_a_request_covers_all_resources_that_it_uses():
    request = {
        "function": "api_handler",
        "messages": 0,
        "logged": 150,
        "cpu": 0.010 * cost_model.CPU_SHARE,
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
    job = request | {"function": "jobs", "messages": 1, "mails": 0, "fifo": 0, "logged": 650}
    price = cost_model.calculate_cost({"turns": [request, job]})
    micro_dollars = {name: round(amount * 1e6, 6) for name, amount in vars(price).items()}
    assert micro_dollars == {
        "gateway": 3.5,
        "functions": 2 * (0.2 + 0.166667),
        "table": 2 * (8 * 0.125 + 8 * 0.625),
        "queues": 0.5 + 2 * 0.4,
        "logs": 1.0,
        "others": 100.0,
    }
