"""HTTP operations on the capabilities of a space."""

from chalicelib.features.platforms.capabilities.entities import Capability, CapabilitySet
from chalicelib.features.platforms.capabilities.models import CapabilitiesPut, CapabilityCreate, CapabilityOut
from chalicelib.features.platforms.logic.record_set_replacement import replace_record_set
from chalicelib.features.platforms.spaces.entities import Space, require_space_role
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SmallListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("spaces")


@routes.get("/spaces/{space_id}/capabilities", access=require_space_role(Role.MEMBER), scope="spaces:read", emits=None)
def list_space_capabilities(ctx: Context, query: SmallListQuery) -> ListPage[CapabilityOut]:
    """List the capabilities of a space, in the order they were added.

    A front end uses them to decide what it offers in a space, such as video calls. Atrium stores the keys and settings
    without interpreting them.
    """
    return ctx.slice_page([CapabilityOut.of(capability) for capability in _load_capabilities(ctx)], query)


@routes.post(
    "/spaces/{space_id}/capabilities",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.capability.added",
)
def add_space_capability(ctx: Context, space: Space, body: CapabilityCreate) -> CapabilityOut:
    """Add a capability to a space. A space has at most 40.

    You choose the key and the settings, and your front end gives them their meaning. A key that the space already has
    is `already_exists`.
    """
    current = _load_capabilities(ctx)
    if any(capability.capability_key == body.capability_key for capability in current):
        detail = "The space has this capability. Replace the capabilities to change its settings."
        raise Problem.create_with_field_error("/capabilityKey", "already_exists", detail)
    capability = ctx.changes.create(
        Capability(**ctx.new_id_and_time_fields(), **space.ids_by_parameter, **body.to_stored_fields_with_defaults())
    )
    CapabilitySet.reject_too_many_or_large_records([*current, capability])
    ctx.changes.update(space, touch=True)
    return CapabilityOut.of(ctx.changes.event(capability))


@routes.put(
    "/spaces/{space_id}/capabilities",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.capabilities.replaced",
)
def replace_space_capabilities(ctx: Context, space: Space, body: CapabilitiesPut) -> ListPage[CapabilityOut]:
    """Replace all capabilities of a space, up to 40. The response lists them.

    Use it to make the capabilities equal to a list that you keep elsewhere. Each change raises the version of the
    space: `If-Match` takes the space's `ETag`.
    """
    new_capabilities = ctx.new_records(
        Capability, [write.to_stored_fields_with_defaults() for write in body.capabilities], **space.ids_by_parameter
    )
    CapabilitySet.reject_too_many_or_large_records(new_capabilities)
    create_set = CapabilitySet.from_container_and_records
    stored = replace_record_set(ctx.changes, space, _load_capabilities(ctx), new_capabilities, create_set)
    return ListPage([CapabilityOut.of(capability) for capability in stored], None)


@routes.get(
    "/spaces/{space_id}/capabilities/{capability_key}",
    access=require_space_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def get_space_capability(_ctx: Context, capability: Capability) -> CapabilityOut:
    """Get a capability of a space.

    Use it to read the settings of one capability. A capability that the space does not have is not found.
    """
    return CapabilityOut.of(capability)


@routes.delete(
    "/spaces/{space_id}/capabilities/{capability_key}",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.capability.removed",
)
def remove_space_capability(ctx: Context, space: Space, capability: Capability) -> None:
    """Remove a capability from a space.

    Its settings are deleted with it. The version of the space increases, so front ends see that its configuration
    changed.
    """
    ctx.changes.delete(capability)
    ctx.changes.event(capability)
    ctx.changes.update(space, touch=True)


def _load_capabilities(ctx: Context) -> list[Capability]:
    return ctx.load_collections_and_keyed_records(Capability.in_space).instances_of(Capability)
