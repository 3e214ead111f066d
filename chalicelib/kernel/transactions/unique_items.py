"""Guards: the items that stand for unique values, so that no two records have one; and for former ones, for a while."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.key_templates import fields_of
from chalicelib.kernel.storage.unique_values import FORMER_NAME_DAYS, MAX_FORMER_NAMES, FormerName, Unique
from chalicelib.kernel.storage.writes import ItemUpdate, Write


@dataclass(frozen=True)
class _Values:
    """What a record says of itself, by name: its fields, and what follows from them; or others in their place."""

    record: Entity
    others: Mapping[str, str]

    def __getitem__(self, name: str) -> Any:
        return self.others[name] if name in self.others else getattr(self.record, name)


def unique_item_writes(
    before: Entity | None, now: Entity | None, moment: str
) -> Iterator[tuple[Write, Problem | None]]:
    """Yield what becomes of the guards of a record that changes, comes or goes, each with who is refused by it."""
    record = now or before
    for unique in type(record).uniques.values() if record else ():
        old = guard_key(unique, before) if before and _needs_value(unique, before, moment) else None
        new = guard_key(unique, now) if now and _needs_value(unique, now, moment) else None
        if new and now and (new != old or _expiry(unique, now) != _expiry(unique, before)):
            yield _take(new, unique, now, moment), _conflict_problem(unique, now) if unique.error_code else None
        if old and new != old and before:
            days = (
                FORMER_NAME_DAYS if unique.former_values_field and (now or unique.keeps_value_on_delete(before)) else 0
            )
            yield _release(old, unique, before, days, moment), None
        if unique.former_values_field and before:
            for name in _release_former(unique, before, now, moment):
                key = guard_key(unique, _Values(before, {_name_of(unique): name}))
                yield _release(key, unique, before, 0, moment), None


def referenced_id(guard: Item | None) -> str | None:
    """Return what a guard leads to, by its present value or a former one; None if there is none that still does."""
    return None if guard is None or table.is_expired(guard) else str(guard["ref"])


def former_names(before: Entity, now: Entity, moment: str) -> dict[str, Any]:
    """Return the fields that list the former names of a record that changes, where it has another name now."""
    return {
        unique.former_values_field: _former(unique, before, getattr(now, _name_of(unique)), moment)
        for unique in type(now).uniques.values()
        if unique.former_values_field and getattr(before, _name_of(unique)) != getattr(now, _name_of(unique))
    }


def _former(unique: Unique, before: Entity, name: str | None, moment: str) -> list[FormerName]:
    """Return the former names of a record that is called otherwise now, or nothing any more: the oldest goes first."""
    present = getattr(before, _name_of(unique))
    kept = [each for each in _live(unique, before, moment) if each["name"] not in (name, present)]
    ended: FormerName = {"name": present, "until": after(moment, days=FORMER_NAME_DAYS)}
    return [*kept, ended][-MAX_FORMER_NAMES:]


def _release_former(unique: Unique, before: Entity, now: Entity | None, moment: str) -> list[str]:
    """Return the former names of a record that are held no longer, because there are newer ones."""
    if now:
        stay = {each["name"] for each in getattr(now, unique.former_values_field)} | {getattr(now, _name_of(unique))}
    elif unique.keeps_value_on_delete(before):
        stay = {each["name"] for each in _former(unique, before, None, moment)}
    else:
        return []
    return [each["name"] for each in _live(unique, before, moment) if each["name"] not in stay]


def _live(unique: Unique, record: Entity, moment: str) -> list[FormerName]:
    return [each for each in getattr(record, unique.former_values_field) if each["until"] > moment]


def _name_of(unique: Unique) -> str:
    """Return the field that holds the value."""
    return fields_of(unique.key)[0]


def _needs_value(unique: Unique, record: Entity, now: str) -> bool:
    # What has lapsed may be another's by now.
    return unique.applies_to(record) and not (
        unique.expires_at_field and getattr(record, unique.expires_at_field) <= now
    )


def _expiry(unique: Unique, record: Entity | None) -> str | None:
    return getattr(record, unique.expires_at_field) if unique.expires_at_field and record else None


def guard_key(unique: Unique, record: Entity | Mapping[str, Any] | _Values) -> ItemKey:
    """Return where the guard of a record's unique value stands."""
    values = _Values(record, {}) if isinstance(record, Entity) else record
    return f"U#{unique.namespace.format_map(values)}#{unique.key.format_map(values)}", "#"


def _take(key: ItemKey, unique: Unique, record: Entity, now: str) -> Write:
    lapse = _expiry(unique, record)
    # The table counts whole seconds: it must not remove the guard before its moment, nor may that wait for it.
    until = {"until": lapse, "ttl": math.ceil(timestamp_ms(lapse) / 1000)} if lapse else {}
    me = getattr(record, unique.ref_field)
    told = {name: value for name in unique.projected_fields if (value := getattr(record, name)) is not None}
    return Write(
        "Put",
        key,
        item={"pk": key[0], "sk": key[1], "ref": me, **told, **until},
        condition="attribute_not_exists(#pk) OR #until <= :moment OR #ttl <= :now OR #ref = :me",
        names=["pk", "until", "ttl", "ref"],
        values={"moment": now, "now": int(time.time()), "me": me},
    )


def _release(key: ItemKey, unique: Unique, record: Entity, days: int, now: str) -> Write:
    me = getattr(record, unique.ref_field)
    mine_or_gone = "attribute_not_exists(#ref) OR #ref = :me"
    if not days:
        return Write("Delete", key, condition=mine_or_gone, names=["ref"], values={"me": me})
    ttl = int(time.time()) + days * 86_400
    alias = ItemUpdate(key, set={"alias": True, "ttl": ttl, "since": now, "ref": me})
    return alias.write(mine_or_gone, me=me)


def _conflict_problem(unique: Unique, record: Entity) -> Problem:
    value = unique.key.format_map(_Values(record, {}))
    detail = f"Another {record.noun} has the {unique.field} {value!r}. {unique.advice}"
    return Problem.for_field(f"/{unique.field}", unique.error_code, detail)
