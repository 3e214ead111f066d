"""Writes of existing records: only changed attributes, on condition that the record is unchanged."""

from collections.abc import Container
from typing import Any, Literal

from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.writes import ItemUpdate, Write


def update_write(before: Entity, after: Entity, unguarded: Container[str]) -> Write:
    """Return the write that updates a record. `unguarded`: fields that may have changed since it was read."""
    old, new = before.stored_attributes, after.item()
    changed = {name: value for name, value in new.items() if name not in old or not json_equal(old[name], value)}
    gone = [name for name in old if name not in new]
    condition, was = _unchanged_terms(before, unguarded)
    return ItemUpdate(after.item_key, set=changed, remove=gone).write(condition, **was)


def unchanged_condition(kind: Literal["Delete", "ConditionCheck"], record: Entity) -> Write:
    """Return a deletion or condition check that requires the record to be unchanged."""
    condition, was = _unchanged_terms(record)
    return Write(kind, record.item_key, condition=condition, names=list(_guarded_values(record)), values=was)


def _guarded_values(record: Entity, unguarded: Container[str] = ()) -> dict[str, Any]:
    """Return the attributes that must be unchanged. For an older schema version, that version is one of them."""
    guards = {record.attribute_of(name): name for name in record.version_fields if name not in unguarded}
    if record.legacy_item is None:
        return {attribute: getattr(record, name) for attribute, name in guards.items()}
    return {attribute: record.legacy_item.get(attribute) for attribute in (*guards, "shape")}


def _unchanged_terms(record: Entity, unguarded: Container[str] = ()) -> tuple[str, dict[str, Any]]:
    was = _guarded_values(record, unguarded)
    terms = [f"attribute_not_exists(#{n})" if v is None else f"#{n} = :was_{n}" for n, v in was.items()]
    return " AND ".join(terms), {f"was_{name}": value for name, value in was.items() if value is not None}


def derived_item_writes(before: Entity | None, after: Entity | None) -> list[Write]:
    """Return the writes of the derived items of a record that changes."""
    old = {(item["pk"], item["sk"]): item for item in before.derived_items} if before else {}
    new = {(item["pk"], item["sk"]): item for item in after.derived_items} if after else {}
    puts = [Write("Put", key, item=item) for key, item in new.items() if old.get(key) != item]
    return puts + [Write("Delete", key) for key in old if key not in new]
