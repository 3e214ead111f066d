"""The head of the log of the organization in the path, read together with the records that authorize the request."""

from chalicelib.kernel.audit_log.ledger import head_key, log_size_in_head_item
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
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
