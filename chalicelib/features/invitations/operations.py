"""Invitations to an organization and its platforms: list, revoke, send again; and how the invited person answers."""

from typing import Final

from chalicelib.features.invitations.acceptance import Offer, find, named_in_body
from chalicelib.features.invitations.answering import answer
from chalicelib.features.invitations.entities import Invitation, ended
from chalicelib.features.invitations.models import (
    AcceptanceOut,
    AcceptanceQuery,
    Decision,
    InvitationAnswer,
    InvitationCreate,
    InvitationOut,
    InvitationsQuery,
)
from chalicelib.features.invitations.reach import list_invited
from chalicelib.features.invitations.rules import ACCEPTANCE, issue, refuse_early, vouched
from chalicelib.features.invitations.sending import invite, sent
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.features.platform_members.entities import PlatformMember
from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel.context import Context
from chalicelib.kernel.operation import Below, Caller, Page, RouteGroup
from chalicelib.kernel.problems import Problem, not_found
from chalicelib.kernel.roles import Role
from chalicelib.kernel.tokens import User

routes = RouteGroup("organizations")

_ADMINS: Final = at_organization(Role.ADMIN, or_below=Below(Platform, PlatformMember.of_user))
"""Those of the organization and, for what is about a platform, that platform's."""

_ANSWERS: Final = (
    "organization.invitation.accepted", "organization.invitation.declined", "platform.invitation.accepted",
    "platform.invitation.declined",
)  # fmt: skip


@routes.get(ACCEPTANCE, needs=Caller.PUBLIC, scope=None, keys=False, emits=_ANSWERS)
def accept_invitation(ctx: Context, query: AcceptanceQuery) -> AcceptanceOut:
    """Accept or decline an invitation with the invited user's credential; without any it is only described.

    So a mail scanner that opens the link changes nothing. `not_found` stands for a token that the service didn't make,
    `invitation_revoked` also for a link that a later mail replaced or whose sender could not grant its role today,
    `invitation_used` for one that was answered already; `invitation_expired` says since when. To a member it gives no
    higher role: `already_member`.
    """
    user = ctx.principal if isinstance(ctx.principal, User) else None
    offer = find(query.token, user)
    return _answer(ctx, offer, user, query.decision) if user else offer.described()


@routes.post(ACCEPTANCE, success=200, needs=Caller.USER, scope=None, also=named_in_body, emits=_ANSWERS)
def respond_to_invitation(ctx: Context, body: InvitationAnswer) -> AcceptanceOut:
    """Accept or decline an invitation.

    `not_found` stands for a token that the service didn't make, `invitation_revoked` also for a link that a later mail
    replaced or whose sender could not grant its role today, `invitation_used` for one that was answered already;
    `invitation_expired` says since when. To a member it gives no higher role: `already_member`.
    """
    return _answer(ctx, find(body.token, ctx.user, ctx.access.read), ctx.user, body.decision)


@routes.get("/organizations/{organization_id}/invitations", needs=_ADMINS, scope="members:read", emits=None)
def list_invitations(ctx: Context, organization: Organization, query: InvitationsQuery) -> Page[InvitationOut]:
    """List the invitations to an organization and to its platforms, in the order they were made.

    A platform's admins who are no admins of the organization see those to their platforms.
    """
    return list_invited(ctx, organization, ctx.access.below, query)


@routes.get(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    needs=_ADMINS, scope="members:read", emits=None,
)  # fmt: skip
def get_invitation(_ctx: Context, invitation: Invitation) -> InvitationOut:
    """Get an invitation, without its link. One to a platform is there for that platform's admins too."""
    return InvitationOut.of(invitation)


@routes.delete(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    needs=_ADMINS, scope="members:write", emits=("organization.invitation.revoked", "platform.invitation.revoked"),
)  # fmt: skip
def revoke_invitation(ctx: Context, invitation: Invitation) -> None:
    """Revoke a pending invitation; it stays listed. One to a platform that platform's admins can revoke too."""
    if invitation.status == "revoked":
        return
    _refuse_ended(invitation)
    ctx.changes.event = f"{invitation.kind}.revoked"
    ctx.changes.update(invitation, **ended("revoked"))


@routes.post(
    "/organizations/{organization_id}/invitations/{invitation_id}/resend",
    success=200, needs=_ADMINS, scope="members:write", whose="invited_by",
    emits=("organization.invitation.resent", "platform.invitation.resent"),
)  # fmt: skip
def resend_invitation(ctx: Context, organization: Organization, invitation: Invitation) -> InvitationOut:
    """Send a pending invitation again, with a new link and its full time; the former link is dead.

    At most once a minute, the first sending counted: else `rate_limited`. What its inviter could not grant today is
    not sent again: `invalid_transition`; what the caller could not, neither: `insufficient_role`. A platform's admins
    can send those to it again too.
    """
    _refuse_ended(invitation)
    _refuse_grant(ctx, invitation)
    refuse_early(invitation, ctx.now)
    issued = issue(organization.id, invitation.id, invitation.sending + 1, invitation.expires_in_days, ctx.now)
    ctx.require_membership()
    ctx.changes.event = f"{invitation.kind}.resent"
    return sent(ctx, ctx.changes.update(invitation, **issued))


@routes.post(
    "/organizations/{organization_id}/invite",
    needs=at_organization(Role.ADMIN), scope="members:write", emits="organization.invitation.created",
    listed_at="/organizations/{organization_id}/invitations",
)  # fmt: skip
def invite_to_organization(ctx: Context, organization: Organization, body: InvitationCreate) -> InvitationOut:
    """Invite somebody to an organization; the answer holds the link to accept, once."""
    return invite(ctx, Invitation, body, organization_id=organization.id)


def _refuse_ended(invitation: Invitation) -> None:
    if invitation.status == "accepted":
        raise Problem("invalid_transition", "The invitation is accepted: remove the member that it made instead.")
    if invitation.status != "pending":
        raise Problem("invalid_transition", f"The invitation is {invitation.status}. Invite the address again.")


def _refuse_grant(ctx: Context, invitation: Invitation) -> None:
    """Refuse to send what neither the caller nor its inviter could offer today, or what leads nowhere."""
    if invitation.platform_id and not ctx.access.below:
        raise not_found()
    if not ctx.grantable.covers(Role(invitation.role)):
        detail = f"It invites as {invitation.role!r}; you can grant roles up to {ctx.grantable.value!r}."
        raise Problem("insufficient_role", detail)
    if not vouched(invitation, ctx.access.other):
        detail = f"Its inviter can't invite as {invitation.role!r} any more. Revoke it and invite the address again."
        raise Problem("invalid_transition", detail)


def _answer(ctx: Context, offer: Offer, user: User, decision: Decision) -> AcceptanceOut:
    answered = offer.answered(user, decision)
    return (offer if answered else answer(ctx, offer, user, decision)).described()
