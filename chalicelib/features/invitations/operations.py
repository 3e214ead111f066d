"""Invitations to an organization: send, list, revoke, send again; and how the invited person answers."""

from dataclasses import replace

from chalicelib.features.invitations.acceptance import OUTCOMES, Offer, find, named_in_body
from chalicelib.features.invitations.entities import Invitation, ended
from chalicelib.features.invitations.models import (
    AcceptanceOut,
    AcceptanceQuery,
    Decision,
    InvitationAnswer,
    InvitationCreate,
    InvitationOut,
)
from chalicelib.features.invitations.rules import ACCEPTANCE, issue, refuse_early, refuse_raise, vouched
from chalicelib.features.invitations.sending import sent
from chalicelib.features.members.entities import Member
from chalicelib.features.members.rules import refuse_grant
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel.context import Context
from chalicelib.kernel.models import ListQuery
from chalicelib.kernel.operation import Caller, Page, RouteGroup
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.roles import Role
from chalicelib.kernel.tokens import User

routes = RouteGroup("organizations")


@routes.get(
    ACCEPTANCE,
    needs=Caller.PUBLIC, scope=None, keys=False,
    emits=("organization.invitation.accepted", "organization.invitation.declined"),
)  # fmt: skip
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


@routes.post(
    ACCEPTANCE,
    success=200, needs=Caller.USER, scope=None, also=named_in_body,
    emits=("organization.invitation.accepted", "organization.invitation.declined"),
)  # fmt: skip
def respond_to_invitation(ctx: Context, body: InvitationAnswer) -> AcceptanceOut:
    """Accept or decline an invitation.

    `not_found` stands for a token that the service didn't make, `invitation_revoked` also for a link that a later mail
    replaced or whose sender could not grant its role today, `invitation_used` for one that was answered already;
    `invitation_expired` says since when. To a member it gives no higher role: `already_member`.
    """
    return _answer(ctx, find(body.token, ctx.user, ctx.access.read), ctx.user, body.decision)


@routes.get(
    "/organizations/{organization_id}/invitations",
    needs=at_organization(Role.ADMIN), scope="members:read", emits=None,
)  # fmt: skip
def list_invitations(ctx: Context, organization: Organization, query: ListQuery) -> Page[InvitationOut]:
    """List an organization's invitations, in the order they were made."""
    return ctx.list(Invitation, Invitation.in_organization, query, InvitationOut.of, organization_id=organization.id)


@routes.get(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    needs=at_organization(Role.ADMIN), scope="members:read", emits=None,
)  # fmt: skip
def get_invitation(_ctx: Context, invitation: Invitation) -> InvitationOut:
    """Get an invitation, without its link."""
    return InvitationOut.of(invitation)


@routes.delete(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    needs=at_organization(Role.ADMIN), scope="members:write", emits="organization.invitation.revoked",
)  # fmt: skip
def revoke_invitation(ctx: Context, invitation: Invitation) -> None:
    """Revoke a pending invitation; it stays listed."""
    if invitation.status == "revoked":
        return
    _refuse_ended(invitation)
    ctx.changes.update(invitation, **ended("revoked"))


@routes.post(
    "/organizations/{organization_id}/invitations/{invitation_id}/resend",
    success=200, needs=at_organization(Role.ADMIN), scope="members:write", emits="organization.invitation.resent",
)  # fmt: skip
def resend_invitation(ctx: Context, organization: Organization, invitation: Invitation) -> InvitationOut:
    """Send a pending invitation again, with a new link and its full time; the former link is dead.

    At most once a minute, the first sending counted: else `rate_limited`. What its inviter could not grant today is
    not sent again: `invalid_transition`; what the caller could not, neither: `insufficient_role`.
    """
    _refuse_ended(invitation)
    _refuse_grant(ctx, invitation)
    refuse_early(invitation, ctx.now)
    issued = issue(organization.id, invitation.id, invitation.sending + 1, invitation.expires_in_days, ctx.now)
    ctx.require_membership()
    return sent(ctx, ctx.changes.update(invitation, **issued))


@routes.post(
    "/organizations/{organization_id}/invite",
    needs=at_organization(Role.ADMIN), scope="members:write", emits="organization.invitation.created",
    listed_at="/organizations/{organization_id}/invitations",
)  # fmt: skip
def invite_to_organization(ctx: Context, organization: Organization, body: InvitationCreate) -> InvitationOut:
    """Invite somebody to an organization; the answer holds the link to accept, once."""
    refuse_grant(Role(body.role), ctx.grantable)
    if ctx.among(Member, Member.by_email, 1, email=body.email):
        raise Problem.at("/email", "already_member", "Somebody with this address is a member already.")
    new, inviter = ctx.new(), ctx.principal.id
    invitation = Invitation(
        **new, **body.fields(), **issue(organization.id, new["id"], 1, body.expires_in_days, ctx.now),
        organization_id=organization.id, invited_by=inviter, pending_by=inviter,
        invited_as=ctx.access.membership["id"] if ctx.access.membership else None,
    )  # fmt: skip
    ctx.require_membership()
    return sent(ctx, ctx.changes.create(invitation))


def _refuse_ended(invitation: Invitation) -> None:
    if invitation.status == "accepted":
        raise Problem("invalid_transition", "The invitation is accepted: remove the member that it made instead.")
    if invitation.status != "pending":
        raise Problem("invalid_transition", f"The invitation is {invitation.status}. Invite the address again.")


def _refuse_grant(ctx: Context, invitation: Invitation) -> None:
    """Refuse to send what neither the caller nor its inviter could offer today."""
    if not ctx.grantable.covers(Role(invitation.role)):
        detail = f"It invites as {invitation.role!r}; you can grant roles up to {ctx.grantable.value!r}."
        raise Problem("insufficient_role", detail)
    by = invitation.invited_by if invitation.invited_as else None
    if not vouched(invitation, ctx.find(Member, user_id=by) if by else None):
        detail = f"Its inviter can't invite as {invitation.role!r} any more. Revoke it and invite the address again."
        raise Problem("invalid_transition", detail)


def _answer(ctx: Context, offer: Offer, user: User, decision: Decision) -> AcceptanceOut:
    if offer.answered(user, decision):
        return offer.described()
    outcome, invitation = OUTCOMES[decision], offer.invitation
    if offer.member and outcome == "accepted":
        refuse_raise(invitation, offer.member)
    member = offer.member or _joining(ctx, invitation, user) if outcome == "accepted" else None
    ctx.changes.event = f"organization.invitation.{outcome}"
    joined_as = member.id if member else None
    answered = ctx.changes.update(invitation, **ended(outcome, answered_by=user.id, joined_as=joined_as))
    if member and member is not offer.member:
        ctx.changes.create(member)
    for other in (offer.inviter, offer.member):
        if other:
            ctx.changes.require(other)  # They may be leaving, or be given another role, at this moment.
    return replace(offer, invitation=answered, member=member).described()


def _joining(ctx: Context, invitation: Invitation, user: User) -> Member:
    return Member.joining(ctx.new(), invitation.organization_id, user, Role(invitation.role))
