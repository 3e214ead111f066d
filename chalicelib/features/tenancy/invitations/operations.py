"""Invitations to an organization and its platforms: list, revoke, resend, accept and decline."""

from typing import Final

from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.features.tenancy.invitations.entities import Invitation, closing_fields
from chalicelib.features.tenancy.invitations.logic.invitation_lists import list_visible_invitations
from chalicelib.features.tenancy.invitations.logic.invitation_resolution import (
    InvitationOfToken,
    resolve_invitation_token,
)
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    ACCEPTANCE_PATH,
    INVITATION_RATE_LIMITS,
    is_inviter_valid,
    reject_resend_too_soon,
)
from chalicelib.features.tenancy.invitations.logic.responses import RESPONSE_EVENTS, record_decision_once
from chalicelib.features.tenancy.invitations.logic.sending import (
    Recipient,
    create_invitation_and_enqueue_mail,
    resend,
)
from chalicelib.features.tenancy.invitations.models import (
    AcceptanceOut,
    AcceptanceQuery,
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
from chalicelib.kernel.operations.access_rules import Caller, RoleInDescendant
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")

_REQUIRE_ADMIN: Final = require_organization_role(Role.ADMIN, policy=RoleInDescendant("platform.member"))
"""Admits admins of the organization and, for invitations to a platform, admins of that platform."""


def _require_user_for_decision(access: Access, request: Request) -> None:
    """Raise Problem 401 for a decision without a user's credential. Only the invited user can decide."""
    if "decision" in request.query and not isinstance(access.principal, User):
        raise unauthenticated("Only the invited user can decide. Send their credential, or omit the decision.")


@routes.get(
    ACCEPTANCE_PATH,
    access=Caller.PUBLIC,
    scope=None,
    allows_api_keys=False,
    has_optional_credential=True,
    emits=RESPONSE_EVENTS,
    grants_access=True,
    extra_check=_require_user_for_decision,
)
def accept_invitation(ctx: Context, query: AcceptanceQuery) -> AcceptanceOut:
    """Describe an invitation. With `decision` and the invited user's credential, accept or decline it.

    Without `decision` nothing changes, even with a credential, because mail scanners and browsers open links. A user
    sees whether they can accept it and, if not, the reason. Problems:

    - `not_found`: The service did not sign the token.
    - `invitation_revoked`: It was revoked, a later mail has another link, or its sender could not grant the role today.
    - `invitation_used`: It was accepted or declined before. The person who decided can repeat the same decision: the
      response is 200 with the same body, as long as an accepted membership exists.
    - `invitation_expired`: It has expired. The detail has the time.
    - `already_member`: The user is a member with a lower role. Invitations do not change roles.
    """
    user = ctx.principal_or_anonymous if isinstance(ctx.principal_or_anonymous, User) else None
    resolved = resolve_invitation_token(query.token, user)
    return (
        record_decision_once(ctx, resolved, user, query.decision)
        if user and query.decision
        else resolved.to_acceptance_output(user)
    )


@routes.post(
    ACCEPTANCE_PATH,
    success=200,
    access=Caller.USER,
    scope=None,
    emits=RESPONSE_EVENTS,
    grants_access=True,
)
def respond_to_invitation(ctx: Context, body: InvitationAnswer, invitation: InvitationOfToken) -> AcceptanceOut:
    """Accept or decline an invitation.

    Problems:

    - `not_found`: The service did not sign the token.
    - `invitation_revoked`: It was revoked, a later mail has another link, or its sender could not grant the role today.
    - `invitation_used`: It was accepted or declined before. The person who decided can repeat the same decision: the
      response is 200 with the same body, as long as an accepted membership exists.
    - `invitation_expired`: It has expired. The detail has the time.
    - `already_member`: The user is a member with a lower role. Invitations do not change roles.
    """
    resolved = resolve_invitation_token(body.token, ctx.user, invitation)
    return record_decision_once(ctx, resolved, ctx.user, body.decision)


@routes.get("/organizations/{organization_id}/invitations", access=_REQUIRE_ADMIN, scope="members:read", emits=None)
def list_invitations(ctx: Context, organization: Organization, query: InvitationsQuery) -> ListPage[InvitationOut]:
    """List the invitations to an organization and to its platforms, in the order in which they were created.

    Admins of a platform who are not admins of the organization see the invitations to their platforms. With `email` or
    `status`, a page may be short or empty. The list ends when `nextCursor` is null.
    """
    return list_visible_invitations(ctx, organization, ctx.access.descendants, query)


@routes.get(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    access=_REQUIRE_ADMIN,
    scope="members:read",
    emits=None,
)
def get_invitation(_ctx: Context, invitation: Invitation) -> InvitationOut:
    """Get an invitation, without its link. Admins of a platform can get the invitations to it.

    Use it to see whether the invited person has decided, until when they can, and whether the mail was sent. To get a
    new link, resend the invitation.
    """
    return InvitationOut.of(invitation)


@routes.delete(
    "/organizations/{organization_id}/invitations/{invitation_id}",
    access=_REQUIRE_ADMIN,
    scope="members:write",
    emits=("organization.invitation.revoked", "platform.invitation.revoked"),
    grants_access=True,
)
def revoke_invitation(ctx: Context, invitation: Invitation) -> None:
    """Revoke a pending invitation. It stays listed. Admins of a platform can revoke the invitations to it.

    Its link stops working at once, and the address can be invited again. An accepted invitation cannot be revoked:
    remove the member instead.
    """
    if invitation.status == "revoked":
        return
    _reject_unless_pending(invitation)
    ctx.changes.event(invitation, f"{invitation.kind}.revoked")
    ctx.changes.update(invitation, **closing_fields("revoked"))


@routes.post(
    "/organizations/{organization_id}/invitations/{invitation_id}/resend",
    success=200,
    access=_REQUIRE_ADMIN,
    scope="members:write",
    subject_user_param="invited_by",
    emits=("organization.invitation.resent", "platform.invitation.resent"),
    grants_access=True,
    rate_limits=INVITATION_RATE_LIMITS,
)
def resend_invitation(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Send a pending invitation again, with a new link and its full validity. The former link stops working.

    It can be sent once a minute, including the first time; otherwise the problem is `rate_limited`. An invitation whose
    inviter could not grant its role today is `invalid_transition`. One whose role the caller cannot grant is
    `insufficient_role`. Admins of a platform can resend the invitations to it. The mail of a new organization
    omits the message, as that of the first sending.
    """
    _reject_unless_pending(invitation)
    _require_caller_and_inviter_can_grant(ctx, invitation)
    reject_resend_too_soon(invitation, ctx.now)
    return resend(ctx, invitation)


@routes.post(
    "/organizations/{organization_id}/invite",
    access=require_organization_role(Role.ADMIN),
    scope="members:write",
    emits="organization.invitation.created",
    grants_access=True,
    collection_path="/organizations/{organization_id}/invitations",
    rate_limits=INVITATION_RATE_LIMITS,
)
def invite_to_organization(
    ctx: Context, organization: Organization, body: InvitationCreate, recipient: Recipient
) -> InvitationOut:
    """Invite somebody to an organization. Only this response contains the link to accept.

    An address receives at most 5 mails an hour and 20 a day from all organizations together. Beyond that the invitation
    is created without a mail: `sentAt` is null and `mailWithheld` is true.

    Anybody can create an organization, so the mails of a new one contain no messages. During the first day of an
    organization, the mail omits `message` unless somebody has already accepted an invitation to it.
    """
    return create_invitation_and_enqueue_mail(ctx, Invitation, body, recipient, organization_id=organization.id)


def _reject_unless_pending(invitation: Invitation) -> None:
    if invitation.status == "accepted":
        raise Problem("invalid_transition", "The invitation is accepted. Remove the member instead.")
    if invitation.status != "pending":
        raise Problem("invalid_transition", f"The invitation is {invitation.status}. Invite the address again.")


def _require_caller_and_inviter_can_grant(ctx: Context, invitation: Invitation) -> None:
    """Raise Problem if the caller or the inviter could not grant the role today, or if the platform is gone."""
    if invitation.platform_id and not ctx.access.descendants:
        raise not_found()
    if not ctx.max_grantable_role.includes(Role(invitation.role)):
        detail = f"It offers {invitation.role!r}. You can grant roles up to {ctx.max_grantable_role.value!r}."
        raise Problem("insufficient_role", detail)
    if not is_inviter_valid(invitation, ctx.access.subject_membership):
        detail = f"Its inviter cannot grant {invitation.role!r} any more. Revoke it and invite the address again."
        raise Problem("invalid_transition", detail)
