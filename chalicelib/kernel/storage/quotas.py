"""Maximum numbers of records, as record types declare them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage.key_templates import fields_of


@dataclass(frozen=True)
class Quota:
    """The maximum number of records that may exist in `partition`.

    `limit`: the number, or the name of the setting with it. `counts`: whether a record counts towards the quota.
    `advice`: what a caller can do to make room.
    """

    name: str
    partition: str
    limit: int | str
    counts: Callable[[Any], bool]
    advice: str = "Remove one first."

    @property
    def maximum(self) -> int:
        """Maximum number of records."""
        return self.limit if isinstance(self.limit, int) else int(getattr(settings(), self.limit))

    def counter_item_key(self, partition_key: str) -> tuple[str, str]:
        """Return the key of the item that counts the records in a partition, in its attribute `n`."""
        return partition_key, f"COUNT#{self.name}"

    def counter_partition_key(self, record: object) -> str:
        """Return the partition key in which a record is counted: `partition` with the record's values."""
        return self.partition.format_map({name: getattr(record, name) for name in fields_of(self.partition)})
