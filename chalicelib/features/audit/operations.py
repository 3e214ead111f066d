"""The audit log of an organization: what happened, and whether the log is whole."""

from chalicelib.features.audit import log as logs
from chalicelib.features.audit import verification
from chalicelib.features.audit.models import AuditEntry, AuditQuery, IntegrityQuery, IntegrityReport
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/audit-log",
    access=at_organization(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def list_audit_log(ctx: Context, organization: Organization, query: AuditQuery) -> ListPage[AuditEntry]:
    """List what happened in an organization, newest first.

    Filtered by type, actor or target it may be late by moments, as indexes are; without a filter it never is, and an
    export is whole by any.
    """
    entries, last = logs.page([organization.log], query, ctx.decode_cursor(query), query.limit)
    return ctx.build_page(logs.lines(entries), last, query)


@routes.get(
    "/organizations/{organization_id}/audit-log/verify-integrity",
    access=at_organization(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def verify_audit_integrity(ctx: Context, organization: Organization, query: IntegrityQuery) -> IntegrityReport:
    """Recompute the Merkle tree of the log from its entries, and hold it against its signed head.

    It also has to begin with its newest anchor, a head of it that is kept outside of the table each hour: so a log that
    was cut off is found though its former head was put back. A long log is verified in windows: go on with
    `nextCursor` until it is null or a failure is found.
    """
    log = organization.log
    outcome = verification.verify(log, ctx.decode_cursor(query), query.checkpoint)
    progress, fault = outcome.progress, outcome.fault
    return IntegrityReport(
        valid=fault is None and not progress.suppressed,
        tree_size=progress.size,
        root_hash=progress.root.hex(),
        checkpoint=progress.note or None,
        pending_entries=outcome.waiting,
        checked_entries=progress.verified.tree.size,
        first_invalid_sequence=fault.sequence if fault else None,
        failure=fault.failure if fault else None,
        suppressed=progress.suppressed,
        next_cursor=None if outcome.done else ctx.encode_cursor(progress.position(), query),
    )
