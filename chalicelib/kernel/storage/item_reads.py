"""Performs the reads that computations request, so that records and trees make no AWS calls themselves."""

from collections.abc import Mapping

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, ItemReads


def perform_reads(reads: ItemReads, items: Mapping[ItemKey, Item]) -> Mapping[ItemKey, Item]:
    """Return `items` and those that a computation requests, with one read for each request.

    An item that is read again replaces the earlier one, and is removed if it no longer exists.
    """
    keys = next(reads, None)
    while keys is not None:
        found = table.get_all(keys)
        items = {**{key: item for key, item in items.items() if key not in keys}, **found}
        try:
            keys = reads.send(found)
        except StopIteration:
            keys = None
    return items
