"""The leaves of the log of anchors in their order, with what they contain, for everybody who verifies the whole log.

An item contains up to 256 consecutive leaves, each in an attribute of its own. The transaction that appends leaves to
the log adds them. Whoever reads the list computes the root of the log from it, so an altered item proves nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from chalicelib.features.audit.witnesses.entities import WitnessedLog
from chalicelib.kernel.audit_log.tile_storage import attribute_of_index, indexed_value_writes
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG
from chalicelib.kernel.storage.writes import Write

_LEAF_DATA: Final = re.compile(r"(?P<log>[0-9a-f]{64})\n(?P<size>[1-9][0-9]{0,11})\n(?P<root>[A-Za-z0-9+/]{43}=)\n")


@dataclass(frozen=True)
class ListedAnchor:
    """A leaf of the log of anchors: its index from 0, and the three lines of its data."""

    index: int
    log: str
    size: int
    root: str

    @classmethod
    def from_data_or_none(cls, index: int, data: object) -> Self | None:
        """Return the leaf with an index, or None if its data are missing or altered."""
        match = _LEAF_DATA.fullmatch(data) if isinstance(data, str) else None
        return cls(index, match["log"], int(match["size"]), match["root"]) if match else None


def leaves_key(index: int) -> ItemKey:
    """Return the key of the item that contains the leaf with an index."""
    return f"A#{ANCHOR_LOG}#E", f"{index // TILE_WIDTH:010d}"


def append_writes(first_index: int, leaves: Sequence[str]) -> list[Write]:
    """Return the writes that add the data of leaves from an index on, one for each item."""
    return indexed_value_writes((leaves_key(index), index, data) for index, data in enumerate(leaves, first_index))


def load_leaves_and_witnessed_log(first: int, count: int) -> tuple[list[ListedAnchor], WitnessedLog | None]:
    """Return up to `count` leaves from an index on, and the checkpoints that witnesses have cosigned, in one read.

    At most 256 leaves. Those that somebody altered are left out. Raises Problem `unavailable`.
    """
    indexes, log_key = range(first, first + count), WitnessedLog.make_item_key()
    items = table.get_all([log_key, *map(leaves_key, indexes)])
    data = ((index, items.get(leaves_key(index), {}).get(attribute_of_index(index))) for index in indexes)
    leaves = [leaf for index, text in data if (leaf := ListedAnchor.from_data_or_none(index, text))]
    log_item = items.get(log_key)
    return leaves, WitnessedLog.from_item(log_item) if log_item else None
