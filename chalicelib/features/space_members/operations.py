"""The members of a space: list, change, add, remove; join and leave."""

from chalicelib.features.members.entering import enter, give_role
from chalicelib.features.members.models import MemberOut, RolePatch
from chalicelib.features.members.reach import list_joined
from chalicelib.features.members.rules import shown_to
from chalicelib.features.space_members.entities import SpaceMember
from chalicelib.features.spaces.entities import Space, at_space
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("spaces")


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
