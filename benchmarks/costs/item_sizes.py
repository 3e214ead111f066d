"""Sizes of items and capacity units, as DynamoDB calculates them.

The rules are those of DynamoDB's developer guide, *Item sizes and formats* and *Read and write operations*. A read unit
is a consistent read of 4 KB, and a read of an index costs half of that. A write unit is 1 KB, and a transaction doubles
it. Each index that contains the item adds one write of the whole item, because all indexes project all attributes.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from chalicelib.kernel.storage.item_json import item_to_dynamodb_json
from infrastructure.resources import INDEX_KEYS

Item = Mapping[str, Any]

ITEM_OVERHEAD_BYTES: Final = 100
"""The storage overhead of an item, in the table and in each index."""

_READ_UNIT_BYTES: Final = 4096
_WRITE_UNIT_BYTES: Final = 1024
_CONTAINER_OVERHEAD_BYTES: Final = 3


def read_units(size: int) -> float:
    """Return the units of a consistent read of a number of bytes."""
    return max(1, ceil(size / _READ_UNIT_BYTES))


def write_units(size: int) -> int:
    """Return the units of a plain write of an item with a number of bytes."""
    return max(1, ceil(size / _WRITE_UNIT_BYTES))


def item_size(item: Item | None) -> int:
    """Return the size of an item with plain values, in bytes."""
    return wire_item_size(item_to_dynamodb_json(item)) if item else 0


def wire_item_size(item: Mapping[str, Any]) -> int:
    """Return the size of an item in DynamoDB's JSON (with bytes for binary values), in bytes."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def index_units(before: Item | None, after: Item | None) -> int:
    """Return the write units of the indexes when an item is written, replaced or deleted."""
    units = 0
    for names in INDEX_KEYS.values():
        key_before, key_after = _index_key(before, names), _index_key(after, names)
        if key_before and key_after and key_before != key_after:
            units += write_units(item_size(before)) + write_units(item_size(after))
        elif (key_before or key_after) and before != after:
            units += write_units(max(item_size(before) if key_before else 0, item_size(after) if key_after else 0))
    return units


def stored_bytes(item: Item) -> int:
    """Return the storage that an item needs in the table and in all indexes that contain it."""
    copies = 1 + sum(_index_key(item, names) is not None for names in INDEX_KEYS.values())
    return copies * (item_size(item) + ITEM_OVERHEAD_BYTES)


def _index_key(item: Item | None, names: tuple[str, str]) -> tuple[str, str] | None:
    pk, sk = names
    return (item[pk], item[sk]) if item and pk in item and sk in item else None


def _value_size(value: Mapping[str, Any]) -> int:  # noqa: PLR0911 - one branch for each type
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(content)
        case "N":
            digits: str = content.lstrip("-").replace(".", "").strip("0")
            return ceil(len(digits) / 2) + (2 if content.startswith("-") else 1)
        case "SS":
            return sum(len(text.encode()) for text in content)
        case "M":
            return _CONTAINER_OVERHEAD_BYTES + sum(
                len(n.encode()) + _value_size(each) + 1 for n, each in content.items()
            )
        case "L":
            return _CONTAINER_OVERHEAD_BYTES + sum(_value_size(each) + 1 for each in content)
    return 1
