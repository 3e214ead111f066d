"""Examples of the operations on an organization's log and its exports."""

from typing import Final

from chalicelib.features.audit.exports.entities import AuditExport
from chalicelib.features.audit.log_verifications.entities import LogVerification
from chalicelib.features.audit.proofs.entities import TileBuild
from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.witnesses.logic import anchor_list
from chalicelib.kernel.core.encoding import to_base64
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.pending_entries import build_event

EXAMPLES: Final[ExampleFactories] = {
    "prove_audit_log_consistency": lambda _: example(query={"from": 1}),
    "start_audit_export": lambda _: example({"format": "csv", "filters": {"type": "organization.member.*"}}),
    "start_reconciliation": lambda _: example(),
}


def build_log_verifications(_tenant: TenantFixture, _n: int) -> Neighbours:
    yield LogVerification(**new_fields(), status="completed", source="none", pending_logs=[])


def build_exports(tenant: TenantFixture, _n: int) -> Neighbours:
    yield AuditExport(**new_fields(), organization_id=tenant.id, format="ndjson", filters={}, status="expired")


def build_reconciliations(tenant: TenantFixture, _n: int) -> Neighbours:
    yield Reconciliation(**new_fields(), organization_id=tenant.id, status="completed")


def build_proofs(_tenant: TenantFixture, _n: int) -> Neighbours:
    fields = new_fields()
    yield TileBuild(**fields, log_id=fields["id"])


def build_witnesses(_tenant: TenantFixture, n: int) -> Neighbours:
    if n == 0:  # All leaves are in one item.
        pk, sk = anchor_list.leaves_key(0)
        leaves = {f"n{index:03d}": f"{'0' * 64}\n{index + 1}\n{to_base64(bytes(32))}\n" for index in range(6)}
        yield {"pk": pk, "sk": sk, **leaves}


def build_log(tenant: TenantFixture, n: int) -> Neighbours:
    target = {"type": "organization", "id": tenant.id, "name": f"Name {n}"}
    changes = [{"field": "name", "from": None, "to": f"Name {n}"}]
    yield build_event("organization.updated", tenant.id, target, {"name": f"Name {n}"}, changes)
