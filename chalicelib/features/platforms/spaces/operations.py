"""Spaces and their members: create, list, change and delete spaces; join, leave, and manage members."""

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.spaces.entities import Space, SpaceMember, at_space
from chalicelib.features.platforms.spaces.logic import list_seen, sees_all
from chalicelib.features.platforms.spaces.models import MOST_POSITION, SpaceCreate, SpaceOut, SpacePatch
from chalicelib.features.tenancy.logic.joining import enter, give_role
from chalicelib.features.tenancy.logic.member_lists import list_joined
from chalicelib.features.tenancy.logic.membership_rules import shown_to
from chalicelib.features.tenancy.models.memberships import MemberOut, RolePatch
from chalicelib.features.tenancy.purges.entities import purge
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("spaces", scope_areas=(ScopeArea("spaces"),))
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


@routes.post(
    "/spaces/{space_id}/join",
    success=200,
    access=at_space(Role.MEMBER, at_its_platform=True),
    scope=None,
    emits="space.member.added",
    grants_access=True,
)
def join_space(ctx: Context, space: Space) -> MemberOut:
    """Join an open space of a platform that the caller takes part in; who is a member already stays what they are.

    A private space is there for its members, and for admins, who may join it too.
    """
    if ctx.access.membership:
        return shown_to(ctx)(SpaceMember.from_item(ctx.access.membership))
    return shown_to(ctx)(
        enter(ctx, SpaceMember, ctx.user, Role.MEMBER.value, ctx.access.memberships, **space.ancestor_ids)
    )


@routes.post(
    "/spaces/{space_id}/leave",
    success=204,
    access=at_space(None),
    scope=None,
    emits="space.member.removed",
    grants_access=True,
)
def leave_space(ctx: Context) -> None:
    """Leave a space. Without a membership of their own there is nothing to leave: `not_found`."""
    if ctx.access.membership is None:
        raise not_found()
    ctx.changes.delete(SpaceMember.from_item(ctx.access.membership))


@routes.get(
    "/spaces/{space_id}/members",
    access=at_space(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def list_space_members(ctx: Context, query: ListQuery) -> ListPage[MemberOut]:
    """List the members of a space, in the order they joined: those with a membership of their own.

    Members of its platform take part in an open one without.
    """
    return list_joined(ctx, SpaceMember, SpaceMember.in_space, query)


@routes.get(
    "/spaces/{space_id}/members/{user_id}",
    access=at_space(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_space_member(ctx: Context, member: SpaceMember) -> MemberOut:
    """Get a member of a space."""
    return shown_to(ctx)(member)


@routes.patch(
    "/spaces/{space_id}/members/{user_id}",
    access=at_space(Role.ADMIN),
    scope="members:write",
    emits=("space.member.updated", "space.member.added"),
    grants_access=True,
    subject_user_param="user_id",
)
def update_space_member(ctx: Context, space: Space, member: SpaceMember | None, body: RolePatch) -> MemberOut:
    """Change the role of a space's member; who takes part in its platform and is none yet becomes one."""
    return shown_to(ctx)(give_role(ctx, SpaceMember, member, Role(body.role), **space.ancestor_ids))


@routes.delete(
    "/spaces/{space_id}/members/{user_id}",
    access=at_space(Role.ADMIN),
    scope="members:write",
    emits="space.member.removed",
    grants_access=True,
)
def remove_space_member(ctx: Context, member: SpaceMember) -> None:
    """Remove a member from a space. Who takes part in the platform still takes part in an open space as such."""
    ctx.changes.delete(member)
