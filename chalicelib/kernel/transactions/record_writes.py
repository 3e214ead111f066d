"""Writes of records and their MACs.

An update writes only the changed attributes, on condition that the record is unchanged.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, Literal

from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.due_keys import make_claimed_due_key
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.schema_versions import is_index_attribute
from chalicelib.kernel.storage.writes import ItemUpdate, Write, put_if_absent_write
from chalicelib.kernel.transactions.record_macs import mac_after_write, make_record_mac


@dataclass(frozen=True)
class RecordWrite:
    """The write of a record, and the item that is stored after it: None after a deletion."""

    write: Write
    item: Item | None = None


@dataclass
class PendingWrite:
    """A change of a record that is declared and not written yet. A record is None before its creation, or when deleted.

    `is_new`: the change creates a record, even if it replaces an expired one with the same key.
    `unchecked_version_fields`: version fields that may have changed since the record was read. `accepts_stored_item`:
    the record gets a valid MAC and its own index keys and derived items, whatever is stored. `is_claim`: a worker
    claims the record's task, which stays due since the same time.
    """

    before: Entity | None
    after: Entity | None
    is_new: bool = False
    unconditional: bool = False
    unchecked_version_fields: frozenset[str] = frozenset()
    was_ended: bool = False
    accepts_stored_item: bool = False
    is_claim: bool = False

    @property
    def has_new_version(self) -> bool:
        """Return whether the record is created or deleted, or changes its version."""
        return self.before is None or self.after is None or self.before.version != self.after.version

    def to_record_write(self, *, has_entry: bool) -> RecordWrite:
        """Return the write of a record that changes. `has_entry`: whether a log entry is committed with it.

        Raises Problem `unavailable` if AWS KMS cannot decrypt the key.
        """
        if self.after and self.before:
            return _update_if_unchanged_write(self, self.before, self.after, has_entry=has_entry)
        if self.after:
            return _put_write(self.after, is_unconditional=self.unconditional)
        assert self.before is not None  # noqa: S101 - a change has at least one of them
        return RecordWrite(delete_or_check_if_unchanged_write("Delete", self.before))

    def to_empty_write(self, key: ItemKey) -> RecordWrite:
        """Return a write of the same kind without content, to count writes."""
        return RecordWrite(Write("Delete" if self.after is None else "Put" if self.before is None else "Update", key))


def _put_write(record: Entity, *, is_unconditional: bool) -> RecordWrite:
    item = record.item()
    if not record.mac_exemption:
        item["record_mac"] = make_record_mac(record, item)
    write = Write("Put", record.item_key, item=item) if is_unconditional else put_if_absent_write(item)
    return RecordWrite(write, item)


def _update_if_unchanged_write(change: PendingWrite, before: Entity, after: Entity, *, has_entry: bool) -> RecordWrite:
    stored = before.item() if before.stored_item is None else before.stored_item
    changed, removed = _changed_and_removed_attributes(
        before, after, _index_keys(stored) if change.accepts_stored_item else None
    )
    if change.is_claim and after.scheduled_task:
        changed["duesk"] = make_claimed_due_key(after.scheduled_task.at, stored)
    item = {name: value for name, value in stored.items() if name not in removed} | changed
    mac = (
        make_record_mac(after, item)
        if (change.is_new or change.accepts_stored_item) and not after.mac_exemption
        else mac_after_write(before, after, stored, item, {*changed, *removed}, has_entry=has_entry)
    )
    has_new_mac = mac != before.record_mac
    if has_new_mac:
        changed["record_mac"] = item["record_mac"] = mac
    # A new MAC covers all fields as they were read, so none of them may have changed since.
    former_mac = {"record_mac": before.record_mac} if has_new_mac else {}
    condition, old_values = _unchanged_condition_and_values(before, change.unchecked_version_fields, **former_mac)
    return RecordWrite(ItemUpdate(after.item_key, set=changed, remove=removed).to_write(condition, **old_values), item)


def _changed_and_removed_attributes(
    before: Entity, after: Entity, stored_index_keys: Item | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the changed attributes of a record except its MAC, and the names of the removed ones.

    `stored_index_keys`: the stored index keys, if they may not be those of `before`. The same document as before is not
    serialized again: its stored form stays, whichever release has chosen it.
    """
    if before.legacy_item is None:
        same = frozenset(name for name in after.json_fields if getattr(before, name) is getattr(after, name))
        old, new = before.item(same), after.item(same)
    else:
        old, new = before.owned_item_attribute_values, after.item()
    if stored_index_keys is not None:
        old = {name: value for name, value in old.items() if not is_index_attribute(name)} | stored_index_keys
    changed = {name: value for name, value in new.items() if name not in old or not json_equal(old[name], value)}
    changed.pop("record_mac", None)
    return changed, [name for name in old if name not in new and name != "record_mac"]


def _index_keys(item: Item) -> Item:
    return {name: value for name, value in item.items() if is_index_attribute(name)}


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
    """Return the attributes that must be unchanged, None if they have to be absent.

    For an older schema version, that version is one of them.
    """
    guards = {record.stored_name(name): name for name in record.version_fields if name not in unchecked_version_fields}
    if record.legacy_item is None:
        return {attribute: _version_value_or_none(record, name) for attribute, name in guards.items()}
    return {attribute: record.legacy_item.get(attribute) for attribute in (*guards, "shape")}


def _version_value_or_none(record: Entity, name: str) -> Any:
    value, item = getattr(record, name), record.stored_item
    if item is None or record.stored_name(name) in item:
        return value
    # An older release, which did not know the field, stored the item without it.
    return None if value == type(record).__dataclass_fields__[name].default else value


def _unchanged_condition_and_values(
    record: Entity, unchecked_version_fields: Container[str] = (), **further_values: Any
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
    return [
        (
            replace(deleted[write.key], kind="Put", item=write.item)
            if write.kind == "Put" and write.key in transferred
            else write,
            problem,
        )
        for write, problem in writes
        if write.kind != "Delete" or write.key not in transferred
    ]
