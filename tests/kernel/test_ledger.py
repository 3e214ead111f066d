from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from chalicelib.kernel.audit_log import mac_chains
from chalicelib.kernel.audit_log.ledger import BATCH_SIZE, HEAD, Head, append_pending, count_pending, head_key
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from tests.harness import cloud, rfc6962
from tests.harness.calls import recorded
from tests.harness.clock import Clock
from tests.harness.cloud import Item
from tests.harness.faults import Died, Fault, failing
from tests.harness.parcels import LOG, mutate

pytestmark = pytest.mark.usefixtures("aws")


def entries() -> list[Item]:
    return sorted((i for i in cloud.stored() if i["pk"] == f"A#{LOG}"), key=lambda i: (i.get("sequence", 0), i["sk"]))


def check_log(size: int) -> None:
    """Assert that so many entries are in the tree, each once, and that the head is that tree's."""
    found = entries()
    assert [entry["sequence"] for entry in found] == list(range(1, size + 1))
    leaves = [entry["leaf"] for entry in found]
    head = Head.from_item(table.get(head_key(LOG)))
    assert (head.tree.size, head.tree.root()) == (size, rfc6962.root(leaves))
    assert count_pending(LOG) == 0
    due = [item["sk"] for item in cloud.stored() if item.get("task") == "ledger.wake"]
    assert due == [HEAD]  # Until whoever follows the log has done so.


class TestAppend:
    def test_it_takes_49_entries_a_transaction(self) -> None:
        assert BATCH_SIZE == 49
        for n in range(BATCH_SIZE + 2):
            mutate(str(n))
        with recorded() as calls:
            append_pending(LOG)
        assert calls.names == ["dynamodb:Query", "dynamodb:TransactWriteItems"] * 2 + ["dynamodb:Query"]
        check_log(BATCH_SIZE + 2)
        assert [entry["tree_size"] for entry in entries()] == [BATCH_SIZE] * BATCH_SIZE + [BATCH_SIZE + 2] * 2

    def test_entries_of_several_chains_come_in_the_order_of_their_ids(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock.freeze("2026-11-20T09:30:00.000Z")
        one_after_the_other = iter(range(mac_chains.SHARDS))
        monkeypatch.setattr(mac_chains, "random_shards", lambda: [next(one_after_the_other)])
        for n, seconds in enumerate((0, 20, -10, 5)):
            clock.shift(seconds=seconds)
            mutate(str(n))
        append_pending(LOG)
        check_log(4)
        assert [entry["sk"] for entry in entries()] == sorted(entry["sk"] for entry in entries())

    def test_an_entry_that_comes_late_comes_behind_those_that_have_their_place(self, clock: Clock) -> None:
        clock.freeze("2026-11-20T09:30:30.000Z")
        mutate("first")
        append_pending(LOG)
        clock.shift(seconds=-30)
        mutate("second")
        append_pending(LOG)
        check_log(2)
        assert [entry["created_at"] for entry in entries()] == ["2026-11-20T09:30:30.000Z", "2026-11-20T09:30:00.000Z"]

    def test_with_nothing_to_append_it_reads_once(self) -> None:
        with recorded() as calls:
            assert append_pending(LOG) == 0
        assert calls.names == ["dynamodb:Query"]

    def test_it_tells_how_long_the_oldest_had_waited(self, clock: Clock) -> None:
        clock.freeze()
        mutate("a")
        clock.shift(seconds=3)
        mutate("b")
        clock.shift(seconds=1)
        assert append_pending(LOG) == 4000

    def test_logs_do_not_meet(self) -> None:
        other = LOG.replace("a", "b")
        mutate("a")
        mutate("b", log=other)
        append_pending(LOG)
        assert (count_pending(LOG), count_pending(other)) == (0, 1)

    def test_a_long_outbox_is_left_after_some_seconds_and_nothing_of_it_is_lost(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for n in range(3):
            mutate(str(n))
        with monkeypatch.context() as hasty:
            hasty.setattr("chalicelib.kernel.audit_log.ledger._MAX_APPEND_MS", 0)
            append_pending(LOG)
        assert count_pending(LOG) == 3
        append_pending(LOG)
        check_log(3)


class TestSeveralWorkers:
    def test_at_once_they_append_each_entry_once(self) -> None:
        for n in range(60):
            mutate(str(n))
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(append_pending, LOG) for _ in range(4)]:
                done.result()
        check_log(60)

    def test_while_others_commit_every_entry_gets_its_place(self) -> None:
        def commit(worker: int) -> None:
            for n in range(12):
                mutate(f"{worker}-{n}")
                with suppress(
                    ConcurrentModification
                ):  # One of four that keeps losing gives its message back, as it should.
                    append_pending(LOG)

        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(commit, worker) for worker in range(4)]:
                done.result()
        append_pending(LOG)
        check_log(48)

    def test_one_that_always_loses_gives_the_message_back(self) -> None:
        mutate("a")
        with failing(Fault.CONFLICT, times=None), pytest.raises(ConcurrentModification):
            append_pending(LOG)
        append_pending(LOG)
        check_log(1)


class TestFaults:
    @pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER, Fault.UNANSWERED, Fault.THROTTLED])
    def test_a_worker_that_ends_anywhere_changes_nothing(self, fault: Fault, at: int) -> None:
        for n in range(BATCH_SIZE + 1):
            mutate(str(n))
        with failing(fault, at=at) as injected, pytest.raises((Died, Problem)):
            append_pending(LOG)
        assert injected.hit
        append_pending(LOG)
        check_log(BATCH_SIZE + 1)

    def test_a_transaction_done_twice_by_the_client_has_one_effect(self) -> None:
        mutate("a")
        with failing(Fault.RETRIED, name="dynamodb:TransactWriteItems") as injected:
            append_pending(LOG)
        assert injected.hit
        check_log(1)


class TestTheHead:
    def test_the_head_is_only_ever_updated(self) -> None:
        mutate("a")
        append_pending(LOG)
        head = table.get(head_key(LOG))
        assert head is not None
        cloud.put({**head, "extra": "kept"})
        mutate("b")
        append_pending(LOG)
        after = table.get(head_key(LOG))
        assert after is not None
        assert (after["size"], after["extra"]) == (2, "kept")


def test_entries_come_into_the_tree_in_the_order_of_their_chains(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry of a request that took long has the earliest id and comes last."""
    monkeypatch.setattr("random.sample", lambda _population, _number: [0])
    for n in range(3 * BATCH_SIZE):
        clock.freeze(f"2026-11-23T09:00:0{'9' if n < 2 * BATCH_SIZE else '1'}.{n:03d}Z")
        mutate(f"p{n}")
    append_pending(LOG)
    assert count_pending(LOG) == 0
    lines = Head.from_item(table.get(head_key(LOG))).statement.split("\n")
    assert [line for line in lines if line.startswith(("lost", "gap"))] == ["lost 0"]
