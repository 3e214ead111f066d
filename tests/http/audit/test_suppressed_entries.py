"""Test that verification counts log entries that an attacker with access to the table removes before sequencing."""

from itertools import count
from typing import Any

import pytest

from chalicelib.kernel.audit_log.mac_chains import chain_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from chalicelib.kernel.storage.query_results import QueryResult
from tests.harness import memory_aws
from tests.harness.audit_logs import alter_item
from tests.harness.organizations import create_organization
from tests.harness.stored_logs import StoredLog

SHARD = 3
INTACT = (None, None, 0)
ONE_SUPPRESSED = (None, None, 1)


class OutboxLog(StoredLog):
    """A log whose mutations all extend one chain."""

    _names = count()

    @property
    def chain(self) -> memory_aws.Item:
        return memory_aws.get_item(*chain_key(self.id, SHARD)) or {}

    @property
    def pending(self) -> list[memory_aws.Item]:
        pointers = [item for item in memory_aws.all_items() if item["pk"] == f"Q#{self.id}" and "leaf" in item]
        return sorted(pointers, key=lambda pointer: str(pointer["sk"]))

    @property
    def findings(self) -> tuple[object, object, object]:
        """The failure, the first invalid sequence, and the number of suppressed entries."""
        report = self.verify()
        assert report["valid"] == (report["failure"] is None and report["suppressed"] == 0)
        return report["failure"], report["firstInvalidSequence"], report["suppressed"]

    def add(self) -> memory_aws.Item:
        """Add an entry and return the pointer to it."""
        ids_before = [pointer["sk"] for pointer in self.pending]
        self.rename(f"Name {next(self._names)}")
        (pointer,) = (pointer for pointer in self.pending if pointer["sk"] not in ids_before)
        return pointer

    def suppress(self, pointer: memory_aws.Item) -> None:
        memory_aws.delete_item(pointer)
        memory_aws.delete_item({"pk": f"A#{self.id}", "sk": pointer["sk"]})


@pytest.fixture
def pending_log(api, ada, workers, monkeypatch):
    monkeypatch.setattr("random.sample", lambda _population, _number: [SHARD])
    return OutboxLog(api, workers, create_organization(api, ada))


@pytest.fixture
def log(pending_log):
    """A log whose entries are all in the tree."""
    pending_log.workers.deliver()
    return pending_log


class TestSuppressedEntry:
    def test_is_counted_at_once_and_ever_after(self, pending_log, workers):
        pending_log.suppress(pending_log.add())  # No entry has been appended yet.
        assert pending_log.findings == ONE_SUPPRESSED
        workers.deliver()
        pending_log.suppress(pending_log.add())
        for _ in range(2):
            assert pending_log.findings == (None, None, 2)
            pending_log.add()
            assert pending_log.findings == (None, None, 2)
            workers.deliver()
        assert pending_log.findings == (None, None, 2)

    @pytest.mark.parametrize("indexes", [(0,), (2,), (4,), (0, 1), (1, 3), (0, 1, 2, 3, 4)])
    def test_is_counted_at_any_position(self, indexes, log, workers):
        pointers = [log.add() for _ in range(5)]
        for index in indexes:
            log.suppress(pointers[index])
        assert log.findings == (None, None, len(indexes))
        workers.deliver()
        assert log.findings == (None, None, len(indexes))

    def test_is_not_counted_once_it_reappears(self, log, workers):
        pointer = log.add()
        log.add()
        memory_aws.delete_item(pointer)
        workers.deliver()
        assert log.findings == ONE_SUPPRESSED
        memory_aws.put_item(pointer)
        assert log.findings == INTACT
        workers.deliver()
        assert log.findings == INTACT

    def test_is_counted_once_by_a_verification_in_windows(self, log, workers, monkeypatch):
        log.suppress(log.add())
        log.add()
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.audit.log.logic.log_verification.WINDOW_ENTRIES", 1)
        first, last = log.verify_all_windows()
        assert [first["suppressed"], last["suppressed"], last["valid"]] == [1, 1, False]

    def test_is_counted_if_its_pointer_remains(self, log, workers):
        memory_aws.delete_item({"pk": f"A#{log.id}", "sk": log.add()["sk"]})
        workers.deliver()
        assert log.findings == ONE_SUPPRESSED

    def test_is_counted_if_its_pointer_is_restored_without_a_due_time(self, log, workers):
        pointer = log.add()
        log.suppress(pointer)
        restored_pointer = {name: value for name, value in pointer.items() if name not in ("duepk", "duesk")}
        memory_aws.put_item(restored_pointer)
        assert log.findings == ONE_SUPPRESSED
        log.add()
        workers.deliver()
        memory_aws.put_item(restored_pointer)
        assert log.findings == ONE_SUPPRESSED

    def test_is_counted_if_chains_fill_a_page(self, log, workers):
        log.suppress(log.add())
        log.add()
        size = log.head["size"]
        for shard in range(10, 15):
            pk, sk = chain_key(log.id, shard)
            memory_aws.put_item({"pk": pk, "sk": sk, "more": "x" * 380_000})
        assert log.findings == ONE_SUPPRESSED
        workers.deliver()
        assert log.head["size"] == size + 1
        assert log.findings == ONE_SUPPRESSED


class TestPartlyVisibleTransaction:
    """A Query is not atomic: it may return one item of a transaction in its new state and another in its old."""

    @pytest.fixture
    def hidden_ids(self, monkeypatch):
        """A list for ids of entries whose pointers the next Query of an outbox omits."""
        ids, query = list[str](), table.query

        def query_without_hidden(partition: str | Partition, **options: Any) -> QueryResult:
            answer = query(partition, **options)
            if not (isinstance(partition, str) and partition.startswith("Q#") and ids):
                return answer
            visible = [item for item in answer.items if item["sk"] not in ids]
            ids.clear()
            return QueryResult(visible, answer.last_evaluated_key)

        monkeypatch.setattr(table, "query", query_without_hidden)
        return ids

    def test_is_queried_again(self, log, hidden_ids):
        hidden_ids.append(log.add()["sk"])
        assert log.findings == INTACT

    def test_does_not_affect_the_first_statement_of_a_log(self, log, hidden_ids, workers):
        memory_aws.put_item({name: value for name, value in log.head.items() if name != "chains"})
        log.add()
        hidden_ids.append(log.add()["sk"])
        workers.deliver()
        assert "lost 0\n" in log.head["chains"]
        assert "gap" not in log.head["chains"]


class TestRestoredOldCopies:
    def test_of_a_chain_are_detected_once_its_entries_are_in_the_tree(self, log, workers):
        old_chain = log.chain
        log.add()
        workers.deliver()
        memory_aws.put_item(old_chain)
        assert log.findings == ONE_SUPPRESSED
        log.add()
        # An entry in the tree has the same number, so the append detects the old copy.
        assert log.findings[2] == 0
        workers.deliver()
        assert log.findings == ONE_SUPPRESSED

    def test_of_a_chain_do_not_hide_a_removed_entry_before_another(self, log, workers):
        old_chain, removed_pointer = log.chain, log.add()
        log.add()
        log.suppress(removed_pointer)
        memory_aws.put_item(old_chain)
        workers.deliver()
        assert log.findings[2]

    def test_of_a_chain_do_not_let_another_entry_reuse_the_number(self, log, workers):
        old_chain, removed_pointer = log.chain, log.add()
        middle_chain, newest_pointer = log.chain, log.add()
        newest_entry, last_chain = memory_aws.get_item(f"A#{log.id}", newest_pointer["sk"]) or {}, log.chain
        log.suppress(removed_pointer)
        log.suppress(newest_pointer)
        memory_aws.put_item(old_chain)
        log.add()  # It reuses the number of the removed entry.
        for item in (newest_pointer, newest_entry, last_chain):
            memory_aws.put_item(item)
        assert middle_chain["mac"] != old_chain["mac"]
        workers.deliver()
        assert log.findings == ONE_SUPPRESSED

    def test_of_every_item_about_the_newest_entry_are_not_detected(self, log, workers):
        """Show the limit of chains: no item written after the entry remains."""
        old_chain = log.chain
        log.suppress(log.add())
        memory_aws.put_item(old_chain)
        log.add()
        workers.deliver()
        assert log.findings == INTACT


class TestStatement:
    @pytest.mark.parametrize("content", ["", "note", "atrium", 7, None])
    def test_an_altered_statement_is_detected_and_does_not_block_the_log(self, content, log, workers):
        size = log.head["size"]
        log.alter_head(chains=log.head["note"] if content == "note" else content)
        assert log.findings[0] in ("bad_signature", "modified")
        log.add()
        workers.deliver()
        assert (log.pending, log.head["size"]) == ([], size + 1)
        assert log.findings[:2] == ("modified", 1)  # The entry MAC covers the existence of a statement.

    def test_an_older_statement_is_detected(self, log, workers):
        old_statement = log.head["chains"]
        log.suppress(log.add())
        log.add()
        workers.deliver()
        log.alter_head(chains=old_statement)
        assert log.findings[0] == "bad_signature"

    def test_starts_once_the_release_without_chains_is_replaced(self, pending_log, workers, configure, clock):
        log = pending_log
        clock.freeze("2026-11-23T09:00:00.000Z")
        configure(unauthenticated_entries_until="2026-11-23T09:15:00Z")
        workers.deliver()
        log.add()
        workers.deliver()
        size = log.head["size"]
        assert "chains" not in log.head
        assert log.findings == INTACT
        log.add()
        clock.shift(minutes=15)
        workers.deliver()
        assert f"since {size}\n" in log.head["chains"]
        assert log.findings == INTACT
        log.suppress(log.add())
        assert log.findings == ONE_SUPPRESSED

    @pytest.mark.parametrize(
        "attributes",
        [
            *({"number": number} for number in (0, -1, 10**6, 10**30, "1", None)),
            *({"mac": mac} for mac in (None, b"", b"mac", "mac", 7, [b"mac"])),
        ],
    )
    def test_continues_with_any_content_of_a_chain(self, attributes, log, workers):
        size = log.head["size"]
        alter_item(log.chain, **attributes)
        assert log.findings[2]
        log.add()
        workers.deliver()
        assert log.findings[2]
        log.add()
        workers.deliver()
        assert log.head["size"] == size + 2


def test_a_flood_of_pointers_neither_hides_nor_adds_a_finding(log, workers):
    pointers = [log.add() for _ in range(3)]
    for n in range(4):
        memory_aws.put_item({"pk": f"Q#{log.id}", "sk": f"00{n}", "leaf": bytes(32), "more": "x" * 380_000})
    assert log.findings == INTACT
    log.suppress(pointers[0])
    workers.deliver()
    assert log.findings == ONE_SUPPRESSED
