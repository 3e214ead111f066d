"""Operations on reconciliations of an organization's records with its log."""

from typing import Final

from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.reconciliations.models import ReconciliationOut
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.access_rules import OperatorsToo
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.work import jobs

routes = RouteGroup("organizations")

_OWNER_OR_OPERATOR: Final = require_organization_role(Role.OWNER, policy=OperatorsToo())


@routes.post(
    "/organizations/{organization_id}/audit-log/reconciliations",
    success=202,
    access=_OWNER_OR_OPERATOR,
    scope=None,
    emits="organization.reconciliation.requested",
)
def start_reconciliation(ctx: Context, organization: Organization) -> ReconciliationOut:
    """Compare all records of the organization with its log, in the background.

    The log says which records exist and what they contain. The comparison finds records that somebody with access to
    the database added, changed or removed without an entry. `GET …/audit-log/verify-integrity` verifies the log itself.
    Poll the reconciliation until it is completed. A small organization takes some seconds. If some records seem not to
    agree with the log, the service checks them again after a minute, so the comparison takes a minute longer. At most 3
    run at a time (`limit_exceeded`). Operators of the service can start one in every organization.
    """
    reconciliation = Reconciliation(
        **ctx.new_id_and_time_fields(), organization_id=organization.id, lease_until=ctx.now
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, reconciliation)
    ctx.changes.event(reconciliation)
    return ReconciliationOut.of(reconciliation)


@routes.get(
    "/organizations/{organization_id}/audit-log/reconciliations",
    access=_OWNER_OR_OPERATOR,
    scope=None,
    emits=None,
)
def list_reconciliations(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[ReconciliationOut]:
    """List the reconciliations of an organization, newest first, with their findings.

    Use it to see when the records were last compared with the log, and whether a comparison is still running.
    """
    return ctx.list_records(
        Reconciliation, Reconciliation.in_organization, query, ReconciliationOut.of, organization_id=organization.id
    )


@routes.get(
    "/organizations/{organization_id}/audit-log/reconciliations/{reconciliation_id}",
    access=_OWNER_OR_OPERATOR,
    scope=None,
    emits=None,
)
def get_reconciliation(_ctx: Context, reconciliation: Reconciliation) -> ReconciliationOut:
    """Get the progress of a reconciliation and, once it is completed, its findings.

    Poll it after the start. A large organization takes some time, because the comparison reads at most 100 items a
    second.
    """
    return ReconciliationOut.of(reconciliation)
