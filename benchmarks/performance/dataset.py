"""Neighbours by the thousand: copies of those that the catalogue's examples have, under ids of their own.

They are written past the service and past moto's own writing, and share with what they are copied from all values that
name nobody.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict

from tests.catalogue.examples.registry import add_feature_neighbours
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws, snapshots
from tests.harness.snapshots import Snapshot

FEW: Final = 10
LOGS: Final = ("audit.log", "admin.status")
"""Features whose neighbours are entries of a log: none is a copy of another, so the service has to append each."""

BOUNDED: Final = ("platforms.capabilities", "admin.migrations", "platforms.modules")
"""Features that have as many records as a set may have, or as the program has: there are no more of them."""

_NEIGHBORS: Final = {
    "platforms.configuration": "platforms.spaces",
    "sites.previews": "sites.pages",
    "sites.visits": "sites.pages",
}
"""Features whose examples look at what is another feature's, and at whose neighbours."""

_OF_A_SET: Final = "#crowd-"
"""How those are named that a feature has a bounded number of beside others."""

_MARK: Final = "\0"
_DIGITS: Final = 6
_LONG: Final = 20
"""An id that is made of a moment and chance has as many letters at least."""


def among(few: Snapshot, alone: Snapshot, feature: str, world: TenantFixture, number: int) -> Snapshot:
    """Return a table like `few`, but with so many neighbours beside whatever a feature's examples look at."""
    if feature in BOUNDED:
        return few
    if feature in LOGS:
        snapshots.restore_snapshot(few)
        add_feature_neighbours(feature, world, number - FEW)
        return snapshots.take_snapshot()
    snapshots.restore_snapshot(alone)
    before = set(snapshots.items_by_key())
    add_feature_neighbours(_NEIGHBORS.get(feature, feature), world, FEW)
    held: Any = memory_aws.get_table().items
    keys = [(pk, sk) for pk in held for sk in held[pk] if (pk.value, sk.value) not in before]
    put = [held[pk][sk] for pk, sk in keys if _OF_A_SET not in sk.value]
    many = {pk: dict(partition) for pk, partition in few.items()}
    for copied in _copies(put, number // FEW - 1):
        many.setdefault(copied.hash_key, {})[copied.range_key] = copied
    return many


def _copies(items: Iterable[Item], times: int) -> Iterator[Item]:
    patterns = _patterns([*items])
    for number in range(times):
        for item, pattern in patterns:
            yield _copy(item, pattern, f"{number:0{_DIGITS}d}")


def _patterns(items: list[Item]) -> list[tuple[Item, dict[str, str]]]:
    """Return each item with those of its attributes that are another one's in a copy: a mark stands for its number."""
    marked = {i.attrs["id"].value: _marked(i.attrs["id"].value) for i in items if "id" in i.attrs}
    return [(item, _pattern(item, marked)) for item in items]


def _pattern(item: Item, marked: dict[str, str]) -> dict[str, str]:
    found = {}
    for name, value in item.attrs.items():
        text = value.value
        if value.type == "S":
            for id_, with_mark in marked.items():
                text = text.replace(id_, with_mark)
            if text != value.value:
                found[name] = text
    if "pk" not in found and "sk" not in found:
        found["sk"] = f"{item.attrs['sk'].value}-{_MARK}"
    return found


def _marked(id_: str) -> str:
    return f"{id_[:-_DIGITS]}{_MARK}" if len(id_) >= _LONG else f"{id_}-{_MARK}"


def _copy(item: Item, pattern: dict[str, str], number: str) -> Item:
    copied: Any = Item.__new__(Item)
    copied.attrs = LimitedSizeDict()
    dict.update(copied.attrs, item.attrs)
    for name, text in pattern.items():
        dict.__setitem__(copied.attrs, name, DynamoType({"S": text.replace(_MARK, number)}))
    copied.hash_key, copied.range_key = copied.attrs["pk"], copied.attrs["sk"]
    made: Item = copied
    return made
