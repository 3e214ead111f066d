"""Reads of the migrations' stored records, with one query each."""

from chalicelib.features.admin.migrations.entities import MigrationLease, MigrationRecord
from chalicelib.features.admin.migrations.logic.checksums import build_migration_states
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS
from chalicelib.features.admin.migrations.models import MigrationOut
from chalicelib.kernel.storage import table


def load_records_and_lease() -> tuple[dict[str, MigrationRecord], MigrationLease | None]:
    """Return the records of migrations by id, and the lease, if there ever was one."""
    items = [item for page in table.iter_item_pages(MigrationRecord.pk) for item in page]
    records = {item["id"]: MigrationRecord.from_item(item) for item in items if item["kind"] == MigrationRecord.kind}
    leases = [MigrationLease.from_item(item) for item in items if item["kind"] == MigrationLease.kind]
    return records, next(iter(leases), None)


def load_migration_states() -> list[MigrationOut]:
    """Return every migration with its state."""
    return build_migration_states(MIGRATIONS, load_records_and_lease()[0])
