"""The pages of measurements match the measurements, and the measuring programs calculate correctly."""

import json
import re
from dataclasses import replace
from typing import Any, Final

import pytest

from benchmarks.costs import bench, cost_model, example_bill, item_sizes
from benchmarks.costs import document as costs
from benchmarks.costs import results as cost_results
from benchmarks.costs.bench import calls_by_invocation, open_bench
from benchmarks.costs.classes import CLASSES, class_of
from benchmarks.deliveries import document as deliveries
from benchmarks.deliveries.hanging_endpoints import DESIGNS, Load, Simulation
from benchmarks.log_scale import document as scale
from benchmarks.log_scale import results as scale_results
from benchmarks.performance import chart
from benchmarks.performance import document as performance
from benchmarks.performance.load import find_names_without_one_entry
from benchmarks.schemas import document as schemas
from benchmarks.soak import assertions
from benchmarks.soak import document as reliability
from benchmarks.soak.journal import AcknowledgedChange
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.outbound.webhook_client import TOTAL_SECONDS
from infrastructure.configuration import CHALICE_FOLDER
from infrastructure.gateway import DEFAULT_THROTTLE
from infrastructure.quotas import MIN_UNRESERVED_CONCURRENCY
from local.paths import ROOT
from tests.harness.generated_files import require_current_file

RUN_BENCHMARK = "run `python -m benchmarks.costs`, and commit what it writes"
IMPLEMENTED_DESIGNS = [design.name for design in DESIGNS if design.has_circuit_breaker and design.workers is None]
EVENT: Final = AcknowledgedChange("o", "PATCH", "/spaces/s", 200, "s", 2)


@pytest.mark.parametrize(
    ("page", "results", "command"),
    [
        (costs, cost_results, "python -m benchmarks.costs --document"),
        (deliveries, None, "python -m benchmarks.deliveries.hanging_endpoints`, or `benchmarks.deliveries.lag"),
        (performance, None, "python -m benchmarks.performance.document"),
        (reliability, None, "make soak"),
        (scale, scale_results, "python -m benchmarks.log_scale"),
        (schemas, None, "python -m benchmarks.schemas"),
    ],
)
def test_a_page_is_generated_from_its_results(page, results, command):
    rendered = page.render_page(*[results.load_results()] if results else [])
    require_current_file(page.PAGE_FILE, rendered, command)


def test_every_operation_has_a_class_and_a_row():
    records, page = cost_results.load_results()["operations"], costs.PAGE_FILE.read_text()
    assert {operation.id: class_of(operation) for operation in all_operations()} == {
        name: record["class"] for name, record in records.items()
    }, RUN_BENCHMARK
    assert {record["class"] for record in records.values()} == set(CLASSES)
    names = {*records, *cost_results.load_results()["others"]}
    names_without_row = {name for name in names if f"`{name}`" not in page and f"**{name}**" not in page}
    assert names_without_row == {bench.EMPTY_SWEEP, bench.EMPTY_ANCHORING}


@pytest.mark.no_cover
@pytest.mark.usefixtures("_aws_in_memory")
def test_the_typical_operation_of_each_class_makes_the_calls_that_were_priced():
    priced = cost_results.load_results()
    names = {cost_results.typical_operation(priced, name)[0] for name in CLASSES}
    with open_bench() as measurements:
        measured = dict(measurements.measure_operations(1, names)) | dict(measurements.measure_other_requests(1))
    for name, record in measured.items():
        expected = priced["operations"].get(name) or priced["others"][name]
        assert calls_by_invocation(record) == calls_by_invocation(expected), (
            f"{name} makes other calls than those that were priced: {RUN_BENCHMARK}"
        )


def test_the_bill_of_the_worked_example_is_the_sum_of_its_requests_storage_transfer_and_an_idle_stage():
    results, page = cost_results.load_results(), costs.PAGE_FILE.read_text()
    records, idle = (
        cost_results.typical_records(results),
        float(re.findall(r"\| \*\*total\*\* \| ([\d.]+) \|", page)[0]),
    )
    counts = {usage.kind: usage.callers * usage.times for usage in example_bill.USAGES}
    assert (counts["read one"], counts["change"]) == (100 * 20 * 60 * 21, 100 * 20 * 5 * 21)
    requests = sum(count * cost_model.calculate_cost(records[kind]).total for kind, count in counts.items())
    stored_gb = 12 * sum(count * records[kind]["stored"] for kind, count in counts.items()) / 1e9
    total = requests + stored_gb * (0.25 + 0.20) + sum(counts.values()) * 5e-6 * 0.09 + idle
    assert sum(example_bill.monthly_bill(results).values()) == pytest.approx(total, abs=0.01)
    assert f"| **total**, after 12 months | **{total:,.2f}** |" in page


def test_the_documented_limits_are_those_of_the_configuration():
    page, config = costs.PAGE_FILE.read_text(), json.loads((CHALICE_FOLDER / "config.json").read_text())
    functions = config["stages"]["prod"]["lambda_functions"]
    reserved = {name: function["reserved_concurrency"] for name, function in functions.items()}
    total = sum(reserved.values())
    left = MIN_UNRESERVED_CONCURRENCY
    assert f"reserves {total} and leaves {left}, so it needs {total + left} " in page
    assert "{:,} a second, {:,} at once".format(*DEFAULT_THROTTLE) in page
    running = (ROOT / "docs/operations/running.md").read_text()
    assert f"it reserves {total}, and Lambda requires that {left} stay" in " ".join(running.split())
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \| none \|$", running, re.MULTILINE))
    assert {name: int(row) for name, row in rows.items()} == reserved
    assert "reserved_concurrency" not in json.dumps(config["stages"]["dev"])
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


@pytest.fixture(scope="module")
def simulations_by_design() -> dict[str, Simulation]:
    """A completed simulation of each design, with fewer webhooks and workers than on the page."""
    load = Load(hanging=3_000, healthy=100, minutes=8)
    simulations = {design.name: Simulation(replace(design, workers=100), load) for design in DESIGNS[:3]}
    for simulation in simulations.values():
        simulation.run()
    return simulations


def max_late_lag(simulation: Simulation) -> float:
    """Return the longest lag of an event of a healthy endpoint in the last minutes."""
    return max(lag for time, lag in simulation.lags if time > 6 * 60)


def test_every_event_of_a_healthy_endpoint_is_delivered_in_each_design(simulations_by_design):
    first, *others = [sorted(time for time, _ in simulation.lags) for simulation in simulations_by_design.values()]
    assert len(first) > 500
    assert all(times == first for times in others)


@pytest.mark.parametrize("name", IMPLEMENTED_DESIGNS)
def test_hanging_endpoints_do_not_delay_healthy_ones_once_their_circuit_is_open(name, simulations_by_design):
    assert max_late_lag(simulations_by_design[name]) < 5
    assert max_late_lag(simulations_by_design["one queue without parking"]) > 60


@pytest.mark.parametrize("name", IMPLEMENTED_DESIGNS)
def test_a_webhook_with_an_open_circuit_is_probed_with_one_event_at_a_time(name, simulations_by_design):
    simulation = simulations_by_design[name]
    max_timeouts = simulation.load.minutes * 60 / TOTAL_SECONDS
    timeouts = [webhook.circuit.consecutive_timeouts for webhook in simulation.webhooks if webhook.is_hanging]
    assert 2 <= max(timeouts) <= max_timeouts


def test_the_page_has_every_measured_section():
    folder = ROOT / "benchmarks/performance"
    modules = {file.stem.removesuffix("_section") for file in folder.glob("*_section.py")}
    assert modules == set(performance.section_names())


def test_acknowledged_changes_without_exactly_one_entry_are_reported():
    entries = [{"data": {"name": name}} for name in ("once", "twice", "twice", "of others")]
    assert find_names_without_one_entry(["once", "twice", "lost"], entries) == ["twice", "lost"]


def test_every_operation_is_measured():
    measured = performance.load_results("operations")["operations"]
    assert measured.keys() == {operation.id for operation in all_operations()}, "run `make measure`"


def test_only_operations_that_return_a_whole_tree_make_more_calls_with_10_000_records_than_with_1_000():
    measured = performance.load_results("operations")["operations"]
    growing_operations = {
        name for name, sizes in measured.items() if any(sizes[-1][unit] > sizes[1][unit] for unit in sizes[1])
    }
    assert growing_operations == {"get_sitemap", "get_taxonomy_tree"}, "only a bounded tree may be read as a whole"


def test_the_chart_is_generated_from_the_results():
    require_current_file(chart.CHART_FILE, chart.render_svg(performance.load_results("peers")), "make bench")


def entry(sequence: int, version: int, kind: str = "space.updated", target: str = "s") -> dict[str, Any]:
    """Return an entry of a log. Its subject is a space by default."""
    subject = {"type": kind.partition(".")[0], "id": target, "name": None}
    return {"id": f"e{sequence}", "sequence": sequence, "type": kind, "target": subject, "data": {"version": version}}


def application_entry(sequence: int, batch: str = "b", size: int = 1) -> dict[str, Any]:
    """Return the entry of an application event of a batch. It has no target."""
    data = {"batch": batch, "size": size, "version": 1}
    return {
        "id": f"e{sequence}",
        "sequence": sequence,
        "type": "invoice.deleted",
        "target": None,
        "data": data,
        "reportedBy": {"type": "user", "id": "u"},
    }


@pytest.mark.parametrize(
    ("logs", "count"),
    [
        ({"o": [entry(1, 1), entry(2, 2), application_entry(3)]}, 0),
        ({"o": [entry(1, 1)]}, 1),
        ({"o": [entry(1, 2), entry(2, 2)]}, 1),
        ({"o": [], "other": [entry(1, 2)]}, 1),
    ],
    ids=["one entry", "no entry", "two entries", "entry in another log"],
)
def test_an_acknowledged_change_without_exactly_one_entry_is_reported(logs, count):
    assert len(assertions.find_changes_without_entry([EVENT], logs)) == count


def test_a_response_without_a_record_is_ignored():
    assert assertions.find_changes_without_entry([replace(EVENT, target=None)], {"o": []}) == []


@pytest.mark.parametrize(
    ("entries", "count"),
    [
        ([entry(1, 2), entry(2, 1), entry(3, 3), entry(4, 3, "space.deleted"), application_entry(5)], 0),
        ([entry(1, 1), entry(3, 2)], 1),
        ([entry(1, 1), entry(2, 3)], 1),
        ([entry(1, 1), entry(2, 1)], 1),
    ],
    ids=["versions out of order", "missing entry", "missing version", "repeated version"],
)
def test_missing_and_repeated_entries_are_reported(entries, count):
    assert len(assertions.find_gaps(entries)) == count


@pytest.mark.parametrize(
    ("versions", "deleted", "count"),
    [
        ({"s": 2}, {"t"}, 0),
        ({"s": 1}, set(), 1),  # an outdated record
        ({"s": 3}, set(), 1),  # a version without an entry
        ({"never": 1}, set(), 1),  # a record without entries
        ({"t": 1}, set(), 1),  # a record that is not deleted
        ({}, {"s"}, 1),  # a deletion without an entry
    ],
)
def test_a_record_that_differs_from_its_log_is_reported(versions, deleted, count):
    log = [entry(1, 1), entry(2, 2), entry(3, 1, target="t"), entry(4, 1, "space.deleted", target="t")]
    log.append(application_entry(5))
    assert len(assertions.find_version_mismatches(log, versions, deleted)) == count


@pytest.mark.parametrize(
    ("listed", "count"),
    [({"s"}, 0), (set(), 1), ({"s", "u"}, 1), ({"s", "t"}, 1)],
    ids=["all", "missing from list", "no entry", "deleted"],
)
def test_a_list_that_differs_from_the_log_is_reported(listed, count):
    log = [entry(1, 1, "space.created"), entry(2, 1, "space.created", "t"), entry(3, 1, "space.deleted", "t")]
    log.append(application_entry(4))
    assert len(assertions.find_partial_records(log, listed, {"space.created"})) == count


def test_an_event_that_was_neither_delivered_nor_failed_is_reported():
    log = [entry(1, 1), entry(2, 2), entry(3, 3)]
    assert assertions.find_undelivered_events(log, {"e1"}, {"e2"}) == ["space.updated e3"]


@pytest.mark.parametrize(
    ("log", "count"),
    [
        ([entry(1, 1), application_entry(2), application_entry(3, "c", 2), application_entry(4, "c", 2)], 0),
        ([application_entry(3)], 1),
        ([application_entry(2), application_entry(2, "c")], 1),
        ([application_entry(2), application_entry(3, "c", 2)], 1),
    ],
    ids=["all", "missing entry", "repeated entry", "partial batch"],
)
def test_a_lost_application_event_and_a_partial_batch_are_reported(log, count):
    reported = replace(EVENT, target=None, event_ids=("e2",))
    assert len(assertions.find_lost_application_events([reported], {"o": log, "other": []})) == count


@pytest.mark.parametrize(
    ("batches", "count"),
    [
        ([[1], [2, 3], [4]], 0),
        ([[1, 2, 3], [1, 2, 3], [4]], 0),
        ([[1, 2], [1, 2, 3], [4]], 1),
        ([[1, 2], [3]], 1),
        ([], 4),
        ([[1, 2], [4]], 2),
        ([[1, 2, 4], [3]], 2),
        ([[1], [2], [1], [3, 4]], 1),
    ],
    ids=["all", "repeated batch", "longer batch", "missing entry", "nothing", "gap", "gap in a batch", "earlier batch"],
)
def test_what_a_log_stream_sent_wrongly_is_reported(batches, count):
    log = [entry(4, 4), entry(1, 1), entry(2, 2), application_entry(3)]
    assert len(assertions.find_unsent_entries(log, batches)) == count
