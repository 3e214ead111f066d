"""Sending invitations, for the first time and again."""

from collections.abc import Mapping

from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    build_acceptance_url,
    build_send_fields,
    create_token,
    outermost_admin_membership_id,
)
from chalicelib.features.tenancy.invitations.models import InvitationCreate, InvitationOut
from chalicelib.features.tenancy.logic.email_hashes import email_hmac_bytes
from chalicelib.features.tenancy.logic.members_by_email import find_user_ids_with_emails
from chalicelib.features.tenancy.logic.membership_rules import reject_ungrantable_role
from chalicelib.features.tenancy.mails.logic import mail_limit_states_or_none_if_withheld, recipient_item_keys
from chalicelib.kernel.core.case_folding import email_spellings_by_domain_encoding
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.work import jobs


class Recipient(Prefetched):
    """What determines whether the address in the body may receive a mail."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the item keys of the limits and the suppression of the address."""
        email_address = values.body_field_or_none("email")
        return _recipient_keys(email_address) if email_address else []


def _recipient_keys(email_address: str) -> list[ItemKey]:
    return recipient_item_keys(email_hmac_bytes(email_address).hex())


def create_invitation_and_enqueue_mail(
    ctx: Context,
    invitation_type: type[Invitation],
    body: InvitationCreate,
    recipient: Recipient,
    **container_ids: str,
) -> InvitationOut:
    """Invite an address to the current container, and return the invitation with its link."""
    reject_ungrantable_role(Role(body.role), ctx.max_grantable_role)
    if find_user_ids_with_emails(
        invitation_type.membership_type,
        email_spellings_by_domain_encoding(body.email),
        **ctx.container_ids_by_parameter,
    ):
        raise Problem.create_with_field_error(
            "/email", "already_member", "Somebody with this address is a member already."
        )
    record_fields, inviter_id = ctx.new_id_and_time_fields(), ctx.principal_or_anonymous.id
    mailed = try_reserve_mail(ctx, body.email, recipient.items)
    invitation = invitation_type(
        **{**record_fields, **body.to_stored_fields_with_defaults(), **container_ids},
        invited_by=inviter_id,
        pending_inviter_id=inviter_id,
        inviter_membership_id=outermost_admin_membership_id(ctx.access.memberships),
        **build_send_fields(
            container_ids["organization_id"], record_fields["id"], 1, body.expires_in_days, ctx.now, mailed=mailed
        ),
    )
    return enqueue_mail_and_build_output(ctx, ctx.changes.event(ctx.changes.create(invitation)))


def resend(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Send an invitation again with a new link and its full validity, and return it with that link."""
    mailed = try_reserve_mail(ctx, invitation.email, table.get_all(_recipient_keys(invitation.email)))
    send_fields = build_send_fields(
        invitation.organization_id,
        invitation.id,
        invitation.send_count + 1,
        invitation.expires_in_days,
        ctx.now,
        mailed=mailed,
    )
    ctx.changes.event(invitation, f"{invitation.kind}.resent")
    return enqueue_mail_and_build_output(ctx, ctx.changes.update(invitation, **send_fields))


def try_reserve_mail(ctx: Context, email_address: str, prefetched: Mapping[ItemKey, Item]) -> bool:
    """Return whether an address may receive a mail now. If so, count the mail with the current unit of work.

    `prefetched`: the items of `Recipient`. A suppressed address receives none.
    """
    states = mail_limit_states_or_none_if_withheld(email_hmac_bytes(email_address).hex(), prefetched, ctx.now)
    for state in states or ():
        ctx.changes.add_write(state.count_request_write())
    return states is not None


def enqueue_mail_and_build_output(ctx: Context, invitation: Invitation) -> InvitationOut:
    """Enqueue the mail of an invitation, if the service sends any, and return the invitation with its link."""
    token = create_token(invitation.organization_id, invitation.id, invitation.send_count)
    if settings().mail_from and not invitation.mail_withheld:
        mail = InvitationMail(
            **ctx.new_id_and_time_fields(),
            organization_id=invitation.organization_id,
            invitation_id=invitation.id,
            send_count=invitation.send_count,
            token_key_id=symmetric.key_id_of(token),
            lease_until=ctx.now,
            recipient_hash=email_hmac_bytes(invitation.email).hex(),
        )
        jobs.create_and_enqueue_after_commit(ctx.changes, mail)
    return InvitationOut.of(invitation, accept_url=build_acceptance_url(token))
