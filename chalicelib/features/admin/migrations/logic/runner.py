"""The runner that applies pending migrations in order.

One runner works at a time, and continues where the last one stopped.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import uuid4

from chalicelib.features.admin.migrations.entities import MigrationLease, MigrationRecord
from chalicelib.features.admin.migrations.logic import migration_history
from chalicelib.features.admin.migrations.logic.checksums import CHECKSUM_CHANGED_ERROR, has_checksum_changed
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from chalicelib.kernel.core.clock import after, now, sleep_with_jittered_backoff
from chalicelib.kernel.core.logs import powertools_logger
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.table import get
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_LEASE_SECONDS: Final = 120
"""Maximum duration of a step. After that time without progress another runner can take over."""
_MAX_ATTEMPTS: Final = 5
_LEASE_LOST: Final = "Another runner has taken over, because this one made no progress for too long."


@dataclass(frozen=True)
class MigrationOutcome:
    """The outcome of a migration: `applied` or `failed`. `held` means that another runner holds the lease."""

    id: str
    state: str
    duration_ms: int = 0
    error: str | None = None


def apply_migrations_yielding_outcomes(migrations: Sequence[Migration] = MIGRATIONS) -> Iterator[MigrationOutcome]:
    """Apply pending migrations, and yield the outcome of each. A failure ends the run."""
    records, lease = migration_history.load_records_and_lease()
    if not any(_is_unapplied_or_changed(migration, records.get(migration.id)) for migration in migrations):
        return
    try:
        runner = _Runner(_acquire_lease(lease))
    except _LeaseHeld as error:
        yield MigrationOutcome("", "held", error=str(error))
        return
    records, _ = migration_history.load_records_and_lease()  # Another runner may have made progress.
    try:
        for migration in migrations:
            if _is_unapplied_or_changed(migration, records.get(migration.id)):
                outcome = runner.apply_remaining_steps_and_return_outcome(migration, records.get(migration.id))
                yield outcome
                if outcome.state != "applied":
                    break
    except _LeaseHeld as error:
        yield MigrationOutcome("", "held", error=str(error))
    else:
        runner.release_lease()


def apply_and_list_outcomes() -> list[dict[str, Any]]:
    """Apply pending migrations, and return the outcomes for the response of the function."""
    return [asdict(outcome) for outcome in apply_migrations_yielding_outcomes()]


class _LeaseHeld(Exception):
    """Another runner applies migrations."""


def _is_unapplied_or_changed(migration: Migration, record: MigrationRecord | None) -> bool:
    return record is None or record.state != "applied" or has_checksum_changed(migration, record)


def _acquire_lease(lease: MigrationLease | None) -> MigrationLease:
    """Return the lease, acquired by this runner. Raises _LeaseHeld."""
    timestamp = now()
    if lease and lease.holder and lease.expires_at > timestamp:
        raise _LeaseHeld(f"The runner {lease.holder} applies migrations. Its lease expires at {lease.expires_at}.")
    changes, holder, expires_at = UnitOfWork(timestamp), str(uuid4()), after(timestamp, seconds=_LEASE_SECONDS)
    new = MigrationLease(id="lease", created_at=timestamp, updated_at=timestamp, holder=holder, expires_at=expires_at)
    try:
        acquired = changes.update(lease, holder=holder, expires_at=expires_at) if lease else changes.create(new)
        changes.commit()
    except ConcurrentModification:
        raise _LeaseHeld("Another runner has just started to apply migrations.") from None
    return acquired


@dataclass
class _Runner:
    """The holder of the lease. It can write only while it holds the lease."""

    lease: MigrationLease

    def apply_remaining_steps_and_return_outcome(
        self, migration: Migration, record: MigrationRecord | None
    ) -> MigrationOutcome:
        """Perform the remaining steps of a migration, and return the outcome. Raises _LeaseHeld."""
        if has_checksum_changed(migration, record):
            return MigrationOutcome(migration.id, "failed", error=CHECKSUM_CHANGED_ERROR)
        started_at_monotonic = time.monotonic() - (record.duration_ms / 1000 if record else 0)
        while record is None or record.position is not None:
            record = self._perform_step(migration, record, started_at_monotonic)
            if record.state == "failed":
                return MigrationOutcome(migration.id, "failed", record.duration_ms, record.error)
        return MigrationOutcome(migration.id, "applied", record.duration_ms)

    def release_lease(self) -> None:
        """Release the lease, so that the next runner can start at once."""
        changes = UnitOfWork(now())
        changes.update(self.lease, holder=None)
        with suppress(ConcurrentModification):  # The lease expired, and another runner has it.
            changes.commit()

    def _perform_step(
        self, migration: Migration, record: MigrationRecord | None, started_at_monotonic: float
    ) -> MigrationRecord:
        """Perform the next step, and return the migration's record."""
        # A migration that was started with another checksum starts again.
        continues = record is not None and record.checksum == migration.checksum
        position = (record.position or 0) if record and continues else 0
        for attempt in range(_MAX_ATTEMPTS):
            changes = UnitOfWork(now())
            try:
                next_position = migration.add_step_writes_and_return_next(position, changes)
                return self._commit_with_progress(changes, migration, record, next_position, None, started_at_monotonic)
            except ConcurrentModification:
                self._reject_lost_lease()
                sleep_with_jittered_backoff(attempt)
            except Exception as failure:  # noqa: BLE001 - outermost handler: the record gets the reason, the log the traceback
                powertools_logger().exception("migration", extra={"migration": migration.id})
                error = _step_failure_text(failure)
                break
        else:
            error = f"Other changes conflicted with it {_MAX_ATTEMPTS} times in a row. Run it again."
        try:
            return self._commit_with_progress(
                UnitOfWork(now()), migration, record, position, error, started_at_monotonic
            )
        except ConcurrentModification:
            raise _LeaseHeld(_LEASE_LOST) from None

    def _commit_with_progress(
        self,
        changes: UnitOfWork,
        migration: Migration,
        record: MigrationRecord | None,
        position: int | None,
        error: str | None,
        started_at_monotonic: float,
    ) -> MigrationRecord:
        """Store the progress of a migration together with its changes. Raises ConcurrentModification."""
        timestamp = now()
        fields: dict[str, Any] = {
            "checksum": migration.checksum,
            "description": migration.description,
            "position": position,
            "error": error,
            "state": "failed" if error else "applied" if position is None else "pending",
            "applied_at": timestamp if position is None else None,
            "duration_ms": round((time.monotonic() - started_at_monotonic) * 1000),
        }
        if record:
            stored = changes.update(record, touch=True, **fields)
        else:
            stored = changes.create(
                MigrationRecord(id=migration.id, created_at=timestamp, updated_at=timestamp, **fields)
            )
        lease = changes.update(self.lease, touch=True, expires_at=after(timestamp, seconds=_LEASE_SECONDS))
        changes.commit()
        self.lease = lease
        return stored

    def _reject_lost_lease(self) -> None:
        """Raise _LeaseHeld if another runner has taken over."""
        item = get(self.lease.item_key)
        if item is None or item["version"] != self.lease.version:
            raise _LeaseHeld(_LEASE_LOST)


def _step_failure_text(error: Exception) -> str:
    """Return why a step failed. Messages of libraries are omitted, because they may contain secrets."""
    if isinstance(error, Problem):
        return error.detail
    return f"A step ended by {type(error).__name__}. See the log of the function that ran it, then run it again."
