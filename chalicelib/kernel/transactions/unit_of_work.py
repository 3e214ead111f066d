"""The unit of work. A handler declares changes of records, and one transaction writes all of them or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from chalicelib.kernel.audit_log.entries import LogEvent, outbox_writes
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import after, sleep_with_jittered_backoff
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.permissions.access_epochs import Epoch, EpochSubject
from chalicelib.kernel.storage import schema_versions, table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions import unique_items
from chalicelib.kernel.transactions.quota_counters import Counts, add_quota_change, counter_write_with_problem
from chalicelib.kernel.transactions.record_writes import (
    PendingWrite,
    delete_or_check_if_unchanged_write,
    derived_item_writes,
    merge_delete_put_pairs,
)

R = TypeVar("R", bound=Entity)


_MAX_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.02


@dataclass(frozen=True)
class PendingEvent:
    """The event that the log entry of some changes records.

    `type`: None for the first event that the operation or task declares. `before`: the state with which the entry
    compares the subject, None for the state that was read. `always`: the entry is committed even if nothing changes.
    """

    subject: Entity
    type: str | None
    before: Entity | None
    always: bool


@dataclass
class UnitOfWork:
    """Changes of records, and the event that their log entry records. Nothing is written before `commit`.

    There are five writes: `create`, `update`, `delete`, `upsert` and `update_untracked`. Instead of an event about a
    record, it can commit events that an application reports (`report`). `chains`: the chains of the log that were read
    with the authorization.
    """

    now: str
    chains: Chains | None = None
    _records: dict[ItemKey, PendingWrite] = field(default_factory=dict)
    _extra_writes: list[tuple[Write, Problem | None]] = field(default_factory=list)
    _checks: dict[ItemKey, Entity] = field(default_factory=dict)
    _epochs: dict[EpochSubject, Epoch] = field(default_factory=dict)
    entry_id: str | None = None
    _event: PendingEvent | None = None
    reported_events: Sequence[LogEvent] = ()
    """The events that an application reports."""
    tasks_after_commit: list[tuple[str, ItemKey]] = field(default_factory=list)
    """Tasks to start after the commit, with the keys of their records."""

    def create(self, record: R, *, replaces: R | None = None) -> R:
        """Create a record. If its key exists, the request is retried.

        `replaces`: an expired record with the same key, which must be unchanged.
        """
        self._add_pending_write(record, PendingWrite(replaces, record, is_new=True))
        return record

    def update(self, record: R, *, touch: bool = False, accepts_stored_item: bool = False, **changed: Any) -> R:
        """Change fields of a record with its version, and return the changed record.

        Without a difference nothing is written, unless `touch` requests a new version. `accepts_stored_item`: the
        record gets a valid MAC and its derived items, whatever is stored, with a given version and time, because the
        stored ones may be forged. The other changes of a record leave an invalid MAC invalid. To update a record twice,
        pass the result of the first update to the second.
        """
        write = self._records.setdefault(record.item_key, PendingWrite(record, record))
        if write.after is not record:
            raise ValueError(f"{record.kind} {record.id} was changed based on another state of it")
        if not (touch or accepts_stored_item) and all(
            json_equal(getattr(record, name), value) for name, value in changed.items()
        ):
            return record
        if write.before is record and not accepts_stored_item:
            changed["updated_at"] = max(self.now, after(record.updated_at, seconds=0.001))
            changed["version"] = record.version + 1
        updated = replace(record, **changed)
        former_names = unique_items.former_name_changes(write.before, updated, self.now) if write.before else {}
        write.after = updated = replace(updated, **former_names) if former_names else updated
        write.accepts_stored_item |= accepts_stored_item
        return updated

    def delete(self, record: Entity, *, grants_no_access: bool = False) -> None:
        """Delete a record and its reservations. `grants_no_access`: it granted none, so no access epoch changes."""
        self._add_pending_write(record, PendingWrite(record, None, was_ended=grants_no_access))

    def upsert(self, record: Entity) -> None:
        """Write an internal record, replacing any existing one."""
        self._add_pending_write(record, PendingWrite(None, record, unconditional=True))

    def update_untracked(
        self, record: R, *, is_claim: bool = False, is_unconditional: bool = False, **changed: Any
    ) -> R:
        """Change internal fields of a record, without a new version or log entry. Return the changed record.

        `is_claim`: a worker claims the record's task, which stays due since the same time. `is_unconditional`: the
        stored values of these fields are no condition, so that concurrent requests do not conflict. The new values must
        be unique. Then transactions that require the record to be unchanged detect each request.
        """
        if all(json_equal(getattr(record, name), value) for name, value in changed.items()):
            return record
        updated = replace(record, **changed)
        unchecked = frozenset(changed) if is_unconditional else frozenset[str]()
        self._add_pending_write(
            record, PendingWrite(record, updated, is_claim=is_claim, unchecked_version_fields=unchecked)
        )
        return updated

    def event(
        self, subject: R, event_type: str | None = None, *, before: Entity | None = None, always: bool = False
    ) -> R:
        """Declare the event that the log entry of these changes records, and return its subject.

        `event_type`: None for the first event that the operation or task declares. The entry shows how the subject
        differs from `before`, or else from its state as it was read. Pass `before` if the service has changed the
        record without a log entry, or if public fields depend on the clock. `always`: commit the entry even if nothing
        changes.
        """
        if self._event or self.reported_events:
            raise ValueError("the changes have an event already")
        self._event = PendingEvent(subject, event_type, before, always)
        if not isinstance(subject, RecordSet):
            self._records.setdefault(subject.item_key, PendingWrite(subject, subject))
        return subject

    def reserve_entry_id(self) -> str:
        """Return the id that the log entry of the declared event will have. The records must not change afterwards."""
        self.entry_id = new_id(self.latest_change_at)
        return self.entry_id

    def report(self, events: Sequence[LogEvent]) -> None:
        """Commit events that an application reports, all or none. They belong to one log, and keep their order."""
        if self._event or self.reported_events:
            raise ValueError("the changes have an event already")
        self.reported_events = events

    def enqueue_after_commit(self, task: str, record: Entity) -> None:
        """Start a task after the commit. If its message is lost, the record's schedule starts it."""
        self.tasks_after_commit.append((task, record.item_key))

    def _add_pending_write(self, record: Entity, write: PendingWrite) -> None:
        earlier = self._records.get(record.item_key)
        if earlier and (earlier.before is not earlier.after or earlier.after is not record):
            raise ValueError(f"{record.kind} {record.id} is changed already")
        self._records[record.item_key] = write

    def require_unchanged(self, condition: Entity | Epoch) -> None:
        """Make the transaction fail if a record or an access epoch changes before the commit."""
        if isinstance(condition, Epoch):
            self._epochs[condition.subject] = condition
        else:
            self._checks[condition.item_key] = condition

    @property
    def record_kinds_lacking_epoch_check(self) -> set[str]:
        """Return the kinds of records that grant access and change without a check of the epoch of everyone."""
        return access_epochs.granting_kinds_without_epoch_check(
            [(c.before, c.after) for c in self._records.values()], self._epochs
        )

    @property
    def epoch_subjects_losing_access(self) -> set[EpochSubject]:
        """Return the subjects whose access epochs change with the commit."""
        return access_epochs.epoch_subjects_losing_access(
            (c.before, c.after) for c in self._records.values() if not c.was_ended
        )

    def add_write(self, write: Write, on_conflict: Problem | None = None) -> None:
        """Add a write of an item that does not belong to a record.

        If its condition fails, `on_conflict` is raised or the request is retried.
        """
        self._extra_writes.append((write, on_conflict))

    @property
    def is_empty(self) -> bool:
        """Return whether nothing would be written, not even a log entry."""
        return (
            not (self._event and self._event.always)
            and not self.reported_events
            and not self._extra_writes
            and not any(map(self._is_written, self._records))
        )

    @property
    def write_count_without_pipeline_writes(self) -> int:
        """Return the number of writes, without the log entry and the other writes of the pipeline."""
        return len(self._writes_with_problems_except_extra()) + len(self._extra_writes)

    @property
    def declared_event(self) -> PendingEvent:
        """Return the event. Raises ValueError if none was declared."""
        if self._event is None:
            raise ValueError("the changes have no event: declare it with `changes.event(subject)`")
        return self._event

    @property
    def event_subject_before_and_after(self) -> tuple[Entity | None, Entity | None]:
        """Return the subject of the log entry before and after, None where it does not exist."""
        event = self.declared_event
        if isinstance(event.subject, RecordSet):
            return event.before, event.subject
        write = self._records[event.subject.item_key]
        return event.before or (None if write.is_new else write.before), write.after

    def undeclared_kinds_changed_with_event(self, event: str) -> set[str]:
        """Return the kinds of other records that change with the event, although their rules do not declare it."""
        subject = None if isinstance(self.declared_event.subject, RecordSet) else self.declared_event.subject.item_key
        others = [change for key, change in self._records.items() if key != subject]
        records = [record for c in others if c.has_new_version and (record := c.after or c.before)]
        return {each.kind for each in records if not each.log_rules.may_change_with(event)}

    @property
    def latest_change_at(self) -> str:
        """Return the time of the changes, after the last change of all records involved."""
        timestamps = [change.after.updated_at for change in self._records.values() if change.after]
        removed = [
            after(c.before.updated_at, seconds=0.001) for c in self._records.values() if c.before and not c.after
        ]
        return max([self.now, *timestamps, *removed])

    def commit(self, idempotency_write: Write | None = None, events: Sequence[LogEvent] = ()) -> None:
        """Write all changes in one transaction, with the pipeline's `idempotency_write` and the log entries of events.

        Raises Problem if a value is taken or a quota is exceeded, ConcurrentModification if a record changed
        concurrently, and IdempotencyKeyConflict if the condition of `idempotency_write` failed.
        """
        if (
            any(epoch.closing_until > self.now for epoch in self._epochs.values())
            and not self.epoch_subjects_losing_access
        ):
            raise ConcurrentModification  # It would fail, and conflict with the transaction that sets the epochs.
        stored: dict[ItemKey, Item] = {}
        planned: list[tuple[Write, Problem | None]] = [(idempotency_write, None)] if idempotency_write else []
        planned += self._writes_with_problems_except_extra(stored, has_entry=bool(events))
        planned += self._extra_writes
        epochs_closed = False
        for attempt in range(_MAX_TRIES):
            try:
                self._commit_once_or_raise(planned, events, has_idempotency_write=idempotency_write is not None)
            except TransactionCancelled as cancelled:
                if cancelled.is_contended and attempt and not epochs_closed:
                    access_epochs.mark_epochs_as_closing(
                        self.epoch_subjects_losing_access
                    )  # Revocations take precedence over mutations that grant access.
                    epochs_closed = True
                sleep_with_jittered_backoff(attempt, first_seconds=_PAUSE_SECONDS)
            else:
                return self._mark_records_as_stored(stored)
        raise ConcurrentModification

    def _mark_records_as_stored(self, items: Mapping[ItemKey, Item]) -> None:
        """Mark the records as stored as these items, so that another unit of work can change them again."""
        for key, item in items.items():
            if record := self._records[key].after:
                schema_versions.attach_stored_item(record, item)
                object.__setattr__(record, "record_mac", item.get("record_mac"))

    def _commit_once_or_raise(
        self,
        planned: Sequence[tuple[Write, Problem | None]],
        events: Sequence[LogEvent],
        *,
        has_idempotency_write: bool,
    ) -> None:
        """Try to commit once.

        Raises as `commit` does, and TransactionCancelled if only another transaction conflicted.
        """
        entries = outbox_writes(events, self._chains_or_raise) if events else []
        planned = [*planned, *((write, None) for write in entries)]
        try:
            table.write_transaction([write for write, _ in planned])
        except TransactionCancelled as cancelled:
            if entries and cancelled.failed_items.get(len(planned) - len(entries)) is not None:
                return  # An earlier attempt succeeded, but its response was lost.
            failed_positions = {*cancelled.failed_items}
            if entries:  # The last write extends the chain.
                failed_positions.discard(len(planned) - 1)
                chain_items = [item for each, item in cancelled.failed_items.items() if each == len(planned) - 1]
                self._chains_or_raise.use_other_chain(*chain_items)
            if not failed_positions:
                raise
            if has_idempotency_write and 0 in failed_positions:
                raise IdempotencyKeyConflict(cancelled.failed_items[0]) from cancelled
            failures = [(planned[each][1], cancelled.failed_items[each]) for each in sorted(failed_positions)]
            problems = [unique_items.problem_naming_existing_record(*failure) for failure in failures]
            # Unless all failures are final, the decision was based on outdated records and is repeated.
            problem = all(problems) and next(iter(problems), None)
            raise problem or ConcurrentModification() from cancelled

    def is_new_log(self, log: str) -> bool:
        """Return whether these changes create the organization of this log, so that the log is empty."""
        new_records = [change.after for change in self._records.values() if change.before is None]
        return any(
            isinstance(record, Container) and record.parent_type is None and record.audit_log_id == log
            for record in new_records
        )

    @property
    def _chains_or_raise(self) -> Chains:
        if self.chains is None:
            raise ValueError("the chains of the log were not read")
        return self.chains

    def _writes_with_problems_except_extra(
        self, stored: dict[ItemKey, Item] | None = None, *, has_entry: bool = False
    ) -> list[tuple[Write, Problem | None]]:
        """Return the writes, and add the items that are stored after them to `stored`.

        Without `stored` the writes are only to be counted, and those of the records themselves are empty.
        """
        writes: list[tuple[Write, Problem | None]] = []
        counts: Counts = {}
        for key, change in self._records.items():
            if change.before is change.after:
                continue
            planned = change.to_record_write(has_entry=has_entry) if stored is not None else change.to_empty_write(key)
            writes.append((planned.write, None))
            if stored is not None and planned.item is not None:
                stored[key] = planned.item
            former = None if change.accepts_stored_item else change.before  # Its derived items may be altered, too.
            writes += unique_items.unique_item_writes_with_problems(former, change.after, self.now)
            add_quota_change(change.before, change.after, counts)
            writes += [(write, None) for write in derived_item_writes(former, change.after)]
        writes += [counter_write_with_problem(limit, pk, delta) for (limit, pk), delta in counts.items() if delta]
        writes += [
            (delete_or_check_if_unchanged_write("ConditionCheck", record), None)
            for key, record in self._checks.items()
            if not self._is_written(key)
        ]
        writes += [
            (write, None)
            for write in access_epochs.epoch_check_and_renewal_writes(self._epochs, self.epoch_subjects_losing_access)
        ]
        return merge_delete_put_pairs(writes)

    def _is_written(self, key: ItemKey) -> bool:
        write = self._records.get(key)
        return write is not None and write.before is not write.after


@dataclass
class IdempotencyKeyConflict(Exception):
    """Another request holds the item for the idempotency key."""

    item: Item | None
