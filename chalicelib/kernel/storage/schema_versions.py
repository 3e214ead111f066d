"""Schema versions: records that were stored with an older schema are read in the current one.

    class Parcel(Entity):
        schema_version = 2
        upcasters = {1: lambda item: {"grams": item.pop("weight") * 1000, **item}}  # from version 1 to 2

Nothing has to be rewritten: the first change of a record stores it in the current schema. An upcaster gets a copy of
the item, removes attributes that no field has any more, and sets the value of each field. It must not change keys,
unique values and derived items. These changes need a migration.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from chalicelib.kernel.core.problems import unavailable

Item = dict[str, Any]
Upcasts = Mapping[int, Callable[[Item], Item]]
T = TypeVar("T")

_MARKS: Final = re.compile(r"(?:index[0-9]|due)[ps]k|facet[0-9]pk|task")
"""Attributes of index keys, which follow from the record."""


def schema_version_of(item: Item) -> int:
    """Return the schema version of an item, 1 by default."""
    return int(item.get("shape", 1))


def check_upcasters(kind: str, shape: int, upcasts: Upcasts) -> None:
    """Raise TypeError unless there is an upcaster from every older version."""
    if {*upcasts} != {*range(1, shape)}:
        raise TypeError(f"{kind} has the shape {shape}: it takes an upcast from each of 1 to {shape - 1}")


def upcast(item: Item, shape: int, upcasts: Upcasts) -> Item:
    """Return an item in the current schema. Raises Problem `unavailable` if a newer release wrote it."""
    if schema_version_of(item) > shape:
        raise unavailable("A newer release of the service, which is being deployed, has written this record.")
    for older in range(schema_version_of(item), shape):
        item = upcasts[older](dict(item))
    return item


def attach_legacy_item(record: T, older: Item | None) -> T:
    """Return a record with the item it was read from, if that has an older schema version."""
    if older is not None:
        object.__setattr__(record, "legacy_item", older)  # It is not a field, so it does not affect equality.
    return record


def migrated_quota_fields(older: Item, today: Item, item: Item) -> Item:
    """Return the attributes of an older item that the record accounts for.

    `today`: the upcast item. `item`: the record as it would be stored now. Other attributes were added by something
    else, and stay.
    """
    return {name: v for name, v in older.items() if name not in today or name in item or _MARKS.fullmatch(name)}
