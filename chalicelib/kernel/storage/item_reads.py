"""Performs the reads that computations request, so that records and trees make no AWS calls themselves."""

from collections.abc import Mapping
from typing import TypeVar

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, ItemReads

T = TypeVar("T")


def perform_reads(reads: ItemReads[T], items: Mapping[ItemKey, Item]) -> tuple[Mapping[ItemKey, Item], T]:
    """Run a computation with one read for each request. Return `items` with those that were read, and its result.

    An item that is read again replaces the earlier one, and is removed if it no longer exists.
    """
    try:
        keys = next(reads)
        while True:
            found = table.get_all(keys)
            items = {**{key: item for key, item in items.items() if key not in keys}, **found}
            keys = reads.send(found)
    except StopIteration as end:
        return items, end.value
