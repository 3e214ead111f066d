"""The members of a platform: list, find, change, add, remove, invite; join and leave."""

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.members.entities import (
    PlatformDeparture,
    PlatformInvitation,
    PlatformMember,
    username_key,
)
from chalicelib.features.platforms.members.logic import address_held, find_by_address
from chalicelib.features.tenancy.invitations.logic.invitation_rules import INVITATION_BUDGETS
from chalicelib.features.tenancy.invitations.logic.responses import answer
from chalicelib.features.tenancy.invitations.logic.sending import invite, recipient_named
from chalicelib.features.tenancy.invitations.models import InvitationCreate, InvitationOut
from chalicelib.features.tenancy.logic.joining import enter, give_role
from chalicelib.features.tenancy.logic.member_lists import list_joined
from chalicelib.features.tenancy.logic.membership_rules import shown_to
from chalicelib.features.tenancy.members.logic.leaving import depart
from chalicelib.features.tenancy.models.memberships import MemberOut, PlatformMemberPatch, Username
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
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
def list_platform_members(ctx: Context, query: ListQuery) -> ListPage[MemberOut]:
    """List the members of a platform, in the order they joined: those with a membership of their own.

    Members of its organization take part in it without one.
    """
    return list_joined(ctx, PlatformMember, PlatformMember.in_platform, query)


@routes.get(
    "/platforms/{platform_id}/members/{user_id}",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_platform_member(ctx: Context, member: PlatformMember) -> MemberOut:
    """Get a member of a platform."""
    return shown_to(ctx)(member)


@routes.get(
    "/platforms/{platform_id}/members/by-user/{user_id}",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_platform_member_by_user(ctx: Context, member: PlatformMember) -> MemberOut:
    """Get a member of a platform by their user id."""
    return shown_to(ctx)(member)


@routes.get(
    "/platforms/{platform_id}/members/by-username/{username}",
    access=require_platform_role(Role.MEMBER),
    scope="members:read",
    emits=None,
    prefetch=lambda request: username_key(request.parameters["platform_id"], request.parameters["username"]),
)
def get_platform_member_by_username(ctx: Context, platform: Platform, username: Username) -> MemberOut:
    """Get a member of a platform by their username, in capital or small letters."""
    guards = [ctx.access.prefetched.get(key) for key in username_key(platform.id, username)]
    member = next((ctx.find(PlatformMember, user_id=guard["ref"]) for guard in guards if guard), None)
    if member is None:
        raise not_found()
    return shown_to(ctx)(member)


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
    """Change the role or the username of a platform's member; who is one of its organization's only becomes one.

    Who comes with a username that is taken gets it with a suffix; here an admin can give another. No two members of a
    platform have the same one, in whatever letters: `already_exists`.
    """
    given = give_role(ctx, PlatformMember, member, Role(body.role), **platform.ancestor_ids)
    if "username" in ctx.request.unvalidated_body:
        given = _renamed(ctx, given, body.username)
    return shown_to(ctx)(given)


@routes.delete(
    "/platforms/{platform_id}/members/{user_id}",
    access=require_platform_role(Role.ADMIN),
    scope="members:write",
    emits="platform.member.removed",
    grants_access=True,
)
def remove_platform_member(ctx: Context, platform: Platform, member: PlatformMember) -> None:
    """Remove a member from a platform, and thereby from its spaces; what they had invited as such is revoked.

    The entry of the removal stands for the end of it all. A member of the organization still takes part in the platform
    as such.
    """
    depart(ctx, member, PlatformDeparture, **platform.ancestor_ids)


@routes.post(
    "/platforms/{platform_id}/invite",
    access=require_platform_role(Role.ADMIN),
    scope="members:write",
    emits="platform.invitation.created",
    grants_access=True,
    collection_path="/organizations/{organization_id}/invitations",
    prefetch=recipient_named,
    rate_limits=INVITATION_BUDGETS,
)
def invite_to_platform(ctx: Context, platform: Platform, body: InvitationCreate) -> InvitationOut:
    """Invite somebody to a platform; the answer holds the link to accept, once.

    It is found, revoked and sent again under the organization's invitations. Whoever can accept it can also just join.
    Mails are limited as those of invitations to organizations are.
    """
    return invite(ctx, PlatformInvitation, body, **platform.ancestor_ids)


@routes.post(
    "/platforms/{platform_id}/join",
    success=200,
    access=require_platform_role(None),
    scope=None,
    prefetch_for_user=address_held,
    emits=("platform.member.added", "platform.invitation.accepted"),
    grants_access=True,
)
def join_platform(ctx: Context, platform: Platform) -> MemberOut:
    """Join a platform: a published one that is open to everybody, or whichever the caller's address is invited to.

    Who is invited accepts that by joining, and gets the role that it offers. Who is a member already stays what they
    are. `forbidden` stands for a published platform that takes invited people only. Where another member has the
    caller's username, in whatever letters, theirs gets a suffix.
    """
    if ctx.access.membership:
        return shown_to(ctx)(PlatformMember.from_item(ctx.access.membership))
    if offer := find_by_address(ctx, platform):
        accepted = answer(ctx, offer, ctx.user, "accept")
        return MemberOut.of(accepted.member)
    if not platform.is_published:
        raise not_found()
    if platform.join_policy != "open":
        raise Problem("forbidden", "This platform takes invited people only. Ask one of its admins to invite you.")
    return shown_to(ctx)(
        enter(ctx, PlatformMember, ctx.user, Role.MEMBER.value, ctx.access.memberships, **platform.ancestor_ids)
    )


@routes.post(
    "/platforms/{platform_id}/leave",
    success=204,
    access=require_platform_role(None),
    scope=None,
    emits="platform.member.removed",
    grants_access=True,
)
def leave_platform(ctx: Context, platform: Platform) -> None:
    """Leave a platform, and thereby its spaces; what the member had invited as such is revoked.

    The entry of the removal stands for the end of it all. A member of the organization still takes part in the platform
    as such, and without a membership of their own there is nothing to leave: `not_found`.
    """
    if ctx.access.membership is None:
        raise not_found()
    depart(ctx, PlatformMember.from_item(ctx.access.membership), PlatformDeparture, **platform.ancestor_ids)


def _renamed(ctx: Context, member: PlatformMember, username: str | None) -> PlatformMember:
    """Return a member with another username. Raises Problem `already_exists` if it was found to be another member's."""
    if username == member.username:
        return member
    if username and ctx.attempt and member.is_taken(username):
        detail = "Another member of the platform has this username, in whatever letters. Choose another."
        raise Problem.for_field("/username", "already_exists", detail)
    return ctx.changes.update(member, username=username)
