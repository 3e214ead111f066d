"""The state of migrations, computed from the stored records."""

from collections.abc import Mapping, Sequence
from typing import Final

from chalicelib.features.admin.migrations.entities import MigrationRecord
from chalicelib.features.admin.migrations.logic.migration_catalogue import Migration
from chalicelib.features.admin.migrations.models import MigrationOut

CHECKSUM_CHANGED_ERROR: Final = (
    "It was applied, but its checksum has changed since. Restore its former code and data, and add the change as a "
    "new migration."
)


def build_migration_states(
    migrations: Sequence[Migration], records_by_id: Mapping[str, MigrationRecord]
) -> list[MigrationOut]:
    """Return the state of each migration in order, including those that only a newer release knows."""
    states = [_migration_state(migration, records_by_id.get(migration.id)) for migration in migrations]
    ids = {migration.id for migration in migrations}
    others = [MigrationOut.of(record) for record in records_by_id.values() if record.id not in ids]
    return sorted([*states, *others], key=lambda migration: migration.id)


def has_checksum_changed(migration: Migration, record: MigrationRecord | None) -> bool:
    """Return whether a migration changed after it was applied."""
    return record is not None and record.state == "applied" and record.checksum != migration.checksum


def _migration_state(migration: Migration, record: MigrationRecord | None) -> MigrationOut:
    if record is None:
        return MigrationOut(
            id=migration.id,
            description=migration.description,
            state="pending",
            applied_at=None,
            duration_ms=None,
            checksum=migration.checksum,
            error=None,
        )
    if has_checksum_changed(migration, record):
        return MigrationOut.of(record, state="failed", checksum=migration.checksum, error=CHECKSUM_CHANGED_ERROR)
    return MigrationOut.of(record, checksum=migration.checksum)
