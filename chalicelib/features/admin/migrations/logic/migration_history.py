"""What is stored of migrations, read: one Query."""

from chalicelib.features.admin.migrations.entities import Lease, MigrationRecord
from chalicelib.features.admin.migrations.logic.checksums import standing
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS
from chalicelib.features.admin.migrations.models import MigrationOut
from chalicelib.kernel.storage import table


def stored() -> tuple[dict[str, MigrationRecord], Lease | None]:
    """Return the record of each migration that was begun, by its id, and the lease, if there was ever one."""
    items = [item for page in table.iter_pages(MigrationRecord.pk) for item in page]
    records = {item["id"]: MigrationRecord.from_item(item) for item in items if item["kind"] == MigrationRecord.kind}
    leases = [Lease.from_item(item) for item in items if item["kind"] == Lease.kind]
    return records, next(iter(leases), None)


def migrations() -> list[MigrationOut]:
    """Return every migration and what has come of it."""
    return standing(MIGRATIONS, stored()[0])
