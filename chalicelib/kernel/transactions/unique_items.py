"""Items that reserve unique values, and former values for a while."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import FieldError, Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.key_templates import fields_of
from chalicelib.kernel.storage.unique_values import FORMER_NAME_DAYS, MAX_FORMER_NAMES, FormerName, Unique
from chalicelib.kernel.storage.writes import ItemUpdate, Write


class _ValueTakenProblem(Problem):
    """409 because another record has a unique value."""

    def __init__(self, unique: Unique, record: Entity, existing_id: str | None = None) -> None:
        """Initialize the problem of a record. `existing_id`: the id of the other record, if the problem may name it."""
        value = unique.key.format_map(_Values(record, {}))
        other = f"The {record.noun} {existing_id}" if existing_id else f"Another {record.noun}"
        advice = unique.advice.format_map(_Values(record, {"existing_id": existing_id or "{id}"}))
        detail = f"{other} has the {unique.field} {value!r}. {advice}"
        super().__init__(
            unique.error_code,
            detail,
            [FieldError(f"/{unique.field}", unique.error_code, detail)],
            extensions={"existingId": existing_id} if existing_id else {},
        )
        self.unique, self.record = unique, record


@dataclass(frozen=True)
class _Values:
    """The values of a record by name: its fields and properties, unless `others` contains the name."""

    record: Entity
    others: Mapping[str, str]

    def __getitem__(self, name: str) -> Any:
        return self.others[name] if name in self.others else getattr(self.record, name)


def unique_item_writes_with_problems(
    before: Entity | None, after: Entity | None, timestamp: str
) -> Iterator[tuple[Write, Problem | None]]:
    """Yield the writes that reserve and release unique values when a record changes.

    Each comes with the problem to raise if the value is taken.
    """
    record = after or before
    for unique in type(record).uniques.values() if record else ():
        old = guard_key(unique, before) if before and _reserves_value_at(unique, before, timestamp) else None
        new = guard_key(unique, after) if after and _reserves_value_at(unique, after, timestamp) else None
        if (
            new
            and after
            and (new != old or _reservation_expires_at(unique, after) != _reservation_expires_at(unique, before))
        ):
            yield (
                _reservation_write(new, unique, after, timestamp),
                _ValueTakenProblem(unique, after) if unique.error_code else None,
            )
        if old and new != old and before:
            days = (
                FORMER_NAME_DAYS
                if unique.former_values_field and (after or unique.keeps_value_on_delete(before))
                else 0
            )
            yield _release_write(old, unique, before, days, timestamp), None
        if unique.former_values_field and before:
            for name in _released_former_names(unique, before, after, timestamp):
                key = guard_key(unique, _Values(before, {_value_field_name(unique): name}))
                yield _release_write(key, unique, before, 0, timestamp), None


def problem_naming_existing_record(problem: Problem | None, existing_item: Item | None) -> Problem | None:
    """Return the problem of a failed write, with the id of the record that has a unique value if it may be named.

    `existing_item`: the item that made the write fail.
    """
    if existing_item and isinstance(problem, _ValueTakenProblem) and problem.code == "already_exists":
        return _ValueTakenProblem(problem.unique, problem.record, existing_item["ref"])
    return problem


def reserved_guards(record: Entity, timestamp: str) -> dict[ItemKey, Item]:
    """Return the attributes that the items which reserve a record's unique values must have, by their keys."""
    reserved = [unique for unique in record.uniques.values() if _reserves_value_at(unique, record, timestamp)]
    return {guard_key(unique, record): {"ref": getattr(record, unique.ref_field)} for unique in reserved}


def unexpired_reservation_record_id(guard_item: Item | None) -> str | None:
    """Return the id of the record that reserves a value, currently or formerly; None if the reservation has expired."""
    return None if guard_item is None or table.is_expired(guard_item) else str(guard_item["ref"])


def former_name_changes(before: Entity, after: Entity, timestamp: str) -> dict[str, Any]:
    """Return the fields that list the former names of a record, if its name changes."""
    return {
        unique.former_values_field: _former_names_after(
            unique, before, getattr(after, _value_field_name(unique)), timestamp
        )
        for unique in type(after).uniques.values()
        if unique.former_values_field
        and getattr(before, _value_field_name(unique)) != getattr(after, _value_field_name(unique))
    }


def _former_names_after(unique: Unique, before: Entity, new_name: str | None, timestamp: str) -> list[FormerName]:
    """Return the former names of a record after its name changes or is removed. The oldest is dropped first."""
    current_name = getattr(before, _value_field_name(unique))
    remaining = [
        each
        for each in _unexpired_former_names(unique, before, timestamp)
        if each["name"] not in (new_name, current_name)
    ]
    former_name: FormerName = {"name": current_name, "until": after(timestamp, days=FORMER_NAME_DAYS)}
    return [*remaining, former_name][-MAX_FORMER_NAMES:]


def _released_former_names(unique: Unique, before: Entity, after: Entity | None, timestamp: str) -> list[str]:
    """Return the former names that are no longer reserved, because there are newer ones."""
    if after:
        reserved = {each["name"] for each in getattr(after, unique.former_values_field)} | {
            getattr(after, _value_field_name(unique))
        }
    elif unique.keeps_value_on_delete(before):
        reserved = {each["name"] for each in _former_names_after(unique, before, None, timestamp)}
    else:
        return []
    return [each["name"] for each in _unexpired_former_names(unique, before, timestamp) if each["name"] not in reserved]


def _unexpired_former_names(unique: Unique, record: Entity, timestamp: str) -> list[FormerName]:
    return [each for each in getattr(record, unique.former_values_field) if each["until"] > timestamp]


def _value_field_name(unique: Unique) -> str:
    """Return the field that contains the value."""
    return fields_of(unique.key)[0]


def _reserves_value_at(unique: Unique, record: Entity, timestamp: str) -> bool:
    # After the expiry, another record may have reserved the value.
    return unique.applies_to(record) and not (
        unique.expires_at_field and getattr(record, unique.expires_at_field) <= timestamp
    )


def _reservation_expires_at(unique: Unique, record: Entity | None) -> str | None:
    return getattr(record, unique.expires_at_field) if unique.expires_at_field and record else None


def guard_key(unique: Unique, record: Entity | Mapping[str, Any] | _Values) -> ItemKey:
    """Return the key of the item that reserves a record's unique value."""
    values = _Values(record, {}) if isinstance(record, Entity) else record
    return f"U#{unique.namespace.format_map(values)}#{unique.key.format_map(values)}", "#"


def _reservation_write(key: ItemKey, unique: Unique, record: Entity, timestamp: str) -> Write:
    expires_at = _reservation_expires_at(unique, record)
    # TTLs are whole seconds, rounded up so that the item is not removed early. `until` decides when it expires.
    expiry_attributes = {"until": expires_at, "ttl": math.ceil(timestamp_ms(expires_at) / 1000)} if expires_at else {}
    record_ref = getattr(record, unique.ref_field)
    projected = {name: value for name in unique.projected_fields if (value := getattr(record, name)) is not None}
    return Write(
        "Put",
        key,
        item={"pk": key[0], "sk": key[1], "ref": record_ref, **projected, **expiry_attributes},
        condition="attribute_not_exists(#pk) OR #until <= :timestamp OR #ttl <= :now OR #ref = :me",
        names=["pk", "until", "ttl", "ref"],
        values={"timestamp": timestamp, "now": int(time.time()), "me": record_ref},
    )


def _release_write(key: ItemKey, unique: Unique, record: Entity, days: int, timestamp: str) -> Write:
    record_ref = getattr(record, unique.ref_field)
    is_own_or_missing = "attribute_not_exists(#ref) OR #ref = :me"
    if not days:
        return Write("Delete", key, condition=is_own_or_missing, names=["ref"], values={"me": record_ref})
    ttl = int(time.time()) + days * 86_400
    alias = ItemUpdate(key, set={"alias": True, "ttl": ttl, "since": timestamp, "ref": record_ref})
    return alias.to_write(is_own_or_missing, me=record_ref)
