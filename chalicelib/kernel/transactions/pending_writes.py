"""Changes of records, and their event, that a unit of work has declared and not written yet."""

from dataclasses import dataclass

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import Entity, ItemKey
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.record_writes import (
    RecordWrite,
    delete_or_check_if_unchanged_write,
    put_record_write,
    update_if_unchanged_write,
)


@dataclass
class PendingWrite:
    """A change of a record. It is None before its creation, and after its deletion.

    `is_new`: the record after the change is another one, even if it replaces an expired one with the same key.
    `accepts_stored_item`: the record gets a valid MAC and new derived items, whatever is stored.
    `is_claim`: a worker claims the record's task, which stays due since the same time.
    """

    before: Entity | None
    after: Entity | None
    on_conflict: Problem | None = None
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
        """Return the write of a record that changes. Raises Problem `unavailable` if AWS KMS cannot decrypt the key."""
        before, after = self.before, self.after
        if before is None and after is not None:
            return put_record_write(after, is_unconditional=self.unconditional)
        if before is not None and after is None:
            return RecordWrite(delete_or_check_if_unchanged_write("Delete", before))
        assert before is not None and after is not None  # noqa: S101, PT018 - a change has at least one of them
        return update_if_unchanged_write(
            before,
            after,
            self.unchecked_version_fields,
            has_entry=has_entry,
            is_new=self.is_new,
            accepts_stored_item=self.accepts_stored_item,
            is_claim=self.is_claim,
        )

    def to_empty_write(self, key: ItemKey) -> RecordWrite:
        """Return a write of the same kind without content, to count writes."""
        return RecordWrite(Write("Delete" if self.after is None else "Put" if self.before is None else "Update", key))


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
