"""Tasks whose messages are duplicated, concurrent, early, late, obsolete or lost run once, when they are due."""

from typing import Final

import pytest

from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.audit_log.application_events import is_application_event
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import KINDS, ItemKey
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.tasks import get_task
from tests.catalogue import log_proof
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults import task_examples
from tests.faults.fault_variants import call_numbers
from tests.faults.table_summaries import TableSummary, summarize
from tests.faults.task_examples import EXAMPLES, run_until_done
from tests.harness import conformance, snapshots
from tests.harness.api import Json
from tests.harness.audit_logs import expected_changes
from tests.harness.clock import Clock
from tests.harness.faults import run_before_call
from tests.harness.reconciliations import find_disagreements

DELAYED_TASKS: Final = sorted(name for name, example in EXAMPLES.items() if example.due_after)
TASKS_WITH_MANY_CALLS: Final = ("erasures.run", "organizations.purge", "reconciliations.run")
for_each_task = pytest.mark.parametrize("name", task_examples.list_task_names())

_expected_summaries: dict[str, TableSummary] = {}


@pytest.fixture
def record(name: str, restore_tenant: RestoreTenant) -> ItemKey:
    """The key of the task's record, before the task is due."""
    assert name in EXAMPLES, f"give {name} an example in tests/faults/task_examples.py"
    record_key: ItemKey = restore_tenant(EXAMPLES[name].prepare)
    return record_key


@pytest.fixture
def expected_summary(
    name: str, record: ItemKey, tenant: TenantFixture, clock: Clock, restore_tenant: RestoreTenant
) -> TableSummary:
    """The summary of the table after the task ran once, when it was due."""
    if name not in _expected_summaries:
        before = summarize(snapshots.items_by_key())
        with clock.shift_temporarily(**EXAMPLES[name].due_after):
            queues.enqueue(name, record)
            tenant.workers.deliver()
            _expected_summaries[name] = summarize(run_until_done(tenant, clock, EXAMPLES[name].run_schedule))
        assert _expected_summaries[name] != before
        restore_tenant(EXAMPLES[name].prepare)
    return _expected_summaries[name]


def run_task(name: str, record: ItemKey, tenant: TenantFixture, clock: Clock) -> None:
    """Run a task when it is due."""
    with clock.shift_temporarily(**EXAMPLES[name].due_after):
        queues.enqueue(name, record)
        tenant.workers.deliver()
        run_until_done(tenant, clock, EXAMPLES[name].run_schedule)


@for_each_task
class TestTask:
    def test_duplicate_message_runs_it_once(self, name, record, expected_summary, tenant, clock):
        with clock.shift_temporarily(**EXAMPLES[name].due_after):
            queues.enqueue(name, record)
            queues.enqueue(name, record)
            tenant.workers.deliver()
            items = run_until_done(tenant, clock, EXAMPLES[name].run_schedule, expected_summary)
            assert summarize(items) == expected_summary
        log_proof.assert_logs_are_proven()

    def test_the_log_explains_what_it_stores(self, name, record, tenant, clock):
        before = find_disagreements(tenant.id)
        run_task(name, record, tenant, clock)
        assert [each for each in find_disagreements(tenant.id) if each not in before] == []

    def test_emits_its_declared_events_as_documented(self, name, record, tenant, clock):
        run_task(name, record, tenant, clock)
        entries = [e.json for e in log_proof.load_entries() if e.body and e.json["context"]["operationId"] == name]
        declared_events = get_task(name).emits
        assert bool(entries) == bool(declared_events)
        for entry in entries:
            assert entry["target"]["type"] == declared_events[entry["type"]].kind
            conformance.check_event(entry)

    def test_entries_contain_the_changes_since_the_previous_entry(self, name, record, tenant, clock):
        run_task(name, record, tenant, clock)
        latest_data: dict[str, Json] = {}
        entries = [log_entry.json for log_entry in log_proof.load_entries() if log_entry.body]
        for entry in (each for each in entries if not is_application_event(each)):
            before, now = latest_data.get(entry["target"]["id"]), entry["data"]
            # Deliveries have no entries before they fail.
            if entry["context"]["operationId"] == name and entry["target"]["type"] != WebhookDelivery.kind:
                assert before
                changes = sorted(entry["changes"], key=lambda change: str(change["field"]))
                unlogged = KINDS[entry["target"]["type"]].untracked_fields
                expected = [change for change in expected_changes(before, now) if change["field"] not in unlogged]
                assert changes == expected  # Entries are serialized in alphabetical order.
            latest_data[entry["target"]["id"]] = now

    def test_late_message_changes_nothing(self, name, record, expected_summary, tenant, clock):
        with clock.shift_temporarily(**EXAMPLES[name].due_after):
            queues.enqueue(name, record)
            tenant.workers.deliver()
            items_after = run_until_done(tenant, clock, EXAMPLES[name].run_schedule, expected_summary)
            queues.enqueue(name, record)
            tenant.workers.deliver()
            assert snapshots.items_by_key() == items_after

    def test_schedule_recovers_a_lost_message(self, name, expected_summary, tenant, clock):
        with clock.shift_temporarily(**EXAMPLES[name].due_after):
            EXAMPLES[name].run_schedule(tenant)
            tenant.workers.deliver()
            items = run_until_done(tenant, clock, EXAMPLES[name].run_schedule, expected_summary)
            assert summarize(items) == expected_summary

    def test_message_about_a_missing_record_changes_nothing(self, name, record, tenant):
        before = snapshots.items_by_key()
        queues.enqueue(name, (f"{record[0]}0", record[1]))
        tenant.workers.deliver()
        assert snapshots.items_by_key() == before

    def test_messages_of_other_tasks_do_not_change_its_record(self, name, record, tenant, clock):
        before = table.get(record)
        assert before
        with clock.shift_temporarily(**EXAMPLES[name].due_after):
            for other in EXAMPLES.keys() - {name}:
                queues.enqueue(other, record)
                tenant.workers.try_deliver()
                assert table.get(record) == before, other


@pytest.mark.parametrize("name", DELAYED_TASKS)
def test_early_message_does_not_run_a_task(name, tenant, clock):
    clock.freeze()
    record = EXAMPLES[name].prepare(tenant)
    before = snapshots.items_by_key()
    queues.enqueue(name, record)
    tenant.workers.deliver()
    assert snapshots.items_by_key() == before


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] if name in TASKS_WITH_MANY_CALLS else [])
        for name in task_examples.list_task_names()
    ],
)
def test_concurrent_workers_run_it_once(name, record, expected_summary, tenant, clock, restore_tenant):
    for at in call_numbers():
        restore_tenant(EXAMPLES[name].prepare)
        with clock.shift_temporarily(**EXAMPLES[name].due_after):
            queues.enqueue(name, record)
            queues.enqueue(name, record)
            with run_before_call(tenant.workers.try_deliver, call_number=at) as overtaking:
                tenant.workers.try_deliver()
            if not overtaking.interrupted_call:
                break
            items_after = run_until_done(tenant, clock, EXAMPLES[name].run_schedule, expected_summary)
        assert summarize(items_after) == expected_summary, f"overtaken before {overtaking.interrupted_call}, call {at}"
        log_proof.assert_logs_are_proven(items_after)
    assert at > 1
