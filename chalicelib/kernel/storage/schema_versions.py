"""Schema versions: a record that was stored with an older schema is converted to the current one when it is read.

    class Parcel(Entity):
        schema_version = 2
        upcasters = {1: lambda item: {"grams": item.pop("weight") * 1000, **item}}  # from version 1 to 2

Nothing has to be rewritten: the first change of a record stores it in the current schema. An upcaster gets a copy of
the item, removes attributes that no field uses any more, and sets the value of each field. It must not change keys,
unique values or derived items. Such changes need a migration.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from chalicelib.kernel.core.problems import Problem, unavailable

Item = dict[str, Any]
Upcasters = Mapping[int, Callable[[Item], Item]]
T = TypeVar("T")

_INDEX_ATTRIBUTES: Final = re.compile(r"(?:index[0-9]|due)[ps]k|facet[0-9]pk|task")
"""Attributes of index keys, which follow from the record."""


class NewerSchemaVersion(Problem):
    """An item has a schema version that this release does not know."""

    def __init__(self) -> None:
        """Initialize the problem, which is temporary: a release that knows the version is being deployed."""
        problem = unavailable("A newer release of the service, which is being deployed, has written this record.")
        super().__init__(problem.code, problem.detail, headers=problem.headers)


def is_index_attribute(name: str) -> bool:
    """Return whether an attribute is an index key, which follows from the record."""
    return _INDEX_ATTRIBUTES.fullmatch(name) is not None


def require_complete_upcasters(kind: str, version: int, upcasters: Upcasters) -> None:
    """Raise TypeError unless there is an upcaster from every older version."""
    if {*upcasters} != {*range(1, version)}:
        raise TypeError(
            f"{kind} has schema version {version} and needs an upcaster from each version from 1 to {version - 1}"
        )


def upcast(item: Item, version: int, upcasters: Upcasters) -> Item:
    """Return an item in the current schema. Raises NewerSchemaVersion."""
    stored_version = int(item.get("shape", 1))
    if stored_version > version:
        raise NewerSchemaVersion
    for older_version in range(stored_version, version):
        item = upcasters[older_version](dict(item))
    return item


def attach_stored_item(record: T, item: Item | None) -> T:
    """Return a record with the item that it is stored as, of any schema version."""
    object.__setattr__(record, "stored_item", item)  # It is not a field, so it does not affect equality.
    return record
