"""Spaces: create, find, change, delete."""

from chalicelib.features.members.entering import enter
from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.purges.entities import purge
from chalicelib.features.space_members.entities import SpaceMember
from chalicelib.features.spaces.entities import Space, at_space
from chalicelib.features.spaces.models import MOST_POSITION, SpaceCreate, SpaceOut, SpacePatch
from chalicelib.features.spaces.reach import list_seen, sees_all
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("spaces")
in_platforms = RouteGroup("platforms", routes.operations)


@in_platforms.get(
    "/platforms/{platform_id}/spaces",
    access=require_platform_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_platform_spaces(ctx: Context, platform: Platform, query: ListQuery) -> ListPage[SpaceOut]:
    """List the spaces of a platform, by position; private ones show to their members, and to admins."""
    return list_seen(ctx, platform, query)


@routes.post(
    "/spaces",
    access=require_platform_role(Role.EDITOR, in_body=True),
    scope="spaces:write",
    emits="space.created",
    grants_access=True,
)
def create_space(ctx: Context, platform: Platform, body: SpaceCreate) -> SpaceOut:
    """Create a space in a platform; a user who does becomes its admin."""
    if body.visibility == "private" and isinstance(ctx.principal, ApiKeyPrincipal) and not sees_all(ctx):
        detail = "The API key would not see it: to make a private space it needs `spaces:write` or `admin`."
        raise Problem.for_field("/visibility", "insufficient_scope", detail)
    fields = body.fields() | {"slug": ctx.choose_slug(body.slug, body.name), "position": _position(ctx, body.position)}
    space = Space(**ctx.new_record_fields(), **fields, organization_id=platform.organization_id)
    ctx.changes.create(space)
    if isinstance(ctx.principal, User):
        enter(ctx, SpaceMember, ctx.principal, Role.ADMIN.value, ctx.access.memberships, **space.ancestor_ids)
    return SpaceOut.of(space)


@routes.get("/spaces/{space_id}", access=at_space(Role.MEMBER), scope="spaces:read", emits=None)
def get_space(_ctx: Context, space: Space) -> SpaceOut:
    """Get a space."""
    return SpaceOut.of(space)


@routes.patch("/spaces/{space_id}", access=at_space(Role.ADMIN), scope="spaces:write", emits="space.updated")
def update_space(ctx: Context, space: Space, body: SpacePatch) -> SpaceOut:
    """Change a space; without a position it is listed behind all others."""
    fields = body.fields() | {"position": _position(ctx, body.position)}
    return SpaceOut.of(ctx.changes.update(space, **fields))


@routes.delete(
    "/spaces/{space_id}",
    access=at_space(Role.ADMIN, at_its_platform=True),
    scope="spaces:write",
    emits="space.deleted",
)
def delete_space(ctx: Context, space: Space) -> None:
    """Delete a space, and all in it: it is gone at once, and its slug free again."""
    purge(ctx.changes, space)


def _position(ctx: Context, given: int | None) -> int:
    """Return the position that was given or, if there is none, the one behind all others."""
    if given is not None:
        return given
    last = ctx.latest(Space, Space.sibling_index)
    return min(last.position + 1, MOST_POSITION) if last else 0
