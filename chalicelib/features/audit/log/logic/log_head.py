"""The head of the log of the organization in the path, read together with the records that authorize the request."""

from chalicelib.kernel.audit_log.ledger import head_key, log_size_in_head_item, sequence_index_or_batch_key
from chalicelib.kernel.core.clock import timestamp
from chalicelib.kernel.core.ids import timestamp_ms_of_id
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey


class LogHead(Prefetched):
    """The head of the organization's log: its one item, or none before the first entry."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the head."""
        return [head_key(values.parameters["organization_id"])]

    @property
    def log_size(self) -> int:
        """Return the number of entries that have a sequence."""
        return log_size_in_head_item(self.first_item_or_none)

    @property
    def checkpoint_or_none(self) -> str | None:
        """Return the signed checkpoint, which is not verified, or None before the first one."""
        item = self.first_item_or_none
        return item.get("note") if item else None


def load_time_of_last_entry_or_none(log_id: str, log_size: int) -> str | None:
    """Return when the last of the first `log_size` entries was committed, or None if the log has no batch of it.

    A checkpoint contains no time. The id of the entry does, and the batch with which it was appended has the id.
    """
    pk, sort_key = sequence_index_or_batch_key(log_id, log_size)
    batches = table.query(pk, until=sort_key, newest_first=True, limit=1, attributes=("ids",)).items
    return next((timestamp(timestamp_ms_of_id(batch["ids"][-1])) for batch in batches), None)
