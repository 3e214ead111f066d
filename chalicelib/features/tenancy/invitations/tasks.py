"""Tasks that expire invitations and send their mails."""

from typing import Any, Final

from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail, closing_fields
from chalicelib.features.tenancy.invitations.logic.invitation_resolution import (
    ResolvedInvitation,
    resolve_invitation_token,
)
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    build_acceptance_url,
    reissue_token_or_none,
)
from chalicelib.features.tenancy.mails.logic import (
    AddressedEmail,
    is_established_organization,
    mail_safe_name_or_none,
    send_once,
)
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_EXPIRE_TASK: Final = "invitations.expire"


@task(
    _EXPIRE_TASK,
    emits={"organization.invitation.expired": Invitation, "platform.invitation.expired": "platform.invitation"},
)
def expire_invitation(message: dict[str, Any]) -> None:
    """Record that a pending invitation has expired, with a log entry. Its link stopped working at that time."""
    invitation = tasks.load_record_or_none(Invitation, message)
    if invitation and invitation.outcome is None and invitation.status == "expired":
        changes = UnitOfWork(now())
        changes.event(invitation, f"{invitation.kind}.expired", before=invitation.replace(outcome="pending"))
        changes.update(invitation, **closing_fields("expired"))
        outbox.commit(changes, Origin.system(_EXPIRE_TASK))


@task(InvitationMail.task)
def send_invitation(message: dict[str, Any]) -> None:
    """Send the mail of an invitation, until its link stops working."""
    send_once(InvitationMail, message, _render_if_acceptable)


def _render_if_acceptable(job: InvitationMail, unsubscribe_url: str | None) -> AddressedEmail | None:
    token = reissue_token_or_none(job)
    resolved = _resolve_acceptable_invitation_or_none(token) if token else None
    if not (token and resolved):
        return None
    return AddressedEmail(resolved.invitation.email, _render_invitation_email(resolved, token, unsubscribe_url))


def _resolve_acceptable_invitation_or_none(token: str) -> ResolvedInvitation | None:
    """Return the invitation to which the mail's link leads, or None if the recipient could not accept it any more."""
    try:
        resolved = resolve_invitation_token(token, None)
    except Problem as problem:
        if problem.code == "unavailable":
            raise
        return None
    return resolved if resolved.invitation.status == "pending" else None


def _render_invitation_email(resolved: ResolvedInvitation, token: str, unsubscribe_url: str | None) -> mail.Email:
    """Return the mail. A new organization's mails contain no text that its members wrote."""
    invitation = resolved.invitation
    may_include_texts = is_established_organization(resolved.organization, now())
    return mail.render_email(
        "features/tenancy/invitations/mail.jinja",
        inviter=resolved.inviter_name if may_include_texts else mail_safe_name_or_none(resolved.inviter_name),
        place=resolved.container_name
        if may_include_texts
        else mail_safe_name_or_none(resolved.container_name) or f"a new {resolved.container.kind}",
        role=invitation.role,
        message=invitation.message if may_include_texts else None,
        accept_url=build_acceptance_url(token),
        unsubscribe_url=unsubscribe_url,
        email=invitation.email,
        expires_at=invitation.expires_at,
    )
