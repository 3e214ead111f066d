"""Operations of application events: write one or several, and list them."""

from typing import Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import AuditEntry
from chalicelib.features.events.entries.logic.reporting import (
    NamedTypes,
    reject_types_not_allowed,
    report_events,
    require_filter_within_key_types,
)
from chalicelib.features.events.entries.models.schemas import (
    MAX_BATCH_BODY_BYTES,
    CreatedEvent,
    CreatedEvents,
    EventBatch,
    EventIn,
    EventQuery,
    event_count,
    total_bytes,
)
from chalicelib.features.events.entries.models.settings import EventSettings
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.core.event_patterns import is_application_type
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import ServiceKeysToo
from chalicelib.kernel.operations.results import ListPage, SerializedOutput
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.rate_limits.volume_limits import VolumeLimit

routes = RouteGroup("organizations", scope_areas=(ScopeArea("events", members_read_all=True),))

VOLUME_LIMITS: Final = (
    VolumeLimit("events", "events", lambda: section(EventSettings).events_per_second, event_count),
    VolumeLimit("event-bytes", "bytes of events", lambda: section(EventSettings).event_bytes_per_second, total_bytes),
)
"""How much an organization can write. Requests that write events are limited by these instead of by their number."""


@routes.post(
    "/organizations/{organization_id}/events",
    access=require_organization_role(Role.ADMIN, policy=ServiceKeysToo()),
    scope="events:write",
    emits=None,
    reports_events=True,
    volume_limits=VOLUME_LIMITS,
    extra_check=reject_types_not_allowed,
)
def create_event(
    ctx: Context, organization: Organization, body: EventIn, types: NamedTypes
) -> SerializedOutput[AuditEntry]:
    """Write an event of your own application to the organization's log.

    Operators declare its type first, with `PUT /event-types/{type}`. An `actor` in the body is an assertion: the entry
    marks it as `asserted`, and `reportedBy` names the caller. Send an `Idempotency-Key`, so that a repeated request
    writes nothing. The event is then delivered to webhooks, channels and log streams, like every other entry.

    The response has no `Location`, because a caller that writes events need not be able to read the log. With
    `audit-log:read`, the entry is at `/organizations/{organizationId}/audit-log/{entryId}`.
    """
    (event,) = report_events(ctx, organization.audit_log_id, body, types)
    content = event.canonical_leaf_bytes()
    entry = EntryItem.from_canonical_bytes(event.log, content)
    return SerializedOutput(logs.entry_to_json_bytes(entry, content))


@routes.post(
    "/organizations/{organization_id}/events/batch",
    access=require_organization_role(Role.ADMIN, policy=ServiceKeysToo()),
    scope="events:write",
    emits=None,
    reports_events=True,
    volume_limits=VOLUME_LIMITS,
    extra_check=reject_types_not_allowed,
    max_body_bytes=MAX_BATCH_BODY_BYTES,
)
def create_events(ctx: Context, organization: Organization, body: EventBatch, types: NamedTypes) -> CreatedEvents:
    """Write up to 25 events of your own application to the organization's log: all of them or none.

    Their entries get sequences in the order of the request. If one event is not valid, nothing is written, and errors
    have pointers such as `/events/3/data/amount`. Types, times and data are checked once all fields are well-formed.
    """
    events = report_events(ctx, organization.audit_log_id, body, types)
    return CreatedEvents(items=[CreatedEvent(id=event.id) for event in events])


@routes.get(
    "/organizations/{organization_id}/events",
    access=require_organization_role(Role.MEMBER, policy=ServiceKeysToo()),
    scope="events:read",
    emits=None,
)
def list_events(ctx: Context, organization: Organization, query: EventQuery) -> ListPage[AuditEntry]:
    """List the events that your own application wrote to the organization's log, newest first.

    Every member sees all of them. The entries are those of the audit log, which contains the built-in events, too. The
    list may lag for a moment, because it reads an index. With a filter, a page may be short although the list
    continues.
    """
    require_filter_within_key_types(ctx, query.type)
    position = ctx.decode_cursor(query)
    if query.type and not is_application_type(query.type):
        return ctx.build_page([], None, query)
    entries, last = logs.list_entries_newest_first([organization.audit_log_id], query, position, query.limit)
    return ctx.build_page(logs.load_entries_as_json_bytes(entries), last, query)
