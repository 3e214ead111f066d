from uuid import uuid4

import pytest

from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.kernel.audit_log.ledger import append_pending, head_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.parcels import LOG, mutate

pytestmark = pytest.mark.usefixtures("aws")


def grown(size: int) -> None:
    """Let the log have so many entries."""
    for _ in range(size):
        mutate(uuid4().hex)
    append_pending(LOG)


def cursor() -> ConsumerOffset:
    """Return how far the log is followed."""
    return ConsumerOffset.from_head(table.get(head_key(LOG)))


class TestCursor:
    def test_that_of_a_log_that_nobody_followed_is_at_its_beginning(self) -> None:
        assert ConsumerOffset.from_head(None) == ConsumerOffset(0, 0)
        grown(1)
        assert cursor() == ConsumerOffset(0, 0)

    def test_it_moves_by_entries_and_by_parts_of_one(self) -> None:
        grown(3)
        for here, there in [
            (ConsumerOffset(), ConsumerOffset(0, 2)),
            (ConsumerOffset(0, 2), ConsumerOffset(2)),
            (ConsumerOffset(2), ConsumerOffset(3)),
        ]:
            table.write_transaction([here.advance(LOG, there, 3)])
            assert cursor() == there

    @pytest.mark.parametrize("here", [ConsumerOffset(), ConsumerOffset(1), ConsumerOffset(2, 1), ConsumerOffset(3)])
    def test_it_is_moved_by_whoever_comes_first(self, here: ConsumerOffset) -> None:
        grown(4)
        table.write_transaction([ConsumerOffset().advance(LOG, ConsumerOffset(2), 4)])
        with pytest.raises(TransactionCancelled):
            table.write_transaction([here.advance(LOG, ConsumerOffset(4), 4)])
        assert cursor() == ConsumerOffset(2)

    def test_it_is_not_taken_to_an_end_that_is_none_any_more(self) -> None:
        grown(2)
        move = ConsumerOffset().advance(LOG, ConsumerOffset(2), 2)
        grown(1)
        with pytest.raises(TransactionCancelled):
            table.write_transaction([move])

    def test_the_head_is_due_until_the_cursor_is_at_its_end(self) -> None:
        grown(2)
        table.write_transaction([ConsumerOffset().advance(LOG, ConsumerOffset(1), 2)])
        assert (table.get(head_key(LOG)) or {}).get("task") == "ledger.wake"
        table.write_transaction([ConsumerOffset(1).advance(LOG, ConsumerOffset(2), 2)])
        assert not {"task", "duepk", "duesk"} & set(table.get(head_key(LOG)) or {})
        grown(1)
        assert (table.get(head_key(LOG)) or {}).get("task") == "ledger.wake"
