"""Members of a platform: list, get, change, remove, invite, join and leave."""

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.members.entities import (
    PlatformInvitation,
    PlatformMember,
    PlatformRevocationMarker,
)
from chalicelib.features.platforms.members.logic import InvitationGuard, UsernameGuard, find_invitation_by_email
from chalicelib.features.tenancy.invitations.logic.invitation_rules import INVITATION_RATE_LIMITS
from chalicelib.features.tenancy.invitations.logic.responses import record_decision
from chalicelib.features.tenancy.invitations.logic.sending import (
    Recipient,
    create_invitation_and_enqueue_mail,
)
from chalicelib.features.tenancy.invitations.models import InvitationCreate, InvitationOut
from chalicelib.features.tenancy.logic.joining import create_membership, grant_role_to_path_user
from chalicelib.features.tenancy.logic.member_lists import list_members
from chalicelib.features.tenancy.logic.membership_rules import create_member_presenter
from chalicelib.features.tenancy.members.logic.leaving import delete_member_and_dependents
from chalicelib.features.tenancy.models.memberships import CallerRoleOut, MemberOut, PlatformMemberPatch, Username
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SortedListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("platforms")


@routes.get(
    "/platforms/{platform_id}/members",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def list_platform_members(ctx: Context, query: SortedListQuery) -> ListPage[MemberOut]:
    """List the members of a platform who have a membership of their own, in the order in which they joined.

    Members of the platform's organization take part in the platform without one.
    """
    return list_members(ctx, PlatformMember, PlatformMember.in_platform, query)


@routes.get(
    "/platforms/{platform_id}/role",
    access=require_platform_role(Role.MEMBER),
    scope="platforms:read",
    emits=None,
)
def get_platform_role(ctx: Context) -> CallerRoleOut:
    """Get the caller's role on a platform.

    It is the role of their own membership, or follows from their role in the organization of the platform.
    """
    return CallerRoleOut(role=ctx.required_role)


@routes.get(
    "/platforms/{platform_id}/members/{user_id}",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_platform_member(ctx: Context, member: PlatformMember) -> MemberOut:
    """Get a member of a platform.

    Use it to show a profile. Only admins and the member themselves see the e-mail address.
    """
    return create_member_presenter(ctx)(member)


@routes.get(
    "/platforms/{platform_id}/members/by-user/{user_id}",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_platform_member_by_user(ctx: Context, member: PlatformMember) -> MemberOut:
    """Get a member of a platform by their user id.

    It returns the same as the operation whose path has no `by-user`. Use it if your paths distinguish ids from
    usernames.
    """
    return create_member_presenter(ctx)(member)


@routes.get(
    "/platforms/{platform_id}/members/by-username/{username}",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_platform_member_by_username(
    ctx: Context,
    username: Username,  # noqa: ARG001 - its type has the pattern of the path parameter
    username_guard: UsernameGuard,
) -> MemberOut:
    """Get a member of a platform by their username, ignoring case.

    Use it for links such as `/@ada`. A username is unique on a platform, and may belong to another person on another
    one.
    """
    guard = username_guard.first_item_or_none
    member = ctx.find_in_container(PlatformMember, user_id=guard["ref"]) if guard else None
    if member is None:
        raise not_found()
    return create_member_presenter(ctx)(member)


@routes.patch(
    "/platforms/{platform_id}/members/{user_id}",
    access=require_platform_role(Role.ADMIN),
    scope="members:write",
    emits=("platform.member.updated", "platform.member.added"),
    grants_access=True,
    subject_user_param="user_id",
)
def update_platform_member(
    ctx: Context, platform: Platform, member: PlatformMember | None, body: PlatformMemberPatch
) -> MemberOut:
    """Change the role or the username of a platform member. A member of the organization becomes a platform member.

    A user whose username is taken joins with a suffix added to it; an admin can change the username here. Usernames are
    unique on a platform, ignoring case. A username that another member has is `already_exists`.
    """
    updated = grant_role_to_path_user(ctx, PlatformMember, member, Role(body.role), **platform.ids_by_parameter)
    if "username" in ctx.request.unvalidated_json_object_or_empty:
        updated = _set_username(ctx, updated, body.username)
    return create_member_presenter(ctx)(updated)


@routes.delete(
    "/platforms/{platform_id}/members/{user_id}",
    access=require_platform_role(Role.ADMIN),
    scope="members:write",
    emits="platform.member.removed",
    grants_access=True,
)
def remove_platform_member(ctx: Context, platform: Platform, member: PlatformMember) -> None:
    """Remove a member from a platform and from its spaces, and revoke the invitations that they sent as a member.

    One log entry records the removal with all its consequences. A member of the organization can still take part in the
    platform as such.
    """
    delete_member_and_dependents(ctx, member, PlatformRevocationMarker, **platform.ids_by_parameter)


@routes.post(
    "/platforms/{platform_id}/invite",
    access=require_platform_role(Role.ADMIN),
    scope="members:write",
    emits="platform.invitation.created",
    grants_access=True,
    collection_path="/organizations/{organization_id}/invitations",
    rate_limits=INVITATION_RATE_LIMITS,
)
def invite_to_platform(ctx: Context, platform: Platform, body: InvitationCreate, recipient: Recipient) -> InvitationOut:
    """Invite somebody to a platform. Only this response contains the link to accept.

    The organization's invitations include it. A user who can accept it can also simply join. Its mails count toward the
    limits of invitations to organizations, and those of a new organization omit `message`, too.
    """
    return create_invitation_and_enqueue_mail(ctx, PlatformInvitation, body, recipient, **platform.ids_by_parameter)


@routes.post(
    "/platforms/{platform_id}/join",
    success=200,
    access=require_platform_role(None),
    scope=None,
    emits=("platform.member.added", "platform.invitation.accepted"),
    grants_access=True,
)
def join_platform(ctx: Context, platform: Platform, invitation_guard: InvitationGuard) -> MemberOut:
    """Join a platform: a published one that is open to everybody, or one to which the caller's address is invited.

    A user who is invited accepts by joining, and gets the offered role. A member keeps their role. `forbidden` means
    that the published platform requires an invitation. If another member has the caller's username, whatever the case
    of its letters, the caller's gets a suffix.
    """
    if ctx.access.own_membership_item:
        return create_member_presenter(ctx)(PlatformMember.from_item(ctx.access.own_membership_item))
    if resolved := find_invitation_by_email(ctx, platform, invitation_guard):
        accepted = record_decision(ctx, resolved, ctx.user, "accept")
        return MemberOut.of(accepted.member)
    if not platform.is_published:
        raise not_found()
    if platform.join_policy != "open":
        raise Problem("forbidden", "This platform requires an invitation. Ask one of its admins to invite you.")
    member = create_membership(
        ctx, PlatformMember, ctx.user, Role.MEMBER.value, ctx.access.memberships, **platform.ids_by_parameter
    )
    return create_member_presenter(ctx)(ctx.changes.event(member))


@routes.post(
    "/platforms/{platform_id}/leave",
    success=204,
    access=require_platform_role(None),
    scope=None,
    emits="platform.member.removed",
    grants_access=True,
)
def leave_platform(ctx: Context, platform: Platform) -> None:
    """Leave a platform and its spaces, and revoke the invitations that the caller sent as a member.

    One log entry records the removal with all its consequences. A member of the organization can still take part in the
    platform as such. Without a membership of the platform the problem is `not_found`.
    """
    if ctx.access.own_membership_item is None:
        raise not_found()
    delete_member_and_dependents(
        ctx,
        PlatformMember.from_item(ctx.access.own_membership_item),
        PlatformRevocationMarker,
        **platform.ids_by_parameter,
    )


def _set_username(ctx: Context, member: PlatformMember, username: str | None) -> PlatformMember:
    """Return a member with another username. Raises Problem `already_exists` if another member was found to have it."""
    if username == member.username:
        return member
    if username and ctx.attempt and member.is_username_taken(username):
        detail = "Another member of the platform has this username, ignoring case. Choose another."
        raise Problem.create_with_field_error("/username", "already_exists", detail)
    return ctx.changes.update(member, username=username)
