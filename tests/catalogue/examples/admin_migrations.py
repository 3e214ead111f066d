"""Examples of the operations on migrations."""

from chalicelib.features.admin.migrations.entities import MigrationRecord
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records


def add_neighbours(_world: TenantFixture, count: int) -> None:
    """Add applied migrations that this version does not know."""
    put_records(
        MigrationRecord(
            **common_fields | {"id": f"9{place:03}-a-later-one"},
            description="Do more.",
            checksum="0" * 64,
            state="applied",
            position=None,
            applied_at=common_fields["created_at"],
        )
        for place, common_fields in enumerate(new_records_fields(count))
    )
