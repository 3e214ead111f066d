"""What has come of migrations, by what is stored of them."""

from collections.abc import Mapping, Sequence
from typing import Final

from chalicelib.features.admin.migrations.entities import MigrationRecord
from chalicelib.features.admin.migrations.logic.migration_catalogue import Migration
from chalicelib.features.admin.migrations.models import MigrationOut

ALTERED: Final = (
    "It was applied, and does another thing now: its checksum has changed. Restore what it was, and add what has "
    "changed as a new migration."
)


def standing(migrations: Sequence[Migration], records: Mapping[str, MigrationRecord]) -> list[MigrationOut]:
    """Return how each migration stands, in order: those of this code, and those that only other code knows."""
    known = [_known(migration, records.get(migration.id)) for migration in migrations]
    ids = {migration.id for migration in migrations}
    others = [MigrationOut.of(record) for record in records.values() if record.id not in ids]
    return sorted([*known, *others], key=lambda migration: migration.id)


def altered(migration: Migration, record: MigrationRecord | None) -> bool:
    """Return whether a migration was applied and does another thing now."""
    return record is not None and record.state == "applied" and record.checksum != migration.checksum


def _known(migration: Migration, record: MigrationRecord | None) -> MigrationOut:
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
    if altered(migration, record):
        return MigrationOut.of(record, state="failed", checksum=migration.checksum, error=ALTERED)
    return MigrationOut.of(record, checksum=migration.checksum)
