"""Operations on exports of the audit log, in one response or as a file that is made in the background."""

from typing import Annotated, Final

from chalicelib.features.audit.exports.entities import AuditExport
from chalicelib.features.audit.exports.logic import async_export
from chalicelib.features.audit.exports.logic.export_responses import build_export_response
from chalicelib.features.audit.exports.logic.inline_export import ExportTooLarge
from chalicelib.features.audit.exports.models import AuditExportCreate, AuditExportOut, EntrySelection, ExportQuery
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage, RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.work import jobs

routes = RouteGroup("organizations")

_DOWNLOAD_URL_SECONDS: Final = 900
"""Time for which the download URL of an export is valid."""

_EXPIRED_DETAIL: Final = (
    "The export expired at {}: it was a week old, or its filters named a person whose data was erased. Start another."
)


@routes.get(
    "/organizations/{organization_id}/audit-log/export",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def export_audit_log(
    ctx: Context, organization: Organization, query: ExportQuery
) -> Annotated[RawResponse, "application/x-ndjson", "text/csv"]:
    """Export the log, or the entries that match the filters, in one response, oldest entry first.

    Entries without a sequence come last. The export never lags behind the log, because recent entries are read from the
    log itself. If the result has more than 10,000 entries or 5 MB, or takes too long to find, the problem is
    `export_too_large`. Start a background export in that case. With `evidence=true` the export is limited to logs of
    10,000 entries, and has only entries with a sequence.
    """
    try:
        return build_export_response([organization.audit_log_id], query, _export_file_name(organization, ctx.now))
    except ExportTooLarge as error:
        async_path = f"POST /organizations/{organization.id}/audit-log/export-async"
        raise Problem("export_too_large", f"{error} Narrow it down, or use {async_path}.") from error


@routes.post(
    "/organizations/{organization_id}/audit-log/export-async",
    success=202,
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits="organization.audit_export.requested",
)
def start_audit_export(ctx: Context, organization: Organization, body: AuditExportCreate) -> AuditExportOut:
    """Start a background export, which makes a gzip file of all matching entries that have a sequence at its start.

    Poll the export until it is completed or failed. At most 10 exports run at a time.
    """
    filters = (body.filters or EntrySelection()).model_dump(by_alias=True)
    export = AuditExport(
        **ctx.new_id_and_time_fields(),
        organization_id=organization.id,
        format=body.format,
        filters=filters,
        lease_until=ctx.now,
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, export)
    ctx.changes.event(export)
    return AuditExportOut.of(export)


@routes.get(
    "/organizations/{organization_id}/audit-log/export-async",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def list_audit_exports(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[AuditExportOut]:
    """List the background exports of the log, newest first, also those whose file has expired.

    Use it to find an export that somebody else started, or to see how far the running ones are. The list has no
    download URLs and no evidence: get an export to download it, because each download is logged.
    """
    return ctx.list_records(
        AuditExport, AuditExport.in_organization, query, AuditExportOut.of, organization_id=organization.id
    )


@routes.get(
    "/organizations/{organization_id}/audit-log/export-async/{export_id}",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits="organization.audit_export.downloaded",
)
def get_audit_export(ctx: Context, organization: Organization, export: AuditExport) -> AuditExportOut:
    """Get an export and, once it is completed, a URL to download its file.

    Each request returns a new URL, which is valid for 15 minutes. The log records the download once in 15 minutes for
    each caller. The problem is `export_expired` after a week, and immediately if the filters of the export name a
    person whose data was erased. A URL that was issued before the erasure may work for some minutes more.
    """
    if export.is_expired:
        raise Problem("export_expired", _EXPIRED_DETAIL.format(export.expires_at))
    if export.status != "completed":
        return AuditExportOut.of(export)
    _log_download_unless_url_valid(ctx, export)
    name = f"{_export_file_name(organization, export.created_at)}.{export.format}.gz"
    return AuditExportOut.of(
        export, download_url=async_export.presigned_download_url(export, name, _DOWNLOAD_URL_SECONDS)
    )


def _log_download_unless_url_valid(ctx: Context, export: AuditExport) -> None:
    """Record the download in the log, unless the caller has a URL that is still valid."""
    valid_from = after(ctx.now, seconds=-_DOWNLOAD_URL_SECONDS)
    still_valid = {principal: at for principal, at in export.issued_urls_at.items() if at > valid_from}
    if ctx.principal_or_anonymous.id not in still_valid:
        ctx.changes.update_untracked(export, issued_urls_at={**still_valid, ctx.principal_or_anonymous.id: ctx.now})
        ctx.changes.event(export)


def _export_file_name(organization: Organization, timestamp: str) -> str:
    """Return the name of the file without its extension."""
    return f"{organization.slug}-audit-log-{timestamp[:10]}"
