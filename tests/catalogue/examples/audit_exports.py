"""Examples of the operations on exports of an organization's log."""

from typing import Final

from chalicelib.features.audit.exports.entities import AuditExport
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "export_audit_log": lambda world: example(organization_id=world.id),
    "start_audit_export": lambda world: example(
        {"format": "csv", "filters": {"type": "organization.member.*"}}, organization_id=world.id
    ),
    "get_audit_export": lambda world: example(organization_id=world.id, export_id=world.organization.export_id),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add former exports."""
    put_records(
        AuditExport(**common_fields, organization_id=world.id, format="ndjson", filters={}, status="expired")
        for common_fields in new_records_fields(count)
    )
