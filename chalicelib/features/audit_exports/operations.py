"""Exports of an organization's log: in one answer, or as a file that is made in the background."""

from typing import Annotated, Final

from chalicelib.features.audit_exports import making
from chalicelib.features.audit_exports.collecting import TooMuch, collect
from chalicelib.features.audit_exports.entities import AuditExport
from chalicelib.features.audit_exports.formats import MEDIA_TYPES
from chalicelib.features.audit_exports.models import AuditExportCreate, AuditExportOut, EntrySelection, ExportQuery
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.operation import RawResponse, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")

_ADDRESS_SECONDS: Final = 900
_EXPIRED: Final = (
    "The export expired at {}: it was a week old, or a person whom its filters named was erased. Start another."
)


@routes.get(
    "/organizations/{organization_id}/audit-log/export",
    access=at_organization(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def export_audit_log(
    ctx: Context, organization: Organization, query: ExportQuery
) -> Annotated[RawResponse, "application/x-ndjson", "text/csv"]:
    """Export the log, or what of it passes the filters, in one answer, the oldest entry first.

    Entries that have no sequence yet stand last. It waits for no index: what is new is read from the log itself. What
    has more than 10,000 entries or 5 MB, or takes too long to be found, is `export_too_large`: start an export in the
    background then.
    """
    try:
        text = collect(organization.log, query, query.format)
    except TooMuch as too_much:
        background = f"POST /organizations/{organization.id}/audit-log/export-async"
        raise Problem("export_too_large", f"{too_much} Narrow it down, or use {background}.") from too_much
    name = _file_name(organization, ctx.now, query.format)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return RawResponse(text, MEDIA_TYPES[query.format], headers)


@routes.post(
    "/organizations/{organization_id}/audit-log/export-async",
    success=202,
    access=at_organization(Role.ADMIN),
    scope="audit-log:read",
    emits="organization.audit_export.requested",
)
def start_audit_export(ctx: Context, organization: Organization, body: AuditExportCreate) -> AuditExportOut:
    """Start an export in the background: a gzip file of all entries that have their place in the tree by then.

    Ask for the export until it is completed, or failed; at most 10 run at a time.
    """
    filters = (body.filters or EntrySelection()).model_dump(by_alias=True)
    export = AuditExport(
        **ctx.new_record_fields(), organization_id=organization.id, format=body.format, filters=filters, turn_at=ctx.now
    )
    ctx.changes.enqueue_after_commit(AuditExport.task, ctx.changes.create(export))
    return AuditExportOut.of(export)


@routes.get(
    "/organizations/{organization_id}/audit-log/export-async/{export_id}",
    access=at_organization(Role.ADMIN),
    scope="audit-log:read",
    emits="organization.audit_export.downloaded",
)
def get_audit_export(ctx: Context, organization: Organization, export: AuditExport) -> AuditExportOut:
    """Get an export and, once it is completed, an address of its file: new each time, and good for 15 minutes.

    That it was handed out is in the log, once in 15 minutes for each caller. After a week it is `export_expired`;
    so is at once an export whose filters name a person who was erased, though an address of its file that was handed
    out before works for some minutes more.
    """
    if export.expired:
        raise Problem("export_expired", _EXPIRED.format(export.expires_at))
    if export.status != "completed":
        return AuditExportOut.of(export)
    _note(ctx, export)
    name = _file_name(organization, export.created_at, f"{export.format}.gz")
    return AuditExportOut.of(export, download_url=making.address(export, name, _ADDRESS_SECONDS))


def _note(ctx: Context, export: AuditExport) -> None:
    """Note that the caller is handed an address of the file, unless an earlier one still holds."""
    since = after(ctx.now, seconds=-_ADDRESS_SECONDS)
    lately = {principal: at for principal, at in export.handed.items() if at > since}
    if ctx.principal.id not in lately:
        ctx.changes.update_untracked(export, handed={**lately, ctx.principal.id: ctx.now})
        ctx.changes.set_event_subject(export)


def _file_name(organization: Organization, moment: str, suffix: str) -> str:
    return f"{organization.slug}-audit-log-{moment[:10]}.{suffix}"
