"""Sending an invitation, the first time and again."""

from chalicelib.features.invitations.entities import Invitation, InvitationMail
from chalicelib.features.invitations.models import InvitationCreate, InvitationOut
from chalicelib.features.invitations.rules import accept_url, issue, token_of, vouching
from chalicelib.features.members.rules import refuse_grant
from chalicelib.kernel import signing
from chalicelib.kernel.context import Context
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.roles import Role
from chalicelib.kernel.settings import settings


def invite(ctx: Context, kind: type[Invitation], body: InvitationCreate, **names: str) -> InvitationOut:
    """Invite somebody to the place at hand, which the names lead to; return the invitation with its link."""
    refuse_grant(Role(body.role), ctx.grantable)
    if ctx.among(kind.membership, kind.membership.by_email, 1, email=body.email):
        raise Problem.at("/email", "already_member", "Somebody with this address is a member already.")
    new, inviter = ctx.new(), ctx.principal.id
    invitation = kind(
        **{**new, **body.fields(), **names}, invited_by=inviter, pending_by=inviter,
        invited_as=vouching(ctx.access.standing),
        **issue(names["organization_id"], new["id"], 1, body.expires_in_days, ctx.now),
    )  # fmt: skip
    ctx.require_membership()
    return sent(ctx, ctx.changes.create(invitation))


def sent(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Let an invitation's mail go out with the change at hand, if the service sends any; return it with its link."""
    token = token_of(invitation.organization_id, invitation.id, invitation.sending)
    if settings().mail_from:
        mail = InvitationMail(
            **ctx.new(), organization_id=invitation.organization_id, invitation_id=invitation.id,
            sending=invitation.sending, token_key=signing.key_of(token), turn_at=ctx.now,
        )  # fmt: skip
        ctx.changes.start(InvitationMail.task, ctx.changes.create(mail))
    return InvitationOut.of(invitation, accept_url=accept_url(token))
