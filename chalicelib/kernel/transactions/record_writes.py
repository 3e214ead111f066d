"""Writes of existing records: only changed attributes, on condition that the record is unchanged."""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.writes import ItemUpdate, Write

NO_VALUES: Final[Mapping[str, Any]] = {}


def update_if_unchanged_write(before: Entity, after: Entity, unchecked_version_fields: Container[str]) -> Write:
    """Return the write that updates a record.

    `unchecked_version_fields`: version fields that may have changed since the record was read.
    """
    old, new = before.owned_item_attribute_values, after.item()
    changed = {name: value for name, value in new.items() if name not in old or not json_equal(old[name], value)}
    removed = [name for name in old if name not in new]
    # A new MAC covers all fields as they were read, so none of them may have changed since.
    mac_guard = {"record_mac": before.record_mac} if after.record_mac != before.record_mac else {}
    condition, old_values = _unchanged_condition_and_values(before, unchecked_version_fields, mac_guard)
    return ItemUpdate(after.item_key, set=changed, remove=removed).to_write(condition, **old_values)


def delete_or_check_if_unchanged_write(action: Literal["Delete", "ConditionCheck"], record: Entity) -> Write:
    """Return a deletion or condition check that requires the record to be unchanged."""
    condition, old_values = _unchanged_condition_and_values(record)
    return Write(
        action,
        record.item_key,
        condition=condition,
        names=list(_version_attribute_values(record)),
        values=old_values,
    )


def _version_attribute_values(record: Entity, unchecked_version_fields: Container[str] = ()) -> dict[str, Any]:
    """Return the attributes that must be unchanged. For an older schema version, that version is one of them."""
    guards = {record.stored_name(name): name for name in record.version_fields if name not in unchecked_version_fields}
    if record.legacy_item is None:
        return {attribute: getattr(record, name) for attribute, name in guards.items()}
    return {attribute: record.legacy_item.get(attribute) for attribute in (*guards, "shape")}


def _unchanged_condition_and_values(
    record: Entity, unchecked_version_fields: Container[str] = (), further_values: Mapping[str, Any] = NO_VALUES
) -> tuple[str, dict[str, Any]]:
    old_values = {**_version_attribute_values(record, unchecked_version_fields), **further_values}
    terms = [
        f"attribute_not_exists(#{name})" if value is None else f"#{name} = :was_{name}"
        for name, value in old_values.items()
    ]
    return " AND ".join(terms), {f"was_{name}": value for name, value in old_values.items() if value is not None}


def derived_item_writes(before: Entity | None, after: Entity | None) -> list[Write]:
    """Return the writes of the derived items of a record that changes."""
    old = {(item["pk"], item["sk"]): item for item in before.derived_items} if before else {}
    new = {(item["pk"], item["sk"]): item for item in after.derived_items} if after else {}
    puts = [Write("Put", key, item=item) for key, item in new.items() if old.get(key) != item]
    return puts + [Write("Delete", key) for key in old if key not in new]


def merge_delete_put_pairs(writes: list[tuple[Write, Problem | None]]) -> list[tuple[Write, Problem | None]]:
    """Merge the deletion of an item by one record and its creation by another.

    A transaction can write an item only once.
    """
    deleted = {write.key: write for write, _ in writes if write.kind == "Delete"}
    transferred = {write.key for write, _ in writes if write.kind == "Put" and write.key in deleted}
    if not transferred:
        return writes
    remaining = [
        (write, problem) for write, problem in writes if write.kind != "Delete" or write.key not in transferred
    ]
    return [
        (replace(deleted[write.key], kind="Put", item=write.item), problem)
        if write.kind == "Put" and write.key in transferred
        else (write, problem)
        for write, problem in remaining
    ]
