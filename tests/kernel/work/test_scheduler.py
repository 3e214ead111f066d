"""The scheduler queues due tasks once per lease, and reports what has waited longest."""

import pytest

from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.kernel.audit_log.entries import REDRIVE_AFTER_SECONDS
from chalicelib.kernel.audit_log.ledger import append_pending_and_return_longest_wait_ms
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.due_keys import make_claimed_due_key
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Item, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.work import due_items, queues
from chalicelib.kernel.work.scheduler import Backlog, enqueue_due_tasks, read_oldest_due_task_and_entry_times
from tests.harness.aws_calls import record_calls
from tests.harness.faults import Fault, inject_fault
from tests.harness.sample_entity import LOG_ID, create_logged_parcel, create_parcel
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("aws")

WAKE_MESSAGE = f'{{"log": "{LOG_ID}"}}'


def failing_queue():
    return inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessageBatch", times=None)


def test_only_due_tasks_are_queued_and_again_after_their_lease(clock):
    timestamp = clock.freeze()
    pk, sk = create_parcel("a", due_at=timestamp).item_key
    create_parcel("b", due_at=after(timestamp, seconds=100))
    assert [enqueue_due_tasks() for _ in range(3)] == [1, 0, 0]
    assert queued_bodies("jobs") == [f'{{"task": "parcels.send", "pk": "{pk}", "sk": "{sk}"}}']
    clock.shift(seconds=61)
    assert enqueue_due_tasks() == 1
    clock.shift(seconds=38)
    assert enqueue_due_tasks() == 0
    clock.shift(seconds=1)
    assert enqueue_due_tasks() == 1


def test_an_appended_entry_is_due_until_it_is_consumed(clock):
    create_logged_parcel("a")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    clock.shift(seconds=11)
    assert enqueue_due_tasks() == 1
    assert queued_bodies("events.fifo")[-1] == WAKE_MESSAGE
    table.write_transaction([ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(1), 1)])
    clock.shift(seconds=61)
    assert enqueue_due_tasks() == 0
    assert read_oldest_due_task_and_entry_times() == Backlog(None, None)


def test_an_unresponsive_queue_loses_nothing(clock):
    create_parcel("a", due_at=now())
    clock.shift(seconds=1)
    with failing_queue(), pytest.raises(Problem, match="unavailable"):
        enqueue_due_tasks()
    assert queued_bodies("jobs") == []
    assert enqueue_due_tasks() == 1, "the task is due again at once"


def test_a_record_that_changed_concurrently_is_left_to_the_next_sweep(monkeypatch):
    create_parcel("a", due_at=now())

    def move(time: str, item: Item) -> str:
        key = item["pk"], item["sk"]
        later = schedule_attributes(ScheduledTask("parcels.send", after(now(), hours=1)), key)["duesk"]
        write = Write("Update", key, update="SET #duesk = :next", names=["duesk"], values={"next": later})
        table.write_transaction([write])
        return make_claimed_due_key(time, item)

    monkeypatch.setattr(due_items, "make_claimed_due_key", move)
    assert enqueue_due_tasks() == 0
    assert queued_bodies("jobs") == []


def test_due_tasks_are_read_in_pages():
    for n in range(505):
        create_parcel(str(n), due_at=now(), sent=False, organization_id=LOG_ID)
    with record_calls() as calls:
        assert enqueue_due_tasks() == 505
    queries = calls.call_names.count("dynamodb:Query")
    assert queries >= SCHEDULE_SHARDS + 1
    with record_calls() as calls:
        assert enqueue_due_tasks() == 0
    assert SCHEDULE_SHARDS + 1 <= calls.call_names.count("dynamodb:Query") <= queries


def test_the_backlog_has_the_longest_overdue_task(clock):
    timestamp = clock.freeze()
    assert read_oldest_due_task_and_entry_times() == Backlog(None, None)
    for n, seconds in enumerate((-5, -60, -20, 60)):
        organization_id = f"{LOG_ID[:-1]}{n}"
        create_parcel(str(n), due_at=after(timestamp, seconds=seconds), sent=False, organization_id=organization_id)
    assert read_oldest_due_task_and_entry_times() == Backlog(after(timestamp, seconds=-60), None)


def test_the_backlog_has_the_oldest_pending_entry_after_sweeps(clock):
    timestamp = clock.freeze()
    create_logged_parcel("a")
    for later in ("b", "c", "d"):
        clock.shift(seconds=61)
        assert enqueue_due_tasks() == 1, "one message for all entries of a log"
        create_logged_parcel(later)
    due_since = after(timestamp, seconds=REDRIVE_AFTER_SECONDS)
    assert read_oldest_due_task_and_entry_times() == Backlog(due_since, timestamp)
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert read_oldest_due_task_and_entry_times() == Backlog(None, None)


def test_no_message_of_a_log_is_deduplicated():
    queues.notify_ledger(LOG_ID, "1")
    queues.notify_ledger(LOG_ID, "2")
    assert queued_bodies("events.fifo") == [WAKE_MESSAGE] * 2
