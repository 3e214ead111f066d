"""The consumer offset of a log advances once, and the log's head is due until it reaches the end."""

from uuid import uuid4

import pytest

from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.kernel.audit_log.ledger import append_pending_and_return_longest_wait_ms, head_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.sample_entity import LOG_ID, create_logged_parcel

pytestmark = pytest.mark.usefixtures("aws")


def append_entries(size: int) -> None:
    """Append this number of entries to the log."""
    for _ in range(size):
        create_logged_parcel(uuid4().hex)
    append_pending_and_return_longest_wait_ms(LOG_ID)


def stored_offset() -> ConsumerOffset:
    """Return the log's stored consumer offset."""
    return ConsumerOffset.from_head_item(table.get(head_key(LOG_ID)))


class TestConsumerOffset:
    def test_the_offset_of_an_unconsumed_log_is_zero(self):
        assert ConsumerOffset.from_head_item(None) == ConsumerOffset(0, 0)
        append_entries(1)
        assert stored_offset() == ConsumerOffset(0, 0)

    def test_it_advances_by_entries_and_by_parts_of_an_entry(self):
        append_entries(3)
        for offset, next_offset in [
            (ConsumerOffset(), ConsumerOffset(0, 2)),
            (ConsumerOffset(0, 2), ConsumerOffset(2)),
            (ConsumerOffset(2), ConsumerOffset(3)),
        ]:
            table.write_transaction([offset.advance_write(LOG_ID, next_offset, 3)])
            assert stored_offset() == next_offset

    @pytest.mark.parametrize("offset", [ConsumerOffset(), ConsumerOffset(1), ConsumerOffset(2, 1), ConsumerOffset(3)])
    def test_only_the_first_of_two_advances_succeeds(self, offset):
        append_entries(4)
        table.write_transaction([ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(2), 4)])
        with pytest.raises(TransactionCancelled):
            table.write_transaction([offset.advance_write(LOG_ID, ConsumerOffset(4), 4)])
        assert stored_offset() == ConsumerOffset(2)

    def test_it_does_not_reach_an_end_that_has_moved(self):
        append_entries(2)
        move = ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(2), 2)
        append_entries(1)
        with pytest.raises(TransactionCancelled):
            table.write_transaction([move])

    def test_the_head_is_due_until_the_offset_reaches_its_end(self):
        append_entries(2)
        table.write_transaction([ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(1), 2)])
        assert (table.get(head_key(LOG_ID)) or {}).get("task") == "ledger.wake"
        table.write_transaction([ConsumerOffset(1).advance_write(LOG_ID, ConsumerOffset(2), 2)])
        assert not {"task", "duepk", "duesk"} & set(table.get(head_key(LOG_ID)) or {})
        append_entries(1)
        assert (table.get(head_key(LOG_ID)) or {}).get("task") == "ledger.wake"
