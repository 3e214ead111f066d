"""Changes: the unit of work. A handler says what becomes of records; one transaction makes it so, or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import after, backoff_seconds
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.permissions.access_epochs import Epoch, Subject
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions import unique_items
from chalicelib.kernel.transactions.quota_counters import Counts, count_change, counter_write
from chalicelib.kernel.transactions.record_writes import derived_item_writes, unchanged_condition, update_write

R = TypeVar("R", bound=Entity)
P = TypeVar("P", bound=Container)


_MAX_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.02


@dataclass
class _PendingWrite:
    before: Entity | None
    now: Entity | None
    on_conflict: Problem | None = None
    replaces_expired: bool = False
    unconditional: bool = False
    unguarded: frozenset[str] = frozenset()
    ended: bool = False


@dataclass
class UnitOfWork:
    """What is to become of records. Nothing happens before `commit`.

    `chains`: those of the log that were read with what decides access.
    """

    now: str
    event: str | None = None
    chains: Chains | None = None
    _records: dict[ItemKey, _PendingWrite] = field(default_factory=dict)
    _extra_writes: list[tuple[Write, Problem | None]] = field(default_factory=list)
    _checks: dict[ItemKey, Entity] = field(default_factory=dict)
    _epochs: dict[Subject, Epoch] = field(default_factory=dict)
    _event_subject: ItemKey | None = None
    _diff_base: Entity | None = None
    _whole: tuple[RecordSet, RecordSet] | None = None
    starts: list[tuple[str, ItemKey]] = field(default_factory=list)
    """Tasks to be started after the commit, and the records they are about."""

    def create(self, record: R, *, on_conflict: Problem | None = None) -> R:
        """Put a new record. `refusal` answers if one with its key exists; without it the work is done again."""
        self._begin(record, _PendingWrite(None, record, on_conflict))
        self._event_subject = self._event_subject or record.item_key
        return record

    def update(self, record: R, **changed: Any) -> R:
        """Change fields of a record; what changes nothing is not written. Returns the record as it will be.

        A second update of one record takes what the first returned.
        """
        change = self._change(record)
        if all(json_equal(getattr(record, name), value) for name, value in changed.items()):
            return record
        self._event_subject = self._event_subject or record.item_key
        return self._renew(change, record, changed)

    def replace_set(
        self,
        place: Container,
        present: Sequence[R],
        wanted: Sequence[R],
        whole: Callable[[Container, Sequence[R]], RecordSet],
    ) -> list[R]:
        """Let a set of a place's records, which holds the `present` ones, hold the `wanted` ones, and return them.

        They come in the order in which they were made. What is wanted where a record is present changes that. The entry
        is about the `whole` of them.
        """
        left = {record.item_key: record for record in present}
        kept = [self._put(record, left.pop(record.item_key, None)) for record in wanted]
        kept.sort(key=lambda record: record.id)
        for record in left.values():
            self.delete(record)
        if not self.is_empty:
            self.set_event_diff(whole(place, present), whole(self.touch_if_changed(place), kept))
        return kept

    def set_event_diff(self, before: RecordSet, now: RecordSet) -> None:
        """Let the entry be about a set of records: how it was, and how it is now."""
        self._whole = before, now

    def touch_if_changed(self, place: P) -> P:
        """Let a place have another version if anything changes: one of its sets does. So no two change it at once."""
        return place if self.is_empty else self._renew(self._change(place), place, {})

    def bump_version(self, record: R, **changed: Any) -> R:
        """Change a record without an entry about it, be it only that it has another version."""
        return self._renew(self._change(record), record, changed)

    def replace(self, ended: Entity, record: R) -> R:
        """Put a new record in the place of one that holds no longer."""
        self._begin(record, _PendingWrite(ended, record, replaces_expired=True))
        self._event_subject = self._event_subject or record.item_key
        return record

    def upsert(self, record: Entity) -> None:
        """Put a record of what only the service itself knows, whatever stands in its place."""
        self._begin(record, _PendingWrite(None, record, unconditional=True))

    def update_untracked(self, record: R, **changed: Any) -> R:
        """Change what only the service itself knows of a record: no version, no entry. Returns it as it will be."""
        if all(json_equal(getattr(record, name), value) for name, value in changed.items()):
            return record
        settled = replace(record, **changed)
        self._begin(record, _PendingWrite(record, settled))
        return settled

    def mark(self, record: R, **changed: Any) -> R:
        """Settle fields whatever others settled them to meanwhile, so that those who mark a record don't contend.

        Who guards a record by these fields sees each mark, though: a mark is a value that no other one has.
        """
        marked = replace(record, **changed)
        self._begin(record, _PendingWrite(record, marked, unguarded=frozenset(changed)))
        return marked

    def delete(self, record: Entity, *, ended: bool = False) -> None:
        """Remove a record, and what its uniqueness held. `ended`: it gave nobody any right any more."""
        self._begin(record, _PendingWrite(record, None, ended=ended))
        self._event_subject = self._event_subject or record.item_key

    def set_event_subject(self, record: Entity) -> None:
        """Let there be an entry about a record that callers see no change of, be it the only thing that is written."""
        self._records.setdefault(record.item_key, _PendingWrite(record, record))
        self._event_subject = self._event_subject or record.item_key

    def set_diff_base(self, told: Entity) -> None:
        """Let the entry say what changed since one before it told of the record like this; else since it was read.

        For what the service itself changed meanwhile without an entry, and for what a record shows by the clock.
        """
        self._diff_base = told

    def enqueue_after_commit(self, task: str, record: Entity) -> None:
        """Let a task begin once the changes are committed. The record's due mark starts it if its message is lost."""
        self.starts.append((task, record.item_key))

    def _change(self, record: Entity) -> _PendingWrite:
        change = self._records.setdefault(record.item_key, _PendingWrite(record, record))
        if not isinstance(change.now, type(record)) or change.now is not record:
            raise ValueError(f"{record.kind} {record.id} was changed from another state")
        return change

    def _renew(self, change: _PendingWrite, record: R, changed: dict[str, Any]) -> R:
        if change.before is record:
            changed["updated_at"] = max(self.now, after(record.updated_at, seconds=0.001))
            changed["version"] = record.version + 1
        now = replace(record, **changed)
        former = unique_items.former_names(change.before, now, self.now) if change.before else {}
        change.now = now = replace(now, **former) if former else now
        return now

    def _put(self, record: R, present: R | None) -> R:
        return self.create(record) if present is None else self.update(present, **record.domain_fields)

    def _begin(self, record: Entity, change: _PendingWrite) -> None:
        if record.item_key in self._records:
            raise ValueError(f"{record.kind} {record.id} is changed already")
        self._records[record.item_key] = change

    def require_unchanged(self, record: Entity) -> None:
        """Let the transaction fail if the record changes before it."""
        self._checks[record.item_key] = record

    def fence(self, epoch: Epoch) -> None:
        """Let the transaction fail if an access epoch ends before it."""
        self._epochs[epoch.subject] = epoch

    @property
    def unfenced(self) -> set[str]:
        """The kinds of records that give access and change, with no regard to whether the epoch of everyone holds."""
        return access_epochs.unfenced_records([(c.before, c.now) for c in self._records.values()], self._epochs)

    @property
    def lowered(self) -> set[Subject]:
        """Whose access epochs end with it."""
        return access_epochs.lowered_subjects((c.before, c.now) for c in self._records.values() if not c.ended)

    def add_write(self, write: Write, on_conflict: Problem | None = None) -> None:
        """Add a write that is no record of its own: a pointer, a mark. `refusal` answers if its condition fails."""
        self._extra_writes.append((write, on_conflict))

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be written, not even an entry."""
        return (
            self._event_subject is None
            and not self._extra_writes
            and all(change.before is change.now for change in self._records.values())
        )

    @property
    def size(self) -> int:
        """How many writes it takes, beside those of the pipeline."""
        return len(self._writes()) + len(self._extra_writes)

    @property
    def event_subject(self) -> tuple[Entity | None, Entity | None]:
        """The record the entry is about, before, as told, and after; None where it didn't or doesn't exist."""
        if self._whole:
            return self._whole
        if self._event_subject is None:
            raise ValueError("nothing was changed")
        change = self._records[self._event_subject]
        before = None if change.replaces_expired else change.before
        return self._diff_base or before, change.now

    @property
    def effective_at(self) -> str:
        """When it happens: never before the last change of any record that changes."""
        moments = [change.now.updated_at for change in self._records.values() if change.now]
        removed = [after(c.before.updated_at, seconds=0.001) for c in self._records.values() if c.before and not c.now]
        return max([self.now, *moments, *removed])

    def commit(self, idempotency_write: Write | None = None, event: Event | None = None) -> None:
        """Make it so, in one transaction, with the pipeline's own `first` and the entry of an event.

        Raises Problem if a value is taken or a limit reached, ConcurrentModification if a record changed meanwhile,
        and Taken if the condition of `first` failed.
        """
        if any(epoch.closing > self.now for epoch in self._epochs.values()) and not self.lowered:
            raise ConcurrentModification  # It would fail, and stand in the way.
        closed = False
        for attempt in range(_MAX_TRIES):
            try:
                return self._write(idempotency_write, event)
            except TransactionCancelled as cancelled:
                if cancelled.contended and attempt and not closed:
                    access_epochs.close_epochs(
                        self.lowered
                    )  # What lowers rights comes before what leaves access behind.
                    closed = True
                backoff_seconds(attempt, first=_PAUSE_SECONDS)
        raise ConcurrentModification

    def _write(self, idempotency_write: Write | None, event: Event | None) -> None:
        """Try it once. Raises what `commit` does, and Cancelled if only another transaction was in the way."""
        planned: list[tuple[Write, Problem | None]] = [(idempotency_write, None)] if idempotency_write else []
        planned += [*self._writes(), *self._extra_writes]
        entry = event.writes(self._chains) if event else []
        planned += [(write, None) for write in entry]
        try:
            table.write_transaction([write for write, _ in planned])
        except TransactionCancelled as cancelled:
            if entry and _is_there(cancelled, len(planned) - len(entry)):
                return  # The answer of an earlier try was lost: it is this very change that stands in its own way.
            failed = {*cancelled.failed} - ({self._turn_chain(cancelled, len(planned) - 1)} if entry else set())
            if not failed:
                raise
            if idempotency_write and 0 in failed:
                raise IdempotencyKeyConflict(cancelled.failed[0]) from cancelled
            refusals = [planned[position][1] for position in sorted(failed)]
            # What was decided on what is not so any more refuses nothing: it is decided again.
            final = all(refusals) and next(iter(refusals), None)
            raise final or ConcurrentModification() from cancelled

    def starts_log(self, log: str) -> bool:
        """Return whether an organization is created whose log it is: so nothing of the log is there."""
        changed = [change.now for change in self._records.values() if change.before is None]
        return any(isinstance(now, Container) and now.parent_type is None and now.log == log for now in changed)

    @property
    def _chains(self) -> Chains:
        if self.chains is None:
            raise ValueError("an entry is in one of its log's chains: these were not read")
        return self.chains

    def _turn_chain(self, cancelled: TransactionCancelled, position: int) -> int:
        """Let the next try extend another chain; return the position of the one that this try was to extend."""
        self._chains.retry(*([cancelled.failed[position]] if position in cancelled.failed else []))
        return position

    def _writes(self) -> list[tuple[Write, Problem | None]]:
        writes: list[tuple[Write, Problem | None]] = []
        counts: Counts = {}
        for change in self._records.values():
            if change.before is change.now:
                continue
            writes.append((_write(change), change.on_conflict))
            writes += unique_items.unique_item_writes(change.before, change.now, self.now)
            count_change(change.before, change.now, counts)
            writes += [(write, None) for write in derived_item_writes(change.before, change.now)]
        writes += [counter_write(limit, pk, delta) for (limit, pk), delta in counts.items() if delta]
        writes += [
            (unchanged_condition("ConditionCheck", r), None) for key, r in self._checks.items() if self._unwritten(key)
        ]
        writes += [(write, None) for write in access_epochs.epoch_writes(self._epochs, self.lowered)]
        return _handed_over(writes)

    def _unwritten(self, key: ItemKey) -> bool:
        change = self._records.get(key)
        return change is None or change.before is change.now


@dataclass
class IdempotencyKeyConflict(Exception):
    """Another request holds the item that the transaction wanted to put first."""

    item: Item | None


def _is_there(cancelled: TransactionCancelled, position: int) -> bool:
    return cancelled.failed.get(position) is not None


def _write(change: _PendingWrite) -> Write:
    before, now = change.before, change.now
    if before is None and now is not None:
        return Write("Put", now.item_key, item=now.item()) if change.unconditional else writes.put_new(now.item())
    if before is not None and now is None:
        return unchanged_condition("Delete", before)
    assert before is not None and now is not None  # noqa: S101, PT018 - `_writes` left out what is neither
    return update_write(before, now, change.unguarded)


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
