"""The capabilities of a space: list, add, replace, get, remove."""

from chalicelib.features.capabilities.entities import Capability, CapabilitySet
from chalicelib.features.capabilities.models import CapabilitiesPut, CapabilityCreate, CapabilityOut
from chalicelib.features.spaces.entities import Space, at_space
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SetQuery
from chalicelib.kernel.operations.operation import Page, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("spaces")


@routes.get("/spaces/{space_id}/capabilities", needs=at_space(Role.MEMBER), scope="spaces:read", emits=None)
def list_space_capabilities(ctx: Context, query: SetQuery) -> Page[CapabilityOut]:
    """List the capabilities of a space, in the order they were added."""
    return ctx.part([CapabilityOut.of(capability) for capability in _present(ctx)], query)


@routes.post(
    "/spaces/{space_id}/capabilities",
    needs=at_space(Role.ADMIN), scope="spaces:write", emits="space.capability.added",
)  # fmt: skip
def add_space_capability(ctx: Context, space: Space, body: CapabilityCreate) -> CapabilityOut:
    """Add a capability to a space, which may have 40."""
    present = _present(ctx)
    if any(capability.capability_key == body.capability_key for capability in present):
        detail = "The space has this capability. Replace the capabilities to change its settings."
        raise Problem.at("/capabilityKey", "already_exists", detail)
    capability = ctx.changes.create(Capability(**ctx.new(), **space.ids, **body.fields()))
    CapabilitySet.refuse_excess([*present, capability])
    ctx.changes.touch(space)
    return CapabilityOut.of(capability)


@routes.put(
    "/spaces/{space_id}/capabilities",
    needs=at_space(Role.ADMIN), scope="spaces:write", emits="space.capabilities.replaced",
)  # fmt: skip
def replace_space_capabilities(ctx: Context, space: Space, body: CapabilitiesPut) -> Page[CapabilityOut]:
    """Replace the capabilities of a space, up to 40, at once; the answer lists them.

    Every change of them gives the space another version: `If-Match` takes the space's `ETag`.
    """
    wanted = ctx.several(Capability, [write.fields() for write in body.capabilities], **space.ids)
    CapabilitySet.refuse_excess(wanted)
    kept = ctx.changes.replace(space, _present(ctx), wanted, CapabilitySet.of)
    return Page([CapabilityOut.of(capability) for capability in kept], None)


@routes.get(
    "/spaces/{space_id}/capabilities/{capability_key}",
    needs=at_space(Role.MEMBER), scope="spaces:read", emits=None,
)  # fmt: skip
def get_space_capability(_ctx: Context, capability: Capability) -> CapabilityOut:
    """Get a capability of a space."""
    return CapabilityOut.of(capability)


@routes.delete(
    "/spaces/{space_id}/capabilities/{capability_key}",
    needs=at_space(Role.ADMIN), scope="spaces:write", emits="space.capability.removed",
)  # fmt: skip
def remove_space_capability(ctx: Context, space: Space, capability: Capability) -> None:
    """Remove a capability from a space."""
    ctx.changes.delete(capability)
    ctx.changes.touch(space)


def _present(ctx: Context) -> list[Capability]:
    return ctx.gather(Capability.in_space).of(Capability)
