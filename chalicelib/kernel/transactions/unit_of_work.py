"""Changes: the unit of work. A handler says what becomes of records; one transaction makes it so, or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import after, pause
from chalicelib.kernel.core.json_equality import same
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.permissions.access_epochs import Epoch, Subject
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity, Item, Key, Place
from chalicelib.kernel.storage.record_sets import Whole
from chalicelib.kernel.storage.table import Cancelled, Write
from chalicelib.kernel.transactions import unique_items
from chalicelib.kernel.transactions.quota_counters import Counts, count, counter
from chalicelib.kernel.transactions.record_writes import companions, if_unchanged, update

R = TypeVar("R", bound=Entity)
P = TypeVar("P", bound=Place)


_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.02


@dataclass
class _Change:
    before: Entity | None
    now: Entity | None
    refusal: Problem | None = None
    afresh: bool = False
    over: bool = False
    unguarded: frozenset[str] = frozenset()
    ended: bool = False


@dataclass
class Changes:
    """What is to become of records. Nothing happens before `commit`.

    `chains`: those of the log that were read with what decides access.
    """

    now: str
    event: str | None = None
    chains: Chains | None = None
    _records: dict[Key, _Change] = field(default_factory=dict)
    _kept: list[tuple[Write, Problem | None]] = field(default_factory=list)
    _checks: dict[Key, Entity] = field(default_factory=dict)
    _epochs: dict[Subject, Epoch] = field(default_factory=dict)
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

    def mark(self, record: R, **changed: Any) -> R:
        """Settle fields whatever others settled them to meanwhile, so that those who mark a record don't contend.

        Who guards a record by these fields sees each mark, though: a mark is a value that no other one has.
        """
        marked = replace(record, **changed)
        self._begin(record, _Change(record, marked, unguarded=frozenset(changed)))
        return marked

    def delete(self, record: Entity, *, ended: bool = False) -> None:
        """Remove a record, and what its uniqueness held. `ended`: it gave nobody any right any more."""
        self._begin(record, _Change(record, None, ended=ended))
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
        now = replace(record, **changed)
        former = unique_items.former_names(change.before, now, self.now) if change.before else {}
        change.now = now = replace(now, **former) if former else now
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

    def fence(self, epoch: Epoch) -> None:
        """Let the transaction fail if an access epoch ends before it."""
        self._epochs[epoch.subject] = epoch

    @property
    def unfenced(self) -> set[str]:
        """The kinds of records that give access and change, with no regard to whether the epoch of everyone holds."""
        return access_epochs.unfenced([(c.before, c.now) for c in self._records.values()], self._epochs)

    @property
    def lowered(self) -> set[Subject]:
        """Whose access epochs end with it."""
        return access_epochs.all_lowered((c.before, c.now) for c in self._records.values() if not c.ended)

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

    def commit(self, first: Write | None = None, event: Event | None = None) -> None:
        """Make it so, in one transaction, with the pipeline's own `first` and the entry of an event.

        Raises Problem if a value is taken or a limit reached, ConcurrentModification if a record changed meanwhile,
        and Taken if the condition of `first` failed.
        """
        if any(epoch.closing > self.now for epoch in self._epochs.values()) and not self.lowered:
            raise ConcurrentModification  # It would fail, and stand in the way.
        closed = False
        for attempt in range(_TRIES):
            try:
                return self._write(first, event)
            except Cancelled as cancelled:
                if cancelled.contended and attempt and not closed:
                    access_epochs.close(self.lowered)  # What lowers rights comes before what leaves access behind.
                    closed = True
                pause(attempt, first=_PAUSE_SECONDS)
        raise ConcurrentModification

    def _write(self, first: Write | None, event: Event | None) -> None:
        """Try it once. Raises what `commit` does, and Cancelled if only another transaction was in the way."""
        planned: list[tuple[Write, Problem | None]] = [(first, None)] if first else []
        planned += [*self._writes(), *self._kept]
        entry = event.writes(self._chains) if event else []
        planned += [(write, None) for write in entry]
        try:
            table.write([write for write, _ in planned])
        except Cancelled as cancelled:
            if entry and _is_there(cancelled, len(planned) - len(entry)):
                return  # The answer of an earlier try was lost: it is this very change that stands in its own way.
            failed = {*cancelled.failed} - ({self._turn_chain(cancelled, len(planned) - 1)} if entry else set())
            if not failed:
                raise
            if first and 0 in failed:
                raise Taken(cancelled.failed[0]) from cancelled
            refusals = [planned[position][1] for position in sorted(failed)]
            # What was decided on what is not so any more refuses nothing: it is decided again.
            final = all(refusals) and next(iter(refusals), None)
            raise final or ConcurrentModification() from cancelled

    def begins(self, log: str) -> bool:
        """Return whether an organization is created whose log it is: so nothing of the log is there."""
        changed = [change.now for change in self._records.values() if change.before is None]
        return any(isinstance(now, Place) and now.within is None and now.log == log for now in changed)

    @property
    def _chains(self) -> Chains:
        if self.chains is None:
            raise ValueError("an entry is in one of its log's chains: these were not read")
        return self.chains

    def _turn_chain(self, cancelled: Cancelled, position: int) -> int:
        """Let the next try extend another chain; return the position of the one that this try was to extend."""
        self._chains.retry(*([cancelled.failed[position]] if position in cancelled.failed else []))
        return position

    def _writes(self) -> list[tuple[Write, Problem | None]]:
        writes: list[tuple[Write, Problem | None]] = []
        counts: Counts = {}
        for change in self._records.values():
            if change.before is change.now:
                continue
            writes.append((_write(change), change.refusal))
            writes += unique_items.writes(change.before, change.now, self.now)
            count(change.before, change.now, counts)
            writes += [(write, None) for write in companions(change.before, change.now)]
        writes += [counter(limit, pk, delta) for (limit, pk), delta in counts.items() if delta]
        writes += [(if_unchanged("ConditionCheck", r), None) for key, r in self._checks.items() if self._unwritten(key)]
        writes += [(write, None) for write in access_epochs.writes(self._epochs, self.lowered)]
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
        return if_unchanged("Delete", before)
    assert before is not None and now is not None  # noqa: S101, PT018 - `_writes` left out what is neither
    return update(before, now, change.unguarded)


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
