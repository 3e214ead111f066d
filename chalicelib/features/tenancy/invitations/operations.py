"""Invitations to an organization and its platforms: list, revoke, send again; and how the invited person answers."""

from typing import Final

from chalicelib.features.tenancy.entities.organizations import Organization, at_organization
from chalicelib.features.tenancy.invitations.entities import Invitation, ended
from chalicelib.features.tenancy.invitations.logic.invitation_lists import list_invited
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    ACCEPTANCE,
    INVITATION_BUDGETS,
    refuse_early,
    vouched,
)
from chalicelib.features.tenancy.invitations.logic.responses import answer
from chalicelib.features.tenancy.invitations.logic.sending import invite, recipient_named, send_again
from chalicelib.features.tenancy.invitations.logic.token_resolution import Offer, find, named_in_body
from chalicelib.features.tenancy.invitations.models import (
    AcceptanceOut,
    AcceptanceQuery,
    Decision,
    InvitationAnswer,
    InvitationCreate,
    InvitationOut,
    InvitationsQuery,
)
from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.core.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import Caller, DescendantRule
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")

_PLATFORM_ADMINS: Final = DescendantRule("platform.member")
_ADMINS: Final = at_organization(Role.ADMIN, allow_descendant_role=_PLATFORM_ADMINS)
"""Those of the organization and, for what is about a platform, that platform's."""

_ANSWERS: Final = (
    "organization.invitation.accepted",
    "organization.invitation.declined",
    "platform.invitation.accepted",
    "platform.invitation.declined",
)


def _refuse_undecided(access: Access, request: Request) -> None:
    """Raise Problem 401 for a decision that is nobody's: only the invited user's credential decides."""
    if "decision" in request.query and not isinstance(access.principal, User):
        raise unauthenticated("Only the invited user decides. Send their credential, or leave the decision out.")


@routes.get(
    ACCEPTANCE,
    access=Caller.PUBLIC,
    scope=None,
    allows_api_keys=False,
    emits=_ANSWERS,
    grants_access=True,
    extra_check=_refuse_undecided,
)
def accept_invitation(ctx: Context, query: AcceptanceQuery) -> AcceptanceOut:
    """Describe an invitation; with `decision` and the invited user's credential, accept or decline it.

    Without `decision` nothing changes, with a credential neither: mail scanners and browsers open links unasked. A user
    is told whether they can accept it, and if not, why. `not_found` stands for a token that the service didn't make,
    `invitation_revoked` also for a link that a later mail replaced or whose sender could not grant its role today,
    `invitation_used` for one that was answered already; `invitation_expired` says since when. To a member it gives no
    higher role: `already_member`.
    """
    user = ctx.principal if isinstance(ctx.principal, User) else None
    offer = find(query.token, user)
    return _answer(ctx, offer, user, query.decision) if user and query.decision else offer.described(user)


@routes.post(
    ACCEPTANCE, success=200, access=Caller.USER, scope=None, prefetch=named_in_body, emits=_ANSWERS, grants_access=True
)
def respond_to_invitation(ctx: Context, body: InvitationAnswer) -> AcceptanceOut:
    """Accept or decline an invitation.

    `not_found` stands for a token that the service didn't make, `invitation_revoked` also for a link that a later mail
    replaced or whose sender could not grant its role today, `invitation_used` for one that was answered already;
    `invitation_expired` says since when. To a member it gives no higher role: `already_member`.
    """
    return _answer(ctx, find(body.token, ctx.user, ctx.access.prefetched), ctx.user, body.decision)


@routes.get("/organizations/{organization_id}/invitations", access=_ADMINS, scope="members:read", emits=None)
def list_invitations(ctx: Context, organization: Organization, query: InvitationsQuery) -> ListPage[InvitationOut]:
    """List the invitations to an organization and to its platforms, in the order they were made.

    A platform's admins who are no admins of the organization see those to their platforms.
    """
    return list_invited(ctx, organization, ctx.access.descendants, query)


@routes.get(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    access=_ADMINS,
    scope="members:read",
    emits=None,
)
def get_invitation(_ctx: Context, invitation: Invitation) -> InvitationOut:
    """Get an invitation, without its link. One to a platform is there for that platform's admins too."""
    return InvitationOut.of(invitation)


@routes.delete(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    access=_ADMINS,
    scope="members:write",
    emits=("organization.invitation.revoked", "platform.invitation.revoked"),
    grants_access=True,
)
def revoke_invitation(ctx: Context, invitation: Invitation) -> None:
    """Revoke a pending invitation; it stays listed. One to a platform that platform's admins can revoke too."""
    if invitation.status == "revoked":
        return
    _refuse_ended(invitation)
    ctx.changes.event = f"{invitation.kind}.revoked"
    ctx.changes.update(invitation, **ended("revoked"))


@routes.post(
    "/organizations/{organization_id}/invitations/{invitation_id}/resend",
    success=200,
    access=_ADMINS,
    scope="members:write",
    subject_user_param="invited_by",
    emits=("organization.invitation.resent", "platform.invitation.resent"),
    grants_access=True,
    rate_limits=INVITATION_BUDGETS,
)
def resend_invitation(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Send a pending invitation again, with a new link and its full time; the former link is dead.

    At most once a minute, the first sending counted: else `rate_limited`. What its inviter could not grant today is
    not sent again: `invalid_transition`; what the caller could not, neither: `insufficient_role`. A platform's admins
    can send those to it again too.
    """
    _refuse_ended(invitation)
    _refuse_grant(ctx, invitation)
    refuse_early(invitation, ctx.now)
    ctx.changes.event = f"{invitation.kind}.resent"
    return send_again(ctx, invitation)


@routes.post(
    "/organizations/{organization_id}/invite",
    access=at_organization(Role.ADMIN),
    scope="members:write",
    emits="organization.invitation.created",
    grants_access=True,
    collection_path="/organizations/{organization_id}/invitations",
    prefetch=recipient_named,
    rate_limits=INVITATION_BUDGETS,
)
def invite_to_organization(ctx: Context, organization: Organization, body: InvitationCreate) -> InvitationOut:
    """Invite somebody to an organization; the answer holds the link to accept, once.

    An address gets 5 mails an hour and 20 a day from all organizations together. Beyond that it is invited all the
    same, without a mail: `sentAt` is null then and `mailWithheld` true.
    """
    return invite(ctx, Invitation, body, organization_id=organization.id)


def _refuse_ended(invitation: Invitation) -> None:
    if invitation.status == "accepted":
        raise Problem("invalid_transition", "The invitation is accepted: remove the member that it made instead.")
    if invitation.status != "pending":
        raise Problem("invalid_transition", f"The invitation is {invitation.status}. Invite the address again.")


def _refuse_grant(ctx: Context, invitation: Invitation) -> None:
    """Refuse to send what neither the caller nor its inviter could offer today, or what leads nowhere."""
    if invitation.platform_id and not ctx.access.descendants:
        raise not_found()
    if not ctx.max_grantable_role.includes(Role(invitation.role)):
        detail = f"It invites as {invitation.role!r}; you can grant roles up to {ctx.max_grantable_role.value!r}."
        raise Problem("insufficient_role", detail)
    if not vouched(invitation, ctx.access.subject_membership):
        detail = f"Its inviter can't invite as {invitation.role!r} any more. Revoke it and invite the address again."
        raise Problem("invalid_transition", detail)


def _answer(ctx: Context, offer: Offer, user: User, decision: Decision) -> AcceptanceOut:
    answered = offer.answered(user, decision)
    return (offer if answered else answer(ctx, offer, user, decision)).described(user)
