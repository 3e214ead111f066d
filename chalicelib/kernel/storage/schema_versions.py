"""Shapes: a record that was stored before its fields were what they are now is read as if it were stored today.

    class Parcel(Entity):
        shape = 2
        upcasts = {1: lambda item: {"grams": item.pop("weight") * 1000, **item}}  # from shape 1 to 2

Nothing has to be rewritten for that: the first change of a record stores it in today's shape. An upcast gets a copy,
takes out what no field holds any more, and gives every field its value. It changes no key of the table, no unique value
and no companion; these take a migration.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from chalicelib.kernel.core.problems import unavailable

Item = dict[str, Any]
Upcasts = Mapping[int, Callable[[Item], Item]]
T = TypeVar("T")

_MARKS: Final = re.compile(r"(?:index[0-9]|due)[ps]k|facet[0-9]pk|task")
"""What puts an item into indexes: it follows from the record."""


def version_of(item: Item) -> int:
    """Return the shape of an item; one that says none has the first."""
    return int(item.get("shape", 1))


def check_upcasters(kind: str, shape: int, upcasts: Upcasts) -> None:
    """Raise TypeError unless there is a way from every older shape to that of today."""
    if {*upcasts} != {*range(1, shape)}:
        raise TypeError(f"{kind} has the shape {shape}: it takes an upcast from each of 1 to {shape - 1}")


def upcast(item: Item, shape: int, upcasts: Upcasts) -> Item:
    """Return an item in today's shape. Raises Problem `unavailable` if newer code wrote it: nobody here can read it."""
    if version_of(item) > shape:
        raise unavailable("A newer version of the service has written this, and it is being put into service.")
    for older in range(version_of(item), shape):
        item = upcasts[older](dict(item))
    return item


def attach_legacy_item(record: T, older: Item | None) -> T:
    """Return a record that knows the item it was read from, if that is of an older shape."""
    if older is not None:
        object.__setattr__(record, "legacy_item", older)  # It is no field: two records that say the same are the same.
    return record


def migrated_quota_fields(older: Item, today: Item, item: Item) -> Item:
    """Return what a record accounts for of an item of an older shape.

    `today`: that item, upcast. `item`: the record as it would be stored today. What is neither consumed by the upcasts
    nor the record's own is a mark that something else has put there, and stays.
    """
    return {name: v for name, v in older.items() if name not in today or name in item or _MARKS.fullmatch(name)}
