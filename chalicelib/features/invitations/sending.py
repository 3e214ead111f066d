"""Sending an invitation, the first time and again."""

from chalicelib.features.invitations.entities import Invitation, InvitationMail
from chalicelib.features.invitations.models import InvitationOut
from chalicelib.features.invitations.rules import accept_url
from chalicelib.kernel.context import Context
from chalicelib.kernel.settings import settings


def sent(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Let an invitation's mail go out with the change at hand, if the service sends any; return it with its link."""
    if settings().mail_from:
        mail = InvitationMail(
            **ctx.new(), organization_id=invitation.organization_id, invitation_id=invitation.id,
            sending=invitation.sending, turn_at=ctx.now,
        )  # fmt: skip
        ctx.changes.start(InvitationMail.task, ctx.changes.create(mail))
    return InvitationOut.of(invitation, accept_url=accept_url(invitation))
