"""The service itself."""

from chalicelib.features.admin.status.logic import checks
from chalicelib.features.admin.status.models import ServiceStatus
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import AuditEntry, AuditQuery
from chalicelib.kernel.audit_log.entry_macs import public_keys
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.version import API_VERSION, VERSION
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.storage.entity import SYSTEM_LOGS, system_log

routes = RouteGroup("system")


@routes.get("/status", access=Caller.PUBLIC, scope=None, emits=None)
def get_status(ctx: Context) -> ServiceStatus:
    """Tell whether the service is well, and which key signs its checkpoints."""
    found, keys = checks(), [to_base64(key) for key in public_keys()]
    well = all(check.status == "ok" for check in found)
    return ServiceStatus(
        status="ok" if well else "degraded",
        version=VERSION,
        api_version=API_VERSION,
        time=ctx.now,
        checks=found,
        audit_public_key=keys[0],
        audit_public_keys=keys,
    )


@routes.get("/system/audit-log", access=Caller.OPERATOR, scope=None, emits=None)
def list_system_audit_log(ctx: Context, query: AuditQuery) -> ListPage[AuditEntry]:
    """List what happened outside of any organization, newest first.

    It is one list of 16 logs, `system-0` to `system-15`, each a Merkle tree with a head of its own: `sequence` and
    `integrity` are an entry's place in the one that holds it. That follows from the target's id: it is the remainder of
    the id's CRC-32 divided by 16. So all entries about one target are in one log, in their order.
    Filtered by type, actor or target the list may be late by moments, as indexes are.
    """
    of_target = query.target_id and [system_log(query.target_id)]
    entries, last = logs.list_entries(of_target or SYSTEM_LOGS, query, ctx.decode_cursor(query), query.limit)
    return ctx.build_page(logs.entries_to_json(entries), last, query)
