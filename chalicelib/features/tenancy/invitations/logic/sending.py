"""Sending an invitation, the first time and again."""

from collections.abc import Mapping

from pydantic import ValidationError

from chalicelib.features.tenancy.email_suppressions.logic import suppression_key
from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    accept_url,
    issue,
    mails_to,
    token_of,
    vouching,
)
from chalicelib.features.tenancy.invitations.models import InvitationCreate, InvitationOut
from chalicelib.features.tenancy.logic.members_by_email import users_with_address
from chalicelib.features.tenancy.logic.membership_rules import refuse_grant
from chalicelib.kernel.core.case_folding import address_spellings
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import signatures
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.email_hashes import keyed_hash
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey


def invite(ctx: Context, kind: type[Invitation], body: InvitationCreate, **names: str) -> InvitationOut:
    """Invite somebody to the place at hand, which the names lead to; return the invitation with its link."""
    refuse_grant(Role(body.role), ctx.max_grantable_role)
    if users_with_address(kind.membership_type, address_spellings(body.email), **ctx.ids):
        raise Problem.for_field("/email", "already_member", "Somebody with this address is a member already.")
    new, inviter = ctx.new_record_fields(), ctx.principal.id
    mailed = reserve_mail(ctx, body.email, ctx.access.prefetched)
    invitation = kind(
        **{**new, **body.fields(), **names},
        invited_by=inviter,
        pending_by=inviter,
        invited_as=vouching(ctx.access.memberships),
        **issue(names["organization_id"], new["id"], 1, body.expires_in_days, ctx.now, mailed=mailed),
    )
    return sent(ctx, ctx.changes.create(invitation))


def send_again(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Send an invitation with a new link and its full time; return it with that link."""
    mailed = reserve_mail(ctx, invitation.email, table.get_all(_keys_of(invitation.email)))
    issued = issue(
        invitation.organization_id,
        invitation.id,
        invitation.sending + 1,
        invitation.expires_in_days,
        ctx.now,
        mailed=mailed,
    )
    return sent(ctx, ctx.changes.update(invitation, **issued))


def recipient_named(request: Request) -> list[ItemKey]:
    """Return where it stands of the address that a body names, if it is one, whether it may get a mail."""
    try:
        asked = InvitationCreate.model_validate({"email": request.unvalidated_body.get("email")})
    except ValidationError:
        return []
    return _keys_of(asked.email)


def _keys_of(address: str) -> list[ItemKey]:
    return [suppression_key(address), *(purse.key for purse in mails_to(address))]


def reserve_mail(ctx: Context, address: str, read: Mapping[ItemKey, Item]) -> bool:
    """Return whether a mail may go to an address now, and count it with the change at hand if so.

    `read`: what it was read with. An address that wants none gets none.
    """
    if suppression_key(address) in read:
        return False
    shares = [purse.state_if_left(read.get(purse.key), ctx.now) for purse in mails_to(address)]
    left = [share for share in shares if share]
    if len(left) < len(shares):
        return False
    for share in left:
        ctx.changes.add_write(share.write())
    return True


def sent(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Let an invitation's mail go out with the change at hand, if the service sends any; return it with its link."""
    token = token_of(invitation.organization_id, invitation.id, invitation.sending)
    if settings().mail_from and not invitation.mail_withheld:
        mail = InvitationMail(
            **ctx.new_record_fields(),
            organization_id=invitation.organization_id,
            invitation_id=invitation.id,
            sending=invitation.sending,
            token_key=signatures.key_id_of(token),
            turn_at=ctx.now,
            recipient=keyed_hash(invitation.email).hex(),
        )
        ctx.changes.enqueue_after_commit(InvitationMail.task, ctx.changes.create(mail))
    return InvitationOut.of(invitation, accept_url=accept_url(token))
