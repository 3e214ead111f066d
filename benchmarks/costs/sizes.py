"""Sizes of items as DynamoDB reckons them, and the units that reading and writing them takes.

The rules are those of DynamoDB's developer guide, *Item sizes and formats* and *Read and write operations*: a read unit
is 4 KB read consistently, an index's read is half of that, a write unit is 1 KB, and a transaction writes twice. Every
index that an item is in is written once more, in a transaction or not, and whole: all of them carry whole items.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from chalicelib.kernel.storage.item_json import to_wire
from infrastructure.resources import INDEX_KEYS

Item = Mapping[str, Any]

ITEM_OVERHEAD_BYTES: Final = 100
"""What storing an item takes beside its size, in the table and in each index."""

_READ_UNIT_BYTES: Final = 4096
_WRITE_UNIT_BYTES: Final = 1024
_CONTAINER_OVERHEAD_BYTES: Final = 3


def read_units(size: int) -> float:
    """Return the units of a consistent read of so many bytes."""
    return max(1, ceil(size / _READ_UNIT_BYTES))


def write_units(size: int) -> int:
    """Return the units of a plain write of an item of so many bytes."""
    return max(1, ceil(size / _WRITE_UNIT_BYTES))


def size(item: Item | None) -> int:
    """Return an item's size in bytes, by its plain values."""
    return wire_size(to_wire(item)) if item else 0


def wire_size(item: Mapping[str, Any]) -> int:
    """Return an item's size in bytes, in DynamoDB's own JSON with bytes as such."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def index_units(before: Item | None, after: Item | None) -> int:
    """Return the units that the indexes take when an item becomes another, is put or is removed."""
    units = 0
    for names in INDEX_KEYS.values():
        key_before, key_after = _index_key(before, names), _index_key(after, names)
        if key_before and key_after and key_before != key_after:
            units += write_units(size(before)) + write_units(size(after))
        elif (key_before or key_after) and before != after:
            units += write_units(max(size(before) if key_before else 0, size(after) if key_after else 0))
    return units


def stored_bytes(item: Item) -> int:
    """Return what storing an item takes, in the table and in all indexes that it is in."""
    copies = 1 + sum(_index_key(item, names) is not None for names in INDEX_KEYS.values())
    return copies * (size(item) + ITEM_OVERHEAD_BYTES)


def _index_key(item: Item | None, names: tuple[str, str]) -> tuple[str, str] | None:
    pk, sk = names
    return (item[pk], item[sk]) if item and pk in item and sk in item else None


def _value_size(value: Mapping[str, Any]) -> int:  # noqa: PLR0911 - one line a type
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
