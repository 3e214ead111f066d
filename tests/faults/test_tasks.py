"""Tasks whose messages are duplicated, concurrent, early, late, obsolete or lost run once, when they are due."""

from typing import Final

import pytest

from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import KINDS, ItemKey
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.tasks import get_task
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults import tasks
from tests.faults.table_shapes import TableSummary, summarize
from tests.faults.tasks import EXAMPLES, run_until_done
from tests.faults.variants import call_numbers
from tests.harness import conformance, snapshots
from tests.harness.api import Json
from tests.harness.clock import Clock
from tests.harness.faults import overtaken
from tests.harness.logs import differences

DELAYED_TASKS: Final = sorted(name for name, example in EXAMPLES.items() if example.later)
for_each_task = pytest.mark.parametrize("name", tasks.names())

_expected_summaries: dict[str, TableSummary] = {}


@pytest.fixture
def record(name: str, begin: Begin) -> ItemKey:
    """The key of the task's record, before the task is due."""
    assert name in EXAMPLES, f"give {name} an example in tests/faults/tasks.py"
    record_key: ItemKey = begin(EXAMPLES[name].given)
    return record_key


@pytest.fixture
def expected_summary(name: str, record: ItemKey, world: World, clock: Clock, begin: Begin) -> TableSummary:
    """The summary of the table after the task ran once, when it was due."""
    if name not in _expected_summaries:
        before = summarize(snapshots.stored())
        with clock.later(**EXAMPLES[name].later):
            queues.enqueue(name, record)
            world.workers.deliver()
            _expected_summaries[name] = summarize(run_until_done(world, clock, EXAMPLES[name].tick))
        assert _expected_summaries[name] != before
        begin(EXAMPLES[name].given)
    return _expected_summaries[name]


def run_task(name: str, record: ItemKey, world: World, clock: Clock) -> None:
    """Run a task when it is due."""
    with clock.later(**EXAMPLES[name].later):
        queues.enqueue(name, record)
        world.workers.deliver()
        run_until_done(world, clock, EXAMPLES[name].tick)


@for_each_task
class TestTask:
    def test_duplicate_message_runs_it_once(
        self, name: str, record: ItemKey, expected_summary: TableSummary, world: World, clock: Clock
    ) -> None:
        with clock.later(**EXAMPLES[name].later):
            queues.enqueue(name, record)
            queues.enqueue(name, record)
            world.workers.deliver()
            assert summarize(run_until_done(world, clock, EXAMPLES[name].tick, expected_summary)) == expected_summary
        evidence.assert_proven()

    def test_emits_its_declared_events_as_documented(
        self, name: str, record: ItemKey, world: World, clock: Clock
    ) -> None:
        run_task(name, record, world, clock)
        entries = [e.json for e in evidence.entries() if e.body and e.json["context"]["operationId"] == name]
        declared_events = get_task(name).emits
        assert bool(entries) == bool(declared_events)
        for entry in entries:
            assert entry["target"]["type"] == declared_events[entry["type"]].kind
            conformance.check_event(entry)

    def test_entries_contain_the_changes_since_the_previous_entry(
        self, name: str, record: ItemKey, world: World, clock: Clock
    ) -> None:
        run_task(name, record, world, clock)
        latest_data: dict[str, Json] = {}
        for entry in (log_entry.json for log_entry in evidence.entries() if log_entry.body):
            before, now = latest_data.get(entry["target"]["id"]), entry["data"]
            # Deliveries have no entries before they fail.
            if entry["context"]["operationId"] == name and entry["target"]["type"] != WebhookDelivery.kind:
                assert before
                changes = sorted(entry["changes"], key=lambda change: str(change["field"]))
                unlogged = KINDS[entry["target"]["type"]].untracked_fields
                expected = [change for change in differences(before, now) if change["field"] not in unlogged]
                assert changes == expected  # Entries are serialized in alphabetical order.
            latest_data[entry["target"]["id"]] = now

    def test_concurrent_workers_run_it_once(
        self, name: str, record: ItemKey, expected_summary: TableSummary, world: World, clock: Clock, begin: Begin
    ) -> None:
        for at in call_numbers():
            begin(EXAMPLES[name].given)
            with clock.later(**EXAMPLES[name].later):
                queues.enqueue(name, record)
                queues.enqueue(name, record)
                with overtaken(world.workers.attempt, at=at) as overtaking:
                    world.workers.attempt()
                if not overtaking.hit:
                    break
                items_after = run_until_done(world, clock, EXAMPLES[name].tick, expected_summary)
            assert summarize(items_after) == expected_summary, f"overtaken before {overtaking.hit}, call {at}"
            evidence.assert_proven(items_after)
        assert at > 1

    def test_late_message_changes_nothing(
        self, name: str, record: ItemKey, expected_summary: TableSummary, world: World, clock: Clock
    ) -> None:
        with clock.later(**EXAMPLES[name].later):
            queues.enqueue(name, record)
            world.workers.deliver()
            items_after = run_until_done(world, clock, EXAMPLES[name].tick, expected_summary)
            queues.enqueue(name, record)
            world.workers.deliver()
            assert snapshots.stored() == items_after

    def test_schedule_recovers_a_lost_message(
        self, name: str, expected_summary: TableSummary, world: World, clock: Clock
    ) -> None:
        with clock.later(**EXAMPLES[name].later):
            EXAMPLES[name].tick(world)
            world.workers.deliver()
            assert summarize(run_until_done(world, clock, EXAMPLES[name].tick, expected_summary)) == expected_summary

    def test_message_about_a_missing_record_changes_nothing(self, name: str, record: ItemKey, world: World) -> None:
        before = snapshots.stored()
        queues.enqueue(name, (f"{record[0]}0", record[1]))
        world.workers.deliver()
        assert snapshots.stored() == before

    def test_records_of_other_tasks_are_unchanged(self, name: str, world: World, begin: Begin, clock: Clock) -> None:
        for other in (other for other in EXAMPLES if other != name):
            key = begin(EXAMPLES[other].given)
            with clock.later(**EXAMPLES[other].later):
                before = table.get(key)
                assert before
                queues.enqueue(name, key)
                world.workers.attempt()
                assert table.get(key) == before, other


@pytest.mark.parametrize("name", DELAYED_TASKS)
def test_early_message_does_not_run_a_task(name: str, world: World, clock: Clock) -> None:
    clock.freeze()
    record = EXAMPLES[name].given(world)
    before = snapshots.stored()
    queues.enqueue(name, record)
    world.workers.deliver()
    assert snapshots.stored() == before
