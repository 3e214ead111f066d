"""Changes: the unit of work. A handler says what becomes of records; one transaction makes it so, or nothing."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from chalicelib.kernel import table
from chalicelib.kernel.clock import after, milliseconds
from chalicelib.kernel.entity import Entity, Item, Key, Limit, Place, Unique
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.sameness import same
from chalicelib.kernel.sets import Whole
from chalicelib.kernel.table import Cancelled, Write

R = TypeVar("R", bound=Entity)
P = TypeVar("P", bound=Place)


class Contended(Exception):
    """Someone else changed what was read; load it and decide again."""


@dataclass
class _Change:
    before: Entity | None
    now: Entity | None
    refusal: Problem | None = None
    afresh: bool = False
    over: bool = False


@dataclass
class Changes:
    """What is to become of records. Nothing happens before `commit`."""

    now: str
    event: str | None = None
    _records: dict[Key, _Change] = field(default_factory=dict)
    _kept: list[tuple[Write, Problem | None]] = field(default_factory=list)
    _checks: dict[Key, Entity] = field(default_factory=dict)
    _target: Key | None = None
    _told: Entity | None = None
    _whole: tuple[Whole, Whole] | None = None
    starts: list[tuple[str, Key]] = field(default_factory=list)
    """Tasks to be started after the commit, and the records they are about."""

    def create(self, record: R, *, refusal: Problem | None = None) -> R:
        """Put a new record. `refusal` answers if one with its key exists; without it the work is done again."""
        self._begin(record, _Change(None, record, refusal))
        self._target = self._target or record.stored_at
        return record

    def update(self, record: R, **changed: Any) -> R:
        """Change fields of a record; what changes nothing is not written. Returns the record as it will be.

        A second update of one record takes what the first returned.
        """
        change = self._change(record)
        if all(same(getattr(record, name), value) for name, value in changed.items()):
            return record
        self._target = self._target or record.stored_at
        return self._renew(change, record, changed)

    def replace(
        self, place: Place, present: Sequence[R], wanted: Sequence[R], whole: Callable[[Place, Sequence[R]], Whole]
    ) -> list[R]:
        """Let a set of a place's records, which holds the `present` ones, hold the `wanted` ones, and return them.

        They come in the order in which they were made. What is wanted where a record is present changes that. The entry
        is about the `whole` of them.
        """
        left = {record.stored_at: record for record in present}
        kept = [self._put(record, left.pop(record.stored_at, None)) for record in wanted]
        kept.sort(key=lambda record: record.id)
        for record in left.values():
            self.delete(record)
        if not self.empty:
            self.tell(whole(place, present), whole(self.touch(place), kept))
        return kept

    def tell(self, before: Whole, now: Whole) -> None:
        """Let the entry be about a set of records: how it was, and how it is now."""
        self._whole = before, now

    def touch(self, place: P) -> P:
        """Let a place have another version if anything changes: one of its sets does. So no two change it at once."""
        return place if self.empty else self._renew(self._change(place), place, {})

    def advance(self, record: R, **changed: Any) -> R:
        """Change a record without an entry about it, be it only that it has another version."""
        return self._renew(self._change(record), record, changed)

    def supersede(self, ended: Entity, record: R) -> R:
        """Put a new record in the place of one that holds no longer."""
        self._begin(record, _Change(ended, record, afresh=True))
        self._target = self._target or record.stored_at
        return record

    def put(self, record: Entity) -> None:
        """Put a record of what only the service itself knows, whatever stands in its place."""
        self._begin(record, _Change(None, record, over=True))

    def settle(self, record: R, **changed: Any) -> R:
        """Change what only the service itself knows of a record: no version, no entry. Returns it as it will be."""
        if all(same(getattr(record, name), value) for name, value in changed.items()):
            return record
        settled = replace(record, **changed)
        self._begin(record, _Change(record, settled))
        return settled

    def delete(self, record: Entity) -> None:
        """Remove a record, and what its uniqueness held."""
        self._begin(record, _Change(record, None))
        self._target = self._target or record.stored_at

    def about(self, record: Entity) -> None:
        """Let there be an entry about a record that callers see no change of, be it the only thing that is written."""
        self._records.setdefault(record.stored_at, _Change(record, record))
        self._target = self._target or record.stored_at

    def since(self, told: Entity) -> None:
        """Let the entry say what changed since one before it told of the record like this; else since it was read.

        For what the service itself changed meanwhile without an entry, and for what a record shows by the clock.
        """
        self._told = told

    def start(self, task: str, record: Entity) -> None:
        """Let a task begin once the changes are committed. The record's due mark starts it if its message is lost."""
        self.starts.append((task, record.stored_at))

    def _change(self, record: Entity) -> _Change:
        change = self._records.setdefault(record.stored_at, _Change(record, record))
        if not isinstance(change.now, type(record)) or change.now is not record:
            raise ValueError(f"{record.kind} {record.id} was changed from another state")
        return change

    def _renew(self, change: _Change, record: R, changed: dict[str, Any]) -> R:
        if change.before is record:
            changed["updated_at"] = max(self.now, after(record.updated_at, seconds=0.001))
            changed["version"] = record.version + 1
        change.now = now = replace(record, **changed)
        return now

    def _put(self, record: R, present: R | None) -> R:
        return self.create(record) if present is None else self.update(present, **record.said)

    def _begin(self, record: Entity, change: _Change) -> None:
        if record.stored_at in self._records:
            raise ValueError(f"{record.kind} {record.id} is changed already")
        self._records[record.stored_at] = change

    def require(self, record: Entity) -> None:
        """Let the transaction fail if the record changes before it."""
        self._checks[record.stored_at] = record

    def also(self, write: Write, refusal: Problem | None = None) -> None:
        """Add a write that is no record of its own: a pointer, a mark. `refusal` answers if its condition fails."""
        self._kept.append((write, refusal))

    @property
    def empty(self) -> bool:
        """Whether nothing would be written, not even an entry."""
        return (
            self._target is None
            and not self._kept
            and all(change.before is change.now for change in self._records.values())
        )

    @property
    def size(self) -> int:
        """How many writes it takes, beside those of the pipeline."""
        return len(self._writes()) + len(self._kept)

    @property
    def target(self) -> tuple[Entity | None, Entity | None]:
        """The record the entry is about, before, as told, and after; None where it didn't or doesn't exist."""
        if self._whole:
            return self._whole
        if self._target is None:
            raise ValueError("nothing was changed")
        change = self._records[self._target]
        before = None if change.afresh else change.before
        return self._told or before, change.now

    @property
    def moment(self) -> str:
        """When it happens: never before the last change of any record that changes."""
        moments = [change.now.updated_at for change in self._records.values() if change.now]
        removed = [after(c.before.updated_at, seconds=0.001) for c in self._records.values() if c.before and not c.now]
        return max([self.now, *moments, *removed])

    def commit(self, first: Write | None = None, then: list[Item] | None = None) -> None:
        """Make it so, in one transaction; `first` and `then` (new items) are the pipeline's own.

        Raises Problem if a value is taken or a limit reached, Contended if a record changed meanwhile, and Taken if
        the condition of `first` failed.
        """
        planned: list[tuple[Write, Problem | None]] = [(first, None)] if first else []
        planned += [*self._writes(), *self._kept]
        planned += [(table.put_new(item), None) for item in then or []]
        try:
            table.write([write for write, _ in planned])
        except Cancelled as cancelled:
            if then and _is_there(cancelled, len(planned) - len(then)):
                return  # The answer of an earlier try was lost: it is this very change that stands in its own way.
            if first and 0 in cancelled.failed:
                raise Taken(cancelled.failed[0]) from cancelled
            refusals = [planned[position][1] for position in sorted(cancelled.failed)]
            # What was decided on what is not so any more refuses nothing: it is decided again.
            final = all(refusals) and next(iter(refusals), None)
            raise final or Contended() from cancelled

    def _writes(self) -> list[tuple[Write, Problem | None]]:
        writes: list[tuple[Write, Problem | None]] = []
        counts: dict[tuple[Limit, str], int] = {}
        for change in self._records.values():
            if change.before is change.now:
                continue
            writes.append((_write(change), change.refusal))
            writes += _guards(change, self.now)
            _count(change, counts)
            writes += [(write, None) for write in _companions(change)]
        writes += [_counter(limit, pk, delta) for (limit, pk), delta in counts.items() if delta]
        writes += [
            (_if_unchanged("ConditionCheck", r), None) for key, r in self._checks.items() if self._unwritten(key)
        ]
        return _handed_over(writes)

    def _unwritten(self, key: Key) -> bool:
        change = self._records.get(key)
        return change is None or change.before is change.now


@dataclass
class Taken(Exception):
    """Another request holds the item that the transaction wanted to put first."""

    item: Item | None


def _is_there(cancelled: Cancelled, position: int) -> bool:
    return cancelled.failed.get(position) is not None


def _write(change: _Change) -> Write:
    before, now = change.before, change.now
    if before is None and now is not None:
        return Write("Put", now.stored_at, item=now.item()) if change.over else table.put_new(now.item())
    if before is not None and now is None:
        return _if_unchanged("Delete", before)
    assert before is not None and now is not None  # noqa: S101, PT018 - `_writes` left out what is neither
    return _update(before, now)


def _update(before: Entity, now: Entity) -> Write:
    old, new = before.as_read, now.item()
    changed = {name: value for name, value in new.items() if name not in old or not same(old[name], value)}
    gone = [name for name in old if name not in new]
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in changed) if changed else ""
    update += " REMOVE " + ", ".join(f"#{name}" for name in gone) if gone else ""
    condition, was = _as_read(before)
    names = dict.fromkeys([*changed, *gone, *_guarding(before)])
    return Write("Update", now.stored_at, update=update, condition=condition, names=list(names),
                 values={**changed, **was})  # fmt: skip


def _if_unchanged(kind: Literal["Delete", "ConditionCheck"], record: Entity) -> Write:
    condition, was = _as_read(record)
    return Write(kind, record.stored_at, condition=condition, names=list(_guarding(record)), values=was)


def _guarding(record: Entity) -> dict[str, Any]:
    """Return what has to be in the table as it was read; of an older shape that it is in that still."""
    if record.older is None:
        return {name: getattr(record, name) for name in record.guarded_by}
    return {name: record.older.get(name) for name in (*record.guarded_by, "shape")}


def _as_read(record: Entity) -> tuple[str, dict[str, Any]]:
    was = _guarding(record)
    terms = [f"attribute_not_exists(#{n})" if v is None else f"#{n} = :was_{n}" for n, v in was.items()]
    return " AND ".join(terms), {f"was_{name}": value for name, value in was.items() if value is not None}


def _companions(change: _Change) -> list[Write]:
    old = {(item["pk"], item["sk"]): item for item in change.before.companions} if change.before else {}
    new = {(item["pk"], item["sk"]): item for item in change.now.companions} if change.now else {}
    puts = [Write("Put", key, item=item) for key, item in new.items() if old.get(key) != item]
    return puts + [Write("Delete", key) for key in old if key not in new]


def _guards(change: _Change, now: str) -> list[tuple[Write, Problem | None]]:
    record = change.now or change.before
    writes: list[tuple[Write, Problem | None]] = []
    for unique in type(record).uniques.values() if record else ():
        old = guard_key(unique, change.before) if change.before and _held(unique, change.before, now) else None
        new = guard_key(unique, change.now) if change.now and _held(unique, change.now, now) else None
        if new and change.now and (new != old or _lapse(unique, change.now) != _lapse(unique, change.before)):
            refusal = _taken(unique, change.now) if unique.taken else None
            writes.append((_take(new, unique, change.now, now), refusal))
        if old and new != old and change.before:
            writes.append((_release(old, unique, change.before, unique.alias_days if change.now else 0, now), None))
    return writes


def _handed_over(writes: list[tuple[Write, Problem | None]]) -> list[tuple[Write, Problem | None]]:
    """Let what one record gives up and another takes pass from hand to hand: a transaction writes no item twice."""
    given_up = {write.key: write for write, _ in writes if write.kind == "Delete"}
    passed = {write.key for write, _ in writes if write.kind == "Put" and write.key in given_up}
    if not passed:
        return writes
    kept = [(write, refusal) for write, refusal in writes if write.kind != "Delete" or write.key not in passed]
    return [
        (replace(given_up[write.key], kind="Put", item=write.item), refusal)
        if write.kind == "Put" and write.key in passed
        else (write, refusal)
        for write, refusal in kept
    ]


def _held(unique: Unique, record: Entity, now: str) -> bool:
    # What has lapsed may be another's by now.
    return unique.holds(record) and not (unique.lapses and getattr(record, unique.lapses) <= now)


def _lapse(unique: Unique, record: Entity | None) -> str | None:
    return getattr(record, unique.lapses) if unique.lapses and record else None


def guard_key(unique: Unique, record: Entity | Mapping[str, Any]) -> Key:
    """Return where the guard of a record's unique value stands."""
    values = record if isinstance(record, Mapping) else _Values(record)
    return f"U#{unique.space.format_map(values)}#{unique.value.format_map(values)}", "#"


@dataclass(frozen=True)
class _Values:
    """What a record says of itself, by name: its fields, and what follows from them."""

    record: Entity

    def __getitem__(self, name: str) -> Any:
        return getattr(self.record, name)


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


def _release(key: Key, unique: Unique, record: Entity, alias_days: int, now: str) -> Write:
    me = getattr(record, unique.refers)
    if not alias_days:
        mine_or_gone = "attribute_not_exists(#ref) OR #ref = :me"
        return Write("Delete", key, condition=mine_or_gone, names=["ref"], values={"me": me})
    return Write(
        "Update", key, update="SET #alias = :true, #ttl = :ttl, #since = :now", condition="#ref = :me",
        names=["alias", "ttl", "since", "ref"],
        values={"true": True, "ttl": int(time.time()) + alias_days * 86_400, "now": now, "me": me},
    )  # fmt: skip


def _taken(unique: Unique, record: Entity) -> Problem:
    value = unique.value.format_map(_Values(record))
    detail = f"Another {record.noun} has the {unique.field} {value!r}. {unique.advice}"
    return Problem.at(f"/{unique.field}", unique.taken, detail)


def _count(change: _Change, counts: dict[tuple[Limit, str], int]) -> None:
    for record, delta in ((change.before, -1), (change.now, 1)):
        if record and (limit := record.limit) and limit.counts(record):
            key = (limit, limit.per.format_map(record.__dict__))
            counts[key] = counts.get(key, 0) + delta


def _counter(limit: Limit, pk: str, delta: int) -> tuple[Write, Problem | None]:
    update = "SET #n = if_not_exists(#n, :zero) + :delta"
    key = (pk, f"COUNT#{limit.noun}")
    if delta < 0:
        return Write("Update", key, update=update, names=["n"], values={"zero": 0, "delta": delta}), None
    refusal = Problem("limit_exceeded", f"At most {limit.most} {limit.noun} are allowed. {limit.advice}")
    write = Write(
        "Update", key, update=update, names=["n"],
        condition="#n <= :most" if delta > limit.most else "attribute_not_exists(#n) OR #n <= :most",
        values={"zero": 0, "delta": delta, "most": limit.most - delta},
    )  # fmt: skip
    return write, refusal
