"""The runner: applies what is pending, in order, one runner at a time, and goes on where one before it ended."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import uuid4

from chalicelib.features.admin.migrations.entities import Lease, MigrationRecord
from chalicelib.features.admin.migrations.logic import migration_history
from chalicelib.features.admin.migrations.logic.checksums import ALTERED, altered
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from chalicelib.kernel.core.clock import after, backoff_seconds, now
from chalicelib.kernel.core.logs import logger
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.table import get
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_LEASE_SECONDS: Final = 120
"""How long a step may take. A runner that is silent for longer is taken for dead, and another may go on."""
_TRIES: Final = 5
_TAKEN_OVER: Final = "Another runner has taken over: this one was silent for too long."


@dataclass(frozen=True)
class Outcome:
    """What a run did: a migration is `applied` or `failed`, or all of them are `held` by another runner."""

    id: str
    state: str
    duration_ms: int = 0
    error: str | None = None


def run(migrations: Sequence[Migration] = MIGRATIONS) -> Iterator[Outcome]:
    """Apply what is pending, and yield what came of each; of what was applied before, nothing. A failure ends it."""
    records, lease = migration_history.stored()
    if not any(_waits(migration, records.get(migration.id)) for migration in migrations):
        return
    try:
        runner = _Runner(_taken(lease))
    except _Held as held:
        yield Outcome("", "held", error=str(held))
        return
    records, _ = migration_history.stored()  # With what another runner has done until just now.
    try:
        for migration in migrations:
            if _waits(migration, records.get(migration.id)):
                outcome = runner.apply(migration, records.get(migration.id))
                yield outcome
                if outcome.state != "applied":
                    break
    except _Held as held:
        yield Outcome("", "held", error=str(held))
    else:
        runner.let_go()


def report() -> list[dict[str, Any]]:
    """Apply what is pending, and return what came of each, for whoever called the function that does so."""
    return [asdict(outcome) for outcome in run()]


class _Held(Exception):
    """Another runner applies migrations."""


def _waits(migration: Migration, record: MigrationRecord | None) -> bool:
    return record is None or record.state != "applied" or altered(migration, record)


def _taken(lease: Lease | None) -> Lease:
    """Return the lease, taken by this runner. Raises _Held."""
    moment = now()
    if lease and lease.holder and lease.until > moment:
        raise _Held(f"The runner {lease.holder} applies migrations, and may until {lease.until}.")
    changes, holder, until = UnitOfWork(moment), str(uuid4()), after(moment, seconds=_LEASE_SECONDS)
    new = Lease(id="lease", created_at=moment, updated_at=moment, holder=holder, until=until)
    try:
        taken = changes.bump_version(lease, holder=holder, until=until) if lease else changes.create(new)
        changes.commit()
    except ConcurrentModification:
        raise _Held("Another runner has begun to apply migrations at this moment.") from None
    return taken


@dataclass
class _Runner:
    """Whoever holds the lease. Whatever it writes is written only as long as it does."""

    lease: Lease

    def apply(self, migration: Migration, record: MigrationRecord | None) -> Outcome:
        """Do all steps of a migration that are left, and say what came of it. Raises _Held."""
        if altered(migration, record):
            return Outcome(migration.id, "failed", error=ALTERED)
        since = time.monotonic() - (record.duration_ms / 1000 if record else 0)
        while record is None or record.position is not None:
            record = self._step(migration, record, since)
            if record.state == "failed":
                return Outcome(migration.id, "failed", record.duration_ms, record.error)
        return Outcome(migration.id, "applied", record.duration_ms)

    def let_go(self) -> None:
        """Let the next runner begin at once."""
        changes = UnitOfWork(now())
        changes.bump_version(self.lease, holder=None)
        with suppress(ConcurrentModification):  # It has run out, and is another runner's already.
            changes.commit()

    def _step(self, migration: Migration, record: MigrationRecord | None, since: float) -> MigrationRecord:
        """Do the next step, and return how far the migration is, or why it failed."""
        # What was begun with another checksum did another thing: it is begun anew.
        goes_on = record is not None and record.checksum == migration.checksum
        position = (record.position or 0) if record and goes_on else 0
        for attempt in range(_TRIES):
            changes = UnitOfWork(now())
            try:
                after_it = migration.step(position, changes)
                return self._keep(changes, migration, record, after_it, None, since)
            except ConcurrentModification:
                self._check_lease()
                backoff_seconds(attempt)
            except Exception as failure:  # noqa: BLE001 - the edge of the process: whoever looks reads why, the log has all
                logger().exception("migration", extra={"migration": migration.id})
                error = _words(failure)
                break
        else:
            error = f"What it changes was changed by others {_TRIES} times in a row. Run it again."
        try:
            return self._keep(UnitOfWork(now()), migration, record, position, error, since)
        except ConcurrentModification:
            raise _Held(_TAKEN_OVER) from None

    def _keep(
        self,
        changes: UnitOfWork,
        migration: Migration,
        record: MigrationRecord | None,
        position: int | None,
        error: str | None,
        since: float,
    ) -> MigrationRecord:
        """Store how far a migration is, at work since, together with its changes. Raises ConcurrentModification."""
        moment = now()
        fields: dict[str, Any] = {
            "checksum": migration.checksum,
            "description": migration.description,
            "position": position,
            "error": error,
            "state": "failed" if error else "applied" if position is None else "pending",
            "applied_at": moment if position is None else None,
            "duration_ms": round((time.monotonic() - since) * 1000),
        }
        if record:
            kept = changes.bump_version(record, **fields)
        else:
            kept = changes.create(MigrationRecord(id=migration.id, created_at=moment, updated_at=moment, **fields))
        lease = changes.bump_version(self.lease, until=after(moment, seconds=_LEASE_SECONDS))
        changes.commit()
        self.lease = lease
        return kept

    def _check_lease(self) -> None:
        """Raise _Held if another runner has taken over."""
        item = get(self.lease.item_key)
        if item is None or item["version"] != self.lease.version:
            raise _Held(_TAKEN_OVER)


def _words(failure: Exception) -> str:
    """Return why a step failed, without anything that is not for everybody: texts of libraries may hold it."""
    if isinstance(failure, Problem):
        return failure.detail
    return (
        f"A step ended by {type(failure).__name__}. The log of the function that ran it says more; then run it again."
    )
