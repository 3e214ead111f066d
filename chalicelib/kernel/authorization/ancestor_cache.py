"""A cache of the ancestors of containers and records. They never change.

The cache only determines what to read. The records that are read contain their ancestors themselves.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_MAX_ENTRIES: Final = 10_000
_cached_ids: OrderedDict[ItemKey, Mapping[str, str]] = OrderedDict()


def cached_ancestor_ids_or_empty(key: ItemKey | None) -> Mapping[str, str]:
    """Return the cached ids of the ancestors of a container by path parameter, or nothing."""
    return _cached_ids.get(key, {}) if key else {}


def store(key: ItemKey, ancestor_ids: Mapping[str, str]) -> None:
    """Cache the ids of the ancestors of a container."""
    _cached_ids[key] = ancestor_ids
    if len(_cached_ids) > _MAX_ENTRIES:
        _cached_ids.popitem(last=False)


def load_ancestor_ids_of_record(record_id: str) -> dict[str, str]:
    """Return the ids of the ancestors of a record by its pointer. It takes a read if they are not cached."""
    key = ancestor_pointer_key(record_id)
    if key not in _cached_ids:
        item = table.get(key)
        if item is None:
            return {}
        cache_pointer_ancestor_ids(item)
    return dict(_cached_ids[key])


def cache_pointer_ancestor_ids(item: Item) -> None:
    """Cache the ids of the ancestors in a record's pointer."""
    if item:
        store((item["pk"], item["sk"]), {name: value for name, value in item.items() if name.endswith("_id")})


def ancestor_pointer_key(record_id: str) -> ItemKey:
    """Return the key of a record's pointer to its ancestors."""
    return f"H#{record_id}", "#"


def build_ancestor_pointer(record_id: str, **ids: str) -> Item:
    """Return the item that contains the ids of a record's ancestors."""
    pk, sk = ancestor_pointer_key(record_id)
    return {"pk": pk, "sk": sk, **ids}


def evict(key: ItemKey) -> None:
    """Remove a key from the cache, because its entry was wrong."""
    _cached_ids.pop(key, None)


def reset() -> None:
    """Clear the cache."""
    _cached_ids.clear()
