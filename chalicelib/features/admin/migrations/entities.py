"""What is stored of migrations: all of it in one partition."""

from typing import Final

from chalicelib.features.admin.migrations.models import MigrationOut, State
from chalicelib.kernel.storage.entity import Collection, Entity

PARTITION: Final = "MIGRATIONS"


class MigrationRecord(Entity):
    """A migration that was begun. `position`: where its next step begins, None once it is applied.

    `checksum` is that of the code that has run it.
    """

    kind, pk, sk = "migration", PARTITION, "M#{id}"
    all = Collection(PARTITION, "M#{id}")
    output_model = MigrationOut

    description: str
    checksum: str
    state: State = "pending"
    position: int | None = None
    applied_at: str | None = None
    duration_ms: int = 0
    error: str | None = None


class Lease(Entity):
    """Which runner applies migrations, and until when it may: one at a time. `holder` is None when nobody does."""

    kind, pk, sk = "migration.lease", PARTITION, "#"

    holder: str | None = None
    until: str
