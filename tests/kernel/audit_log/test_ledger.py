"""The ledger appends each pending entry to the tree once, despite concurrent workers and crashes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from chalicelib.kernel.audit_log import mac_chains
from chalicelib.kernel.audit_log.ledger import (
    BATCH_SIZE,
    HEAD_SORT_KEY,
    Head,
    append_pending_and_return_longest_wait_ms,
    count_pending_in_one_read,
    head_key,
)
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from tests.harness import memory_aws, rfc6962
from tests.harness.aws_calls import record_calls
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.memory_aws import Item
from tests.harness.sample_entity import LOG_ID, create_logged_parcel

pytestmark = pytest.mark.usefixtures("aws")


def list_entries() -> list[Item]:
    entries = (item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}")
    return sorted(entries, key=lambda entry: (entry.get("sequence", 0), entry["sk"]))


def check_log(size: int) -> None:
    """Assert that the tree has this number of entries, each once, and that the head is the head of this tree."""
    entries = list_entries()
    assert [entry["sequence"] for entry in entries] == list(range(1, size + 1))
    leaves = [entry["leaf"] for entry in entries]
    head = Head.from_item_or_empty(table.get(head_key(LOG_ID)))
    assert (head.tree.size, head.tree.root_hash()) == (size, rfc6962.tree_root(leaves))
    assert count_pending_in_one_read(LOG_ID) == 0
    due_items = [item["sk"] for item in memory_aws.all_items() if item.get("task") == "ledger.wake"]
    assert due_items == [HEAD_SORT_KEY]  # The head is due until the log's consumer has read to its end.


class TestAppendPending:
    def test_it_appends_49_entries_per_transaction(self):
        assert BATCH_SIZE == 49
        for n in range(BATCH_SIZE + 2):
            create_logged_parcel(str(n))
        with record_calls() as calls:
            append_pending_and_return_longest_wait_ms(LOG_ID)
        assert calls.call_names == ["dynamodb:Query", "dynamodb:TransactWriteItems"] * 2 + ["dynamodb:Query"]
        check_log(BATCH_SIZE + 2)
        assert [entry["tree_size"] for entry in list_entries()] == [BATCH_SIZE] * BATCH_SIZE + [BATCH_SIZE + 2] * 2

    def test_entries_of_several_chains_are_appended_in_the_order_of_their_ids(self, clock, monkeypatch):
        clock.freeze("2026-11-20T09:30:00.000Z")
        shards = iter(range(mac_chains.SHARDS))
        monkeypatch.setattr(mac_chains, "random_shards", lambda: [next(shards)])
        for n, seconds in enumerate((0, 20, -10, 5)):
            clock.shift(seconds=seconds)
            create_logged_parcel(str(n))
        append_pending_and_return_longest_wait_ms(LOG_ID)
        check_log(4)
        assert [entry["sk"] for entry in list_entries()] == sorted(entry["sk"] for entry in list_entries())

    def test_a_late_entry_is_appended_after_earlier_ones(self, clock):
        clock.freeze("2026-11-20T09:30:30.000Z")
        create_logged_parcel("first")
        append_pending_and_return_longest_wait_ms(LOG_ID)
        clock.shift(seconds=-30)
        create_logged_parcel("second")
        append_pending_and_return_longest_wait_ms(LOG_ID)
        check_log(2)
        assert [entry["created_at"] for entry in list_entries()] == [
            "2026-11-20T09:30:30.000Z",
            "2026-11-20T09:30:00.000Z",
        ]

    def test_an_empty_outbox_costs_one_read(self):
        with record_calls() as calls:
            assert append_pending_and_return_longest_wait_ms(LOG_ID) == 0
        assert calls.call_names == ["dynamodb:Query"]

    def test_it_returns_the_longest_waiting_time(self, clock):
        clock.freeze()
        create_logged_parcel("a")
        clock.shift(seconds=3)
        create_logged_parcel("b")
        clock.shift(seconds=1)
        assert append_pending_and_return_longest_wait_ms(LOG_ID) == 4000

    def test_logs_are_independent(self):
        other = LOG_ID.replace("a", "b")
        create_logged_parcel("a")
        create_logged_parcel("b", log_id=other)
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert (count_pending_in_one_read(LOG_ID), count_pending_in_one_read(other)) == (0, 1)

    def test_a_long_outbox_is_left_to_a_later_call_after_some_seconds(self, monkeypatch):
        for n in range(3):
            create_logged_parcel(str(n))
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.kernel.audit_log.ledger._MAX_APPEND_MS", 0)
            append_pending_and_return_longest_wait_ms(LOG_ID)
        assert count_pending_in_one_read(LOG_ID) == 3
        append_pending_and_return_longest_wait_ms(LOG_ID)
        check_log(3)


class TestConcurrentWorkers:
    def test_concurrent_workers_append_each_entry_once(self):
        for n in range(60):
            create_logged_parcel(str(n))
        with ThreadPoolExecutor(4) as threads:
            for future in [threads.submit(append_pending_and_return_longest_wait_ms, LOG_ID) for _ in range(4)]:
                future.result()
        check_log(60)

    def test_every_concurrently_committed_entry_is_appended(self):
        def commit(worker: int) -> None:
            for n in range(12):
                create_logged_parcel(f"{worker}-{n}")
                # A worker that loses several times in a row gives its message back.
                with suppress(ConcurrentModification):
                    append_pending_and_return_longest_wait_ms(LOG_ID)

        with ThreadPoolExecutor(4) as threads:
            for future in [threads.submit(commit, worker) for worker in range(4)]:
                future.result()
        append_pending_and_return_longest_wait_ms(LOG_ID)
        check_log(48)

    def test_a_worker_that_always_loses_gives_its_message_back(self):
        create_logged_parcel("a")
        with inject_fault(Fault.CONFLICT, times=None), pytest.raises(ConcurrentModification):
            append_pending_and_return_longest_wait_ms(LOG_ID)
        append_pending_and_return_longest_wait_ms(LOG_ID)
        check_log(1)


class TestFaults:
    @pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER, Fault.RESPONSE_LOST, Fault.THROTTLED])
    def test_a_crash_or_failure_at_any_call_has_no_effect(self, fault, at):
        for n in range(BATCH_SIZE + 1):
            create_logged_parcel(str(n))
        with inject_fault(fault, first_call=at) as injected, pytest.raises((ProcessDied, Problem)):
            append_pending_and_return_longest_wait_ms(LOG_ID)
        assert injected.failed_call
        append_pending_and_return_longest_wait_ms(LOG_ID)
        check_log(BATCH_SIZE + 1)

    def test_a_transaction_repeated_by_the_client_has_one_effect(self):
        create_logged_parcel("a")
        with inject_fault(Fault.RETRIED, call_name="dynamodb:TransactWriteItems") as injected:
            append_pending_and_return_longest_wait_ms(LOG_ID)
        assert injected.failed_call
        check_log(1)


class TestHead:
    def test_the_head_is_updated_and_never_replaced(self):
        create_logged_parcel("a")
        append_pending_and_return_longest_wait_ms(LOG_ID)
        head = table.get(head_key(LOG_ID))
        assert head is not None
        memory_aws.put_item({**head, "extra": "kept"})
        create_logged_parcel("b")
        append_pending_and_return_longest_wait_ms(LOG_ID)
        updated_head = table.get(head_key(LOG_ID))
        assert updated_head is not None
        assert (updated_head["size"], updated_head["extra"]) == (2, "kept")


def test_entries_are_appended_in_the_order_of_their_chains(clock, monkeypatch):
    """The entry of a long request has the earliest ID and is appended last."""
    monkeypatch.setattr("random.sample", lambda _population, _number: [0])
    for n in range(3 * BATCH_SIZE):
        clock.freeze(f"2026-11-23T09:00:0{'9' if n < 2 * BATCH_SIZE else '1'}.{n:03d}Z")
        create_logged_parcel(f"p{n}")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert count_pending_in_one_read(LOG_ID) == 0
    statement_lines = Head.from_item_or_empty(table.get(head_key(LOG_ID))).statement.split("\n")
    assert [line for line in statement_lines if line.startswith(("lost", "gap"))] == ["lost 0"]
