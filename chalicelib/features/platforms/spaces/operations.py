"""HTTP operations on spaces and their members."""

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.spaces.entities import Space, SpaceMember, require_space_role
from chalicelib.features.platforms.spaces.logic import can_see_all_private_spaces, list_visible_spaces
from chalicelib.features.platforms.spaces.models import MAX_POSITION, SpaceCreate, SpaceOut, SpacePatch
from chalicelib.features.tenancy.logic.joining import create_membership, grant_role_to_path_user
from chalicelib.features.tenancy.logic.member_lists import list_members
from chalicelib.features.tenancy.logic.membership_rules import create_member_presenter
from chalicelib.features.tenancy.models.memberships import CallerRoleOut, MemberOut, RolePatch
from chalicelib.features.tenancy.purges.entities import delete_container_and_queue_purge
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery, SortedListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import ContainerReference
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("spaces", scope_areas=(ScopeArea("spaces"),))
platform_routes = RouteGroup("platforms", routes.operations)


@platform_routes.get(
    "/platforms/{platform_id}/spaces",
    access=require_platform_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_platform_spaces(ctx: Context, platform: Platform, query: ListQuery) -> ListPage[SpaceOut]:
    """List the spaces of a platform by position. Only their members and admins see private spaces.

    Use it to show the areas of a platform from which a person can choose. A page of the list may be short if some
    spaces are hidden from the caller.
    """
    return list_visible_spaces(ctx, platform, query)


@routes.post(
    "/spaces",
    access=require_platform_role(Role.EDITOR, ContainerReference.BODY_ID),
    scope="spaces:write",
    emits="space.created",
    grants_access=True,
)
def create_space(ctx: Context, platform: Platform, body: SpaceCreate) -> SpaceOut:
    """Create a space in a platform. A user who creates it becomes its admin.

    A space is an area of a platform for some of its people, such as a department or a course. In an open space every
    member of the platform takes part; a private one has only its own members. Without a position, the space becomes the
    last one.
    """
    if (
        body.visibility == "private"
        and isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal)
        and not can_see_all_private_spaces(ctx)
    ):
        detail = "The API key could not see the space. To create a private space it needs `spaces:write` or `admin`."
        raise Problem.create_with_field_error("/visibility", "insufficient_scope", detail)
    fields = body.to_stored_fields_with_defaults() | {
        "slug": ctx.given_or_derived_slug(body.slug, body.name),
        "position": _requested_or_last_position(ctx, body.position),
    }
    space = Space(**ctx.new_id_and_time_fields(), **fields, organization_id=platform.organization_id)
    ctx.changes.event(ctx.changes.create(space))
    if isinstance(ctx.principal_or_anonymous, User):
        create_membership(
            ctx,
            SpaceMember,
            ctx.principal_or_anonymous,
            Role.ADMIN.value,
            ctx.access.memberships,
            **space.ids_by_parameter,
        )
    return SpaceOut.of(space)


@routes.get("/spaces/{space_id}", access=require_space_role(Role.MEMBER), scope="spaces:read", emits=None)
def get_space(_ctx: Context, space: Space) -> SpaceOut:
    """Get a space.

    Use it to show the name, description and visibility of a space. A private space is not found for callers who are
    neither its members nor admins.
    """
    return SpaceOut.of(space)


@routes.patch("/spaces/{space_id}", access=require_space_role(Role.ADMIN), scope="spaces:write", emits="space.updated")
def update_space(ctx: Context, space: Space, body: SpacePatch) -> SpaceOut:
    """Change a space. With `position` = null, it becomes the last one.

    If the space becomes private, people without a membership of their own lose access at once, except admins of the
    platform. If the slug changes, the former slug does not lead to the space any more.
    """
    fields = body.to_stored_fields_with_defaults() | {"position": _requested_or_last_position(ctx, body.position)}
    return SpaceOut.of(ctx.changes.event(ctx.changes.update(space, **fields)))


@routes.delete(
    "/spaces/{space_id}",
    access=require_space_role(Role.ADMIN, at_platform=True),
    scope="spaces:write",
    emits="space.deleted",
)
def delete_space(ctx: Context, space: Space) -> None:
    """Delete a space with its contents, effective immediately. Its slug becomes available at once.

    Its members, capabilities and module overrides are removed with it. This cannot be undone; the entries in the audit
    log stay.
    """
    delete_container_and_queue_purge(ctx.changes, space)
    ctx.changes.event(space)


def _requested_or_last_position(ctx: Context, position: int | None) -> int:
    """Return the given position or, without one, the position after all other spaces."""
    if position is not None:
        return position
    last_space = ctx.query_last_record_or_none(Space, Space.sibling_index)
    return min(last_space.position + 1, MAX_POSITION) if last_space else 0


@routes.post(
    "/spaces/{space_id}/join",
    success=200,
    access=require_space_role(Role.MEMBER, at_platform=True),
    scope=None,
    emits="space.member.added",
    grants_access=True,
)
def join_space(ctx: Context, space: Space) -> MemberOut:
    """Join an open space of a platform in which the caller takes part. A member keeps their role.

    Only members and admins see a private space. Admins can join it.
    """
    if ctx.access.own_membership_item:
        return create_member_presenter(ctx)(SpaceMember.from_item(ctx.access.own_membership_item))
    member = create_membership(
        ctx, SpaceMember, ctx.user, Role.MEMBER.value, ctx.access.memberships, **space.ids_by_parameter
    )
    return create_member_presenter(ctx)(ctx.changes.event(member))


@routes.post(
    "/spaces/{space_id}/leave",
    success=204,
    access=require_space_role(None),
    scope=None,
    emits="space.member.removed",
    grants_access=True,
)
def leave_space(ctx: Context) -> None:
    """Leave a space. Without a membership of the space the problem is `not_found`.

    Whoever leaves an open space can still take part in it as a member of the platform. Nobody else is affected.
    """
    if ctx.access.own_membership_item is None:
        raise not_found()
    member = SpaceMember.from_item(ctx.access.own_membership_item)
    ctx.changes.delete(member)
    ctx.changes.event(member)


@routes.get(
    "/spaces/{space_id}/members",
    access=require_space_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def list_space_members(ctx: Context, query: SortedListQuery) -> ListPage[MemberOut]:
    """List the members of a space who have a membership of their own, in the order in which they joined.

    Members of its platform take part in an open space without one.
    """
    return list_members(ctx, SpaceMember, SpaceMember.in_space, query)


@routes.get("/spaces/{space_id}/role", access=require_space_role(Role.MEMBER), scope="spaces:read", emits=None)
def get_space_role(ctx: Context) -> CallerRoleOut:
    """Get the caller's role in a space.

    It is the role of their own membership, or follows from their role on the platform of the space.
    """
    return CallerRoleOut(role=ctx.required_role)


@routes.get(
    "/spaces/{space_id}/members/{user_id}",
    access=require_space_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_space_member(ctx: Context, member: SpaceMember) -> MemberOut:
    """Get a member of a space.

    Use it to show a person's role in one space. People who take part in an open space through its platform have no
    membership of their own, and are not found.
    """
    return create_member_presenter(ctx)(member)


@routes.patch(
    "/spaces/{space_id}/members/{user_id}",
    access=require_space_role(Role.ADMIN),
    scope="members:write",
    emits=("space.member.updated", "space.member.added"),
    grants_access=True,
    subject_user_param="user_id",
)
def update_space_member(ctx: Context, space: Space, member: SpaceMember | None, body: RolePatch) -> MemberOut:
    """Change the role of a space member. A user who takes part in the platform becomes a member of the space.

    Use it to make somebody a moderator or an admin of one space. Nobody can grant a role above their own.
    """
    return create_member_presenter(ctx)(
        grant_role_to_path_user(ctx, SpaceMember, member, Role(body.role), **space.ids_by_parameter)
    )


@routes.delete(
    "/spaces/{space_id}/members/{user_id}",
    access=require_space_role(Role.ADMIN),
    scope="members:write",
    emits="space.member.removed",
    grants_access=True,
)
def remove_space_member(ctx: Context, member: SpaceMember) -> None:
    """Remove a member from a space. A user who takes part in the platform can still take part in an open space.

    In a private space the person loses access at once. The memberships of the platform and of the organization stay.
    """
    ctx.changes.delete(member)
    ctx.changes.event(member)
