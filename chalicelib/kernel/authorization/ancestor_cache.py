"""Ancestry: in which places a place or a record lies. It never changes, so that a process remembers what it has met.

What is remembered only tells where to look: the records that are read say themselves what they belong to.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_MAX_ENTRIES: Final = 10_000
_known: OrderedDict[ItemKey, Mapping[str, str]] = OrderedDict()


def cached_ids(key: ItemKey | None) -> Mapping[str, str]:
    """Return the ids of the places that the one stored at a key lies in, by their parameters; nothing if not known."""
    return _known.get(key, {}) if key else {}


def store(key: ItemKey, ids: Mapping[str, str]) -> None:
    """Remember in which places the one stored at a key lies."""
    _known[key] = ids
    if len(_known) > _MAX_ENTRIES:
        _known.popitem(last=False)


def ids_of_record(record_id: str) -> dict[str, str]:
    """Return the ids of the places that a record lies in, by its pointer: a read where it has not been met before."""
    key = pointer_key(record_id)
    if key not in _known:
        item = table.get(key)
        if item is None:
            return {}
        store_pointer(item)
    return dict(_known[key])


def store_pointer(item: Item) -> None:
    """Remember in which places a record lies, by what stands at its pointer, if anything does."""
    if item:
        store((item["pk"], item["sk"]), {name: value for name, value in item.items() if name.endswith("_id")})


def pointer_key(record_id: str) -> ItemKey:
    """Return where it stands in which places a record lies that has an address of its own."""
    return f"H#{record_id}", "#"


def ancestor_pointer(record_id: str, **ids: str) -> Item:
    """Return the item that leads from a record's id to the places that it lies in."""
    pk, sk = pointer_key(record_id)
    return {"pk": pk, "sk": sk, **ids}


def evict(key: ItemKey) -> None:
    """Forget in which places the one stored at a key lies: it was told otherwise."""
    _known.pop(key, None)


def reset() -> None:
    """Forget all that was met."""
    _known.clear()
