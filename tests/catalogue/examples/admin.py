"""Neighbours of the records on the service itself. Its operations need no examples."""

from chalicelib.features.admin.migrations.entities import MigrationRecord
from tests.catalogue.examples.example import Neighbours, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.sample_operations import build_notice_event


def build_migrations(_tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an applied migration that this version does not know."""
    fields = new_fields() | {"id": f"9{n:03}-a-later-one"}
    applied_at = fields["created_at"]
    yield MigrationRecord(
        **fields, description="Do more.", checksum="0" * 64, state="applied", position=None, applied_at=applied_at
    )


def build_status(_tenant: TenantFixture, _n: int) -> Neighbours:
    """Yield an event of a log outside of organizations."""
    yield build_notice_event()
