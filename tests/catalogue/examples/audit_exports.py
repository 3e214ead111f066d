"""Examples of the operations on exports of an organization's log."""

from typing import Final

from chalicelib.features.audit.exports.entities import AuditExport
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "start_audit_export": lambda _: example({"format": "csv", "filters": {"type": "organization.member.*"}})
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add former exports."""
    put_records(
        AuditExport(**common_fields, organization_id=world.id, format="ndjson", filters={}, status="expired")
        for common_fields in new_records_fields(count)
    )
