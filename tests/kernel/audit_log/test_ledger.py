"""The ledger appends each pending entry to the tree once, despite crashes. Interleavings have a model of their own."""

import pytest

from chalicelib.kernel.audit_log import ledger, mac_chains
from chalicelib.kernel.audit_log.ledger import BATCH_SIZE, HEAD_SORT_KEY, Head, count_pending_in_one_read, head_key
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from tests.harness import memory_aws, rfc6962
from tests.harness.aws_calls import record_calls
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.sample_entity import LOG_ID, create_logged_parcel
from tests.harness.stored_records import load_item

pytestmark = pytest.mark.usefixtures("aws")


def commit_entries(*labels: object) -> None:
    for label in labels:
        create_logged_parcel(str(label))


def append_pending() -> int:
    """Append the pending entries, and return the longest time that one of them waited, in milliseconds."""
    return ledger.append_pending_and_return_longest_wait_ms(LOG_ID)


def list_entries():
    entries = (item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}")
    return sorted(entries, key=lambda entry: (entry.get("sequence", 0), entry["sk"]))


def check_log(size: int) -> None:
    """Append the pending entries. Assert that the tree has this number of them, each once, and so does the head."""
    append_pending()
    entries = list_entries()
    assert [entry["sequence"] for entry in entries] == list(range(1, size + 1))
    head = Head.from_item_or_empty(table.get(head_key(LOG_ID)))
    assert (head.tree.size, head.tree.root_hash()) == (size, rfc6962.tree_root([entry["leaf"] for entry in entries]))
    assert count_pending_in_one_read(LOG_ID) == 0
    due_items = [item["sk"] for item in memory_aws.all_items() if item.get("task") == "ledger.wake"]
    assert due_items == [HEAD_SORT_KEY]  # The head is due until the log's consumer has read to its end.


def test_49_entries_are_appended_per_transaction():
    assert BATCH_SIZE == 49
    commit_entries(*range(BATCH_SIZE + 2))
    with record_calls() as calls:
        append_pending()
    assert calls.call_names == ["dynamodb:Query", "dynamodb:TransactWriteItems"] * 2 + ["dynamodb:Query"]
    check_log(BATCH_SIZE + 2)
    assert [entry["tree_size"] for entry in list_entries()] == [BATCH_SIZE] * BATCH_SIZE + [BATCH_SIZE + 2] * 2


def test_entries_of_several_chains_are_appended_in_the_order_of_their_ids(clock, monkeypatch):
    clock.freeze("2026-11-20T09:30:00.000Z")
    shards = iter(range(mac_chains.SHARDS))
    monkeypatch.setattr(mac_chains, "random_shards", lambda: [next(shards)])
    for n, seconds in enumerate((0, 20, -10, 5)):
        clock.shift(seconds=seconds)
        commit_entries(n)
    check_log(4)
    assert [entry["sk"] for entry in list_entries()] == sorted(entry["sk"] for entry in list_entries())


def test_a_late_entry_is_appended_after_earlier_ones(clock):
    timestamps = ["2026-11-20T09:30:30.000Z", "2026-11-20T09:30:00.000Z"]
    for timestamp in timestamps:
        clock.freeze(timestamp)
        commit_entries(timestamp)
        append_pending()
    check_log(2)
    assert [entry["created_at"] for entry in list_entries()] == timestamps


def test_the_longest_waiting_time_is_returned_and_an_empty_outbox_costs_one_read(clock):
    clock.freeze()
    with record_calls() as calls:
        assert append_pending() == 0
    assert calls.call_names == ["dynamodb:Query"]
    commit_entries("a")
    clock.shift(seconds=3)
    commit_entries("b")
    clock.shift(seconds=1)
    assert append_pending() == 4000


def test_logs_are_independent():
    other = LOG_ID.replace("a", "b")
    commit_entries("a")
    create_logged_parcel("b", log_id=other)
    append_pending()
    assert (count_pending_in_one_read(LOG_ID), count_pending_in_one_read(other)) == (0, 1)


def test_a_long_outbox_is_left_to_a_later_call_after_some_seconds(monkeypatch):
    commit_entries(*range(3))
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "_MAX_APPEND_MS", 0)
        append_pending()
    assert count_pending_in_one_read(LOG_ID) == 3
    check_log(3)


def test_a_worker_that_always_loses_gives_its_message_back():
    commit_entries("a")
    with inject_fault(Fault.CONFLICT, times=None), pytest.raises(ConcurrentModification):
        append_pending()
    check_log(1)


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER, Fault.RESPONSE_LOST, Fault.THROTTLED])
def test_a_crash_or_failure_at_any_call_has_no_effect(fault, at, monkeypatch):
    monkeypatch.setattr(ledger, "BATCH_SIZE", 2)
    commit_entries(*range(3))
    with inject_fault(fault, first_call=at) as injected, pytest.raises((ProcessDied, Problem)):
        append_pending()
    assert injected.failed_call
    check_log(3)


def test_a_transaction_repeated_by_the_client_has_one_effect():
    commit_entries("a")
    with inject_fault(Fault.RETRIED, call_name="dynamodb:TransactWriteItems") as injected:
        append_pending()
    assert injected.failed_call
    check_log(1)


def test_the_head_is_updated_and_never_replaced():
    commit_entries("a")
    append_pending()
    memory_aws.put_item({**load_item(head_key(LOG_ID)), "extra": "kept"})
    commit_entries("b")
    append_pending()
    head = load_item(head_key(LOG_ID))
    assert (head["size"], head["extra"]) == (2, "kept")


def test_entries_are_appended_in_the_order_of_their_chains(clock, monkeypatch):
    """The entry of a long request has the earliest ID and is appended last."""
    monkeypatch.setattr("random.sample", lambda _population, _number: [0])
    monkeypatch.setattr(ledger, "BATCH_SIZE", 2)
    for n in range(6):
        clock.freeze(f"2026-11-23T09:00:0{'9' if n < 4 else '1'}.{n:03d}Z")
        commit_entries(n)
    append_pending()
    assert count_pending_in_one_read(LOG_ID) == 0
    statement_lines = Head.from_item_or_empty(table.get(head_key(LOG_ID))).statement.split("\n")
    assert [line for line in statement_lines if line.startswith(("lost", "gap"))] == ["lost 0"]
