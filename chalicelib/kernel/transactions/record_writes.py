"""Writes of records that are there: their changed attributes only, on condition that they are as they were read."""

from collections.abc import Container
from typing import Any, Literal

from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.writes import ItemUpdate, Write


def update_write(before: Entity, now: Entity, unguarded: Container[str]) -> Write:
    """Return the write that makes a record another, which has the same key. `unguarded`: fields that may differ."""
    old, new = before.stored_attributes, now.item()
    changed = {name: value for name, value in new.items() if name not in old or not json_equal(old[name], value)}
    gone = [name for name in old if name not in new]
    condition, was = _as_read(before, unguarded)
    return ItemUpdate(now.item_key, set=changed, remove=gone).write(condition, **was)


def unchanged_condition(kind: Literal["Delete", "ConditionCheck"], record: Entity) -> Write:
    """Return a write that is only done if a record is as it was read."""
    condition, was = _as_read(record)
    return Write(kind, record.item_key, condition=condition, names=list(_guarding(record)), values=was)


def _guarding(record: Entity, unguarded: Container[str] = ()) -> dict[str, Any]:
    """Return what has to be in the table as it was read; of an older shape that it is in that still."""
    guards = {record.attribute_of(name): name for name in record.version_fields if name not in unguarded}
    if record.legacy_item is None:
        return {attribute: getattr(record, name) for attribute, name in guards.items()}
    return {attribute: record.legacy_item.get(attribute) for attribute in (*guards, "shape")}


def _as_read(record: Entity, unguarded: Container[str] = ()) -> tuple[str, dict[str, Any]]:
    was = _guarding(record, unguarded)
    terms = [f"attribute_not_exists(#{n})" if v is None else f"#{n} = :was_{n}" for n, v in was.items()]
    return " AND ".join(terms), {f"was_{name}": value for name, value in was.items() if value is not None}


def derived_item_writes(before: Entity | None, now: Entity | None) -> list[Write]:
    """Return the writes of what comes, changes and goes with a record."""
    old = {(item["pk"], item["sk"]): item for item in before.derived_items} if before else {}
    new = {(item["pk"], item["sk"]): item for item in now.derived_items} if now else {}
    puts = [Write("Put", key, item=item) for key, item in new.items() if old.get(key) != item]
    return puts + [Write("Delete", key) for key in old if key not in new]
