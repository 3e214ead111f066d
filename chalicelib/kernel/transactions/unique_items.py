"""Guards: the items that stand for unique values, so that no two records have one; and for former ones, for a while."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.core.clock import after, milliseconds
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, Key
from chalicelib.kernel.storage.key_templates import names_in
from chalicelib.kernel.storage.table import Write
from chalicelib.kernel.storage.unique_values import MAX_FORMER_NAMES, NAMES_HELD_DAYS, FormerName, Unique


@dataclass(frozen=True)
class _Values:
    """What a record says of itself, by name: its fields, and what follows from them; or others in their place."""

    record: Entity
    others: Mapping[str, str]

    def __getitem__(self, name: str) -> Any:
        return self.others[name] if name in self.others else getattr(self.record, name)


def writes(before: Entity | None, now: Entity | None, moment: str) -> Iterator[tuple[Write, Problem | None]]:
    """Yield what becomes of the guards of a record that changes, comes or goes, each with who is refused by it."""
    record = now or before
    for unique in type(record).uniques.values() if record else ():
        old = guard_key(unique, before) if before and _held(unique, before, moment) else None
        new = guard_key(unique, now) if now and _held(unique, now, moment) else None
        if new and now and (new != old or _lapse(unique, now) != _lapse(unique, before)):
            yield _take(new, unique, now, moment), _taken(unique, now) if unique.taken else None
        if old and new != old and before:
            days = NAMES_HELD_DAYS if unique.former and (now or unique.served(before)) else 0
            yield _release(old, unique, before, days, moment), None
        if unique.former and before:
            for name in _let_go(unique, before, now, moment):
                key = guard_key(unique, _Values(before, {_name_of(unique): name}))
                yield _release(key, unique, before, 0, moment), None


def referred(guard: Item | None) -> str | None:
    """Return what a guard leads to, by its present value or a former one; None if there is none that still does."""
    return None if guard is None or table.expired(guard) else str(guard["ref"])


def former_names(before: Entity, now: Entity, moment: str) -> dict[str, Any]:
    """Return the fields that list the former names of a record that changes, where it has another name now."""
    return {
        unique.former: _former(unique, before, getattr(now, _name_of(unique)), moment)
        for unique in type(now).uniques.values()
        if unique.former and getattr(before, _name_of(unique)) != getattr(now, _name_of(unique))
    }


def _former(unique: Unique, before: Entity, name: str | None, moment: str) -> list[FormerName]:
    """Return the former names of a record that is called otherwise now, or nothing any more: the oldest goes first."""
    present = getattr(before, _name_of(unique))
    kept = [each for each in _live(unique, before, moment) if each["name"] not in (name, present)]
    ended: FormerName = {"name": present, "until": after(moment, days=NAMES_HELD_DAYS)}
    return [*kept, ended][-MAX_FORMER_NAMES:]


def _let_go(unique: Unique, before: Entity, now: Entity | None, moment: str) -> list[str]:
    """Return the former names of a record that are held no longer, because there are newer ones."""
    if now:
        stay = {each["name"] for each in getattr(now, unique.former)} | {getattr(now, _name_of(unique))}
    elif unique.served(before):
        stay = {each["name"] for each in _former(unique, before, None, moment)}
    else:
        return []
    return [each["name"] for each in _live(unique, before, moment) if each["name"] not in stay]


def _live(unique: Unique, record: Entity, moment: str) -> list[FormerName]:
    return [each for each in getattr(record, unique.former) if each["until"] > moment]


def _name_of(unique: Unique) -> str:
    """Return the field that holds the value."""
    return names_in(unique.value)[0]


def _held(unique: Unique, record: Entity, now: str) -> bool:
    # What has lapsed may be another's by now.
    return unique.holds(record) and not (unique.lapses and getattr(record, unique.lapses) <= now)


def _lapse(unique: Unique, record: Entity | None) -> str | None:
    return getattr(record, unique.lapses) if unique.lapses and record else None


def guard_key(unique: Unique, record: Entity | Mapping[str, Any] | _Values) -> Key:
    """Return where the guard of a record's unique value stands."""
    values = _Values(record, {}) if isinstance(record, Entity) else record
    return f"U#{unique.space.format_map(values)}#{unique.value.format_map(values)}", "#"


def _take(key: Key, unique: Unique, record: Entity, now: str) -> Write:
    lapse = _lapse(unique, record)
    # The table counts whole seconds: it must not remove the guard before its moment, nor may that wait for it.
    until = {"until": lapse, "ttl": math.ceil(milliseconds(lapse) / 1000)} if lapse else {}
    me = getattr(record, unique.refers)
    told = {name: value for name in unique.tells if (value := getattr(record, name)) is not None}
    return Write(
        "Put", key, item={"pk": key[0], "sk": key[1], "ref": me, **told, **until},
        condition="attribute_not_exists(#pk) OR #until <= :moment OR #ttl <= :now OR #ref = :me",
        names=["pk", "until", "ttl", "ref"], values={"moment": now, "now": int(time.time()), "me": me},
    )  # fmt: skip


def _release(key: Key, unique: Unique, record: Entity, days: int, now: str) -> Write:
    me = getattr(record, unique.refers)
    mine_or_gone = "attribute_not_exists(#ref) OR #ref = :me"
    if not days:
        return Write("Delete", key, condition=mine_or_gone, names=["ref"], values={"me": me})
    return Write(
        "Update", key, update="SET #alias = :true, #ttl = :ttl, #since = :now, #ref = :me",
        condition=mine_or_gone,
        names=["alias", "ttl", "since", "ref"],
        values={"true": True, "ttl": int(time.time()) + days * 86_400, "now": now, "me": me},
    )  # fmt: skip


def _taken(unique: Unique, record: Entity) -> Problem:
    value = unique.value.format_map(_Values(record, {}))
    detail = f"Another {record.noun} has the {unique.field} {value!r}. {unique.advice}"
    return Problem.at(f"/{unique.field}", unique.taken, detail)
