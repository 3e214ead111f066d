"""Thousands of neighbors: copies of the neighbors in the catalogue's examples, with ids of their own.

They are written without the service and without moto's write path. They share all attribute values without ids with the
items from which they were copied.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict

from tests.catalogue.examples.registry import add_feature_neighbours
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws, snapshots
from tests.harness.snapshots import Snapshot

DEFAULT_SIZE: Final = 10
LOG_FEATURES: Final = ("audit.log", "admin.status")
"""Features whose neighbors are log entries. The service has to append each entry, so entries cannot be copied."""

BOUNDED_FEATURES: Final = ("platforms.capabilities", "admin.migrations", "platforms.modules")
"""Features whose number of records is limited by the size of a set or by the program."""

_FEATURE_OF_NEIGHBORS: Final = {
    "platforms.configuration": "platforms.spaces",
    "sites.previews": "sites.pages",
    "sites.visits": "sites.pages",
}
"""Features whose examples read the records of another feature, and that feature."""

_SET_MEMBER_PREFIX: Final = "#crowd-"
"""The prefix of the sort keys of bounded records."""

_NUMBER_PLACEHOLDER: Final = "\0"
_DIGITS: Final = 6
_MIN_ID_CHARACTERS: Final = 20
"""The minimum length of an id that is built from a timestamp and random characters."""


def add_neighbors(default: Snapshot, empty: Snapshot, feature: str, tenant: TenantFixture, count: int) -> Snapshot:
    """Return a table like `default`, with `count` neighbors of the records in a feature's examples."""
    if feature in BOUNDED_FEATURES:
        return default
    if feature in LOG_FEATURES:
        snapshots.restore_snapshot(default)
        add_feature_neighbours(feature, tenant, count - DEFAULT_SIZE)
        return snapshots.take_snapshot()
    snapshots.restore_snapshot(empty)
    keys_before = set(snapshots.items_by_key())
    add_feature_neighbours(_FEATURE_OF_NEIGHBORS.get(feature, feature), tenant, DEFAULT_SIZE)
    partitions: Any = memory_aws.get_table().items
    keys = [(pk, sk) for pk in partitions for sk in partitions[pk] if (pk.value, sk.value) not in keys_before]
    neighbors = [partitions[pk][sk] for pk, sk in keys if _SET_MEMBER_PREFIX not in sk.value]
    snapshot = {pk: dict(partition) for pk, partition in default.items()}
    for copy in _copy_items(neighbors, count // DEFAULT_SIZE - 1):
        snapshot.setdefault(copy.hash_key, {})[copy.range_key] = copy
    return snapshot


def _copy_items(items: Iterable[Item], times: int) -> Iterator[Item]:
    patterns = _attribute_templates([*items])
    for number in range(times):
        for item, pattern in patterns:
            yield _copy_item(item, pattern, f"{number:0{_DIGITS}d}")


def _attribute_templates(items: list[Item]) -> list[tuple[Item, dict[str, str]]]:
    """Return each item with templates of the attributes that differ in a copy."""
    templates_by_id = {i.attrs["id"].value: _id_template(i.attrs["id"].value) for i in items if "id" in i.attrs}
    return [(item, _attribute_template(item, templates_by_id)) for item in items]


def _attribute_template(item: Item, templates_by_id: dict[str, str]) -> dict[str, str]:
    changed = {}
    for name, value in item.attrs.items():
        text = value.value
        if value.type == "S":
            for id_, id_template in templates_by_id.items():
                text = text.replace(id_, id_template)
            if text != value.value:
                changed[name] = text
    if "pk" not in changed and "sk" not in changed:
        changed["sk"] = f"{item.attrs['sk'].value}-{_NUMBER_PLACEHOLDER}"
    return changed


def _id_template(id_: str) -> str:
    return (
        f"{id_[:-_DIGITS]}{_NUMBER_PLACEHOLDER}" if len(id_) >= _MIN_ID_CHARACTERS else f"{id_}-{_NUMBER_PLACEHOLDER}"
    )


def _copy_item(item: Item, template: dict[str, str], number: str) -> Item:
    copied: Any = Item.__new__(Item)
    copied.attrs = LimitedSizeDict()
    dict.update(copied.attrs, item.attrs)
    for name, text in template.items():
        dict.__setitem__(copied.attrs, name, DynamoType({"S": text.replace(_NUMBER_PLACEHOLDER, number)}))
    copied.hash_key, copied.range_key = copied.attrs["pk"], copied.attrs["sk"]
    item_copy: Item = copied
    return item_copy
