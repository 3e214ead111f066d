"""Heads of logs that have grown since they were anchored: their index, and the position of their anchoring."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from chalicelib.kernel.audit_log.ledger import head_key, unanchored_index_attributes, unanchored_pk
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, Partition
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate

_POSITION: Final = "anchoring"
"""The attribute of a head that contains the position of its anchoring, while that takes several slices."""

_PAGE_SIZE: Final = 100


def iter_unanchored_head_pages(shard: int) -> Iterator[list[Item]]:
    """Yield the heads of a shard that have grown since they were anchored, in pages, the longest waiting first."""
    yield from table.iter_item_pages(Partition(unanchored_pk(shard), "index2"), limit=_PAGE_SIZE)


def mark_anchored_if_size_unchanged(log: str, size: int) -> None:
    """Mark a head as anchored, if it still has this size."""
    update = ItemUpdate(head_key(log), remove=["index2pk", "index2sk", _POSITION])
    with suppress(TransactionCancelled):
        table.write_transaction([update.to_write("#size = :size", size=size)])


def try_mark_unanchored_if_size_unchanged(log: str, head: Item) -> bool:
    """Mark a head as unanchored, and return whether that succeeded. A head that has grown is marked already."""
    update = ItemUpdate(head_key(log), set=unanchored_index_attributes(log))
    with suppress(TransactionCancelled):
        table.write_transaction([update.to_write("#size = :size", size=head["size"])])
        return True
    return False


def anchoring_position(head_item: Item) -> str:
    """Return the position in a head up to which anchoring has verified the log, or an empty string."""
    position = head_item.get(_POSITION, "")
    return position if isinstance(position, str) else ""


def try_store_anchoring_position(log: str, head_item: Item, position: str) -> bool:
    """Store the position of anchoring in the head, unless another worker has moved it since the head was read.

    Return whether it was stored. The head may have grown.
    """
    update = ItemUpdate(head_key(log), set={_POSITION: position})
    if _POSITION in head_item:
        write = update.to_write(f"#{_POSITION} = :seen", seen=head_item[_POSITION])
    else:
        write = update.to_write(f"attribute_exists(#pk) AND attribute_not_exists(#{_POSITION})")
    with suppress(TransactionCancelled):
        table.write_transaction([write])
        return True
    return False
