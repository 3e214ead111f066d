"""Operations on the audit log of an organization: list entries and verify integrity."""

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log.models import (
    AuditEntry,
    AuditQuery,
    IntegrityQuery,
    IntegrityReport,
)
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("audit-log", is_read_only=True),))


@routes.get(
    "/organizations/{organization_id}/audit-log",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def list_audit_log(ctx: Context, organization: Organization, query: AuditQuery) -> ListPage[AuditEntry]:
    """List the audit log of an organization, newest entry first.

    With a filter by type, actor or target the list may lag for a moment, because it reads an index. Without a filter it
    never lags, and an export is always complete.
    """
    entries, last = logs.list_entries_newest_first(
        [organization.audit_log_id], query, ctx.decode_cursor(query), query.limit
    )
    return ctx.build_page(logs.load_entries_as_json_bytes(entries), last, query)


@routes.get(
    "/organizations/{organization_id}/audit-log/verify-integrity",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def verify_audit_integrity(ctx: Context, organization: Organization, query: IntegrityQuery) -> IntegrityReport:
    """Recompute the Merkle tree of the log from its entries, and compare it with the signed head.

    The log also has to begin with its newest anchor, a signed head that is stored outside the table every hour. This
    detects a log that was cut off, even if its former head was put back. A long log is verified in windows: repeat the
    request with `nextCursor` until it is null or a failure is reported.
    """
    log_id = organization.audit_log_id
    result = log_verification.verify_next_window(log_id, ctx.decode_cursor(query), query.checkpoint)
    progress, fault = result.progress, result.fault
    return IntegrityReport(
        valid=fault is None and not progress.suppressed_count,
        tree_size=progress.head_size,
        root_hash=progress.signed_root.hex(),
        checkpoint=progress.note or None,
        pending_entries=result.pending_count,
        checked_entries=progress.verified.tree.size,
        first_invalid_sequence=fault.sequence if fault else None,
        failure=fault.failure if fault else None,
        suppressed=progress.suppressed_count,
        next_cursor=None if result.is_complete else ctx.encode_cursor(progress.to_cursor_position(), query),
    )
