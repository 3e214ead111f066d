"""The stored records of migrations, in one partition."""

from typing import ClassVar, Final

from chalicelib.features.admin.migrations.models import MigrationOut, MigrationState
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS

PARTITION: Final = "MIGRATIONS"


class MigrationRecord(Entity):
    """A migration that was started.

    `position` is the position of its next step, or None once the migration is applied. `checksum` is the checksum of
    the code that ran it.
    """

    kind, pk, sk = "migration", PARTITION, "M#{id}"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    all = Collection(PARTITION, "M#{id}")
    output_model = MigrationOut

    description: str
    checksum: str
    state: MigrationState = "pending"
    position: int | None = None
    applied_at: str | None = None
    duration_ms: int = 0
    error: str | None = None


class MigrationLease(Entity):
    """The lease of the runner that applies migrations. `holder` is None if no runner holds it."""

    kind, pk, sk = "migration.lease", PARTITION, "#"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    attribute_names: ClassVar = {"expires_at": "until"}

    holder: str | None = None
    expires_at: str
