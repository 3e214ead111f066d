"""The status of the service and its own audit log."""

from typing import Annotated

from chalicelib.features.admin.status.logic import run_checks_unless_recent
from chalicelib.features.admin.status.models import ServiceStatus, SystemExportQuery
from chalicelib.features.audit.exports.logic.export_responses import build_export_response
from chalicelib.features.audit.exports.logic.inline_export import ExportTooLarge
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import AuditEntry, AuditQuery
from chalicelib.kernel.audit_log.entry_macs import current_and_former_public_keys
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.version import API_VERSION, VERSION
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage, RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS, system_log_id

routes = RouteGroup("system")


@routes.get("/status", access=Caller.PUBLIC, scope=None, emits=None)
def get_status(ctx: Context) -> ServiceStatus:
    """Get the status of the service and the keys that sign its checkpoints.

    Use it as a health check, and to get the public keys with which checkpoints and exports of audit logs are verified.
    The status is `degraded` if a check of a dependency fails. The response is 200 in that case, too.
    """
    check_results, keys = run_checks_unless_recent(), [to_base64(key) for key in current_and_former_public_keys()]
    is_healthy = all(check.status == "ok" for check in check_results)
    return ServiceStatus(
        status="ok" if is_healthy else "degraded",
        version=VERSION,
        api_version=API_VERSION,
        time=ctx.now,
        checks=check_results,
        audit_public_key=keys[0],
        audit_public_keys=keys,
    )


@routes.get("/system/audit-log", access=Caller.OPERATOR, scope=None, emits=None)
def list_system_audit_log(ctx: Context, query: AuditQuery) -> ListPage[AuditEntry]:
    """List events outside of any organization, newest first.

    The list combines 16 logs, `system-0` to `system-15`. Each is a Merkle tree with its own checkpoint, and an entry's
    `sequence` and `integrity` refer to the log that contains it. The number of that log is the CRC-32 of the target's
    id modulo 16, so all entries about a target are in one log, in order. A list filtered by type, actor or target may
    lag for a moment.
    """
    target_logs = query.target_id and [system_log_id(query.target_id)]
    entries, last = logs.list_entries_newest_first(
        target_logs or SYSTEM_LOGS, query, ctx.decode_cursor(query), query.limit
    )
    return ctx.build_page(logs.load_entries_as_json_bytes(entries), last, query)


@routes.get("/system/audit-log/export", access=Caller.OPERATOR, scope=None, emits=None)
def export_system_audit_log(
    ctx: Context, query: SystemExportQuery
) -> Annotated[RawResponse, "application/x-ndjson", "text/csv"]:
    """Export the events outside of any organization, or those that match the filters, oldest entry first.

    Entries without a sequence come last. The export never lags behind the log, because recent entries are read from the
    log itself. If the result has more than 10,000 entries or 5 MB, or takes too long to find, the problem is
    `export_too_large`. Export the log in parts in that case, each with its own `from` and `to`. With `logId` the export
    has one of the 16 logs. With `evidence=true` that export can be verified alone, and is limited to logs of 10,000
    entries.
    """
    log_id = query.log_id or (system_log_id(query.target_id) if query.target_id else None)
    name = f"{query.log_id or 'system'}-audit-log-{ctx.now[:10]}"
    try:
        return build_export_response([log_id] if log_id else SYSTEM_LOGS, query, name)
    except ExportTooLarge as error:
        raise Problem("export_too_large", f"{error} Export it in parts, with from and to.") from error
