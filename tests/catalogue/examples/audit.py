"""Examples of the operations on an organization's log and its exports."""

from typing import Final

from chalicelib.features.audit.exports.entities import AuditExport
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.pending_entries import build_event

EXAMPLES: Final[ExampleFactories] = {
    "start_audit_export": lambda _: example({"format": "csv", "filters": {"type": "organization.member.*"}})
}


def build_exports(world: TenantFixture, _n: int) -> Neighbours:
    yield AuditExport(**new_fields(), organization_id=world.id, format="ndjson", filters={}, status="expired")


def build_log(world: TenantFixture, n: int) -> Neighbours:
    target = {"type": "organization", "id": world.id, "name": f"Name {n}"}
    changes = [{"field": "name", "from": None, "to": f"Name {n}"}]
    yield build_event("organization.updated", world.id, target, {"name": f"Name {n}"}, changes)
