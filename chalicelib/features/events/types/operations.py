"""The operation that declares event types."""

from chalicelib.features.events.types.entities import EventType
from chalicelib.features.events.types.logic.declarations import declare_event_type
from chalicelib.features.events.types.models import EventTypeOut, EventTypePut
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("system")


@routes.put(
    "/event-types/{event_type}",
    created_status=201,
    access=Caller.OPERATOR,
    scope=None,
    emits=("system.event_type.updated", "system.event_type.created"),
)
def put_event_type(ctx: Context, event_type: EventType | None, body: EventTypePut) -> EventTypeOut:
    """Declare an event type of your own application (201), or replace its fields (200).

    Use it from the deployment of your application. The type is then known in all organizations. A change of the schema
    makes a new version, and events can still name an earlier one. The first word of the type must not be that of a
    built-in type. A deployment has at most 200 types with 50 versions each, and types cannot be removed.
    """
    ctx.was_created = event_type is None
    return EventTypeOut.of(declare_event_type(ctx, ctx.request.parameters["event_type"], event_type, body))
