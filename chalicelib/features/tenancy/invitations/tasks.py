"""Tasks that expire invitations and send their mails."""

from typing import Any, Final

from chalicelib.features.tenancy.email_suppressions.entities import EmailSuppression
from chalicelib.features.tenancy.email_suppressions.logic import build_unsubscribe_url
from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail, closing_fields
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    build_acceptance_url,
    is_established_organization,
    mail_safe_name_or_none,
    reissue_token_or_none,
)
from chalicelib.features.tenancy.invitations.logic.token_resolution import ResolvedInvitation, resolve_invitation_token
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, tasks
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
        changes.update(invitation, **closing_fields("expired"))
        changes.set_diff_base(invitation.replace(outcome="pending"))
        outbox.commit(changes, f"{invitation.kind}.expired", Origin.system(_EXPIRE_TASK))


@task(InvitationMail.task)
def send_invitation(message: dict[str, Any]) -> None:
    """Send the mail of an invitation once, however often its queue message is delivered.

    A recipient who has unsubscribed gets no mail. The task retries until SES accepts or permanently rejects the mail,
    or until the link stops working. If the worker dies after SES accepted the mail and before that is stored, the mail
    is sent twice.
    """
    job = jobs.claim(InvitationMail, message)
    if job is None:
        return
    try:
        if (token := reissue_token_or_none(job)) and (resolved := _resolve_acceptable_invitation_or_none(token)):
            url = build_unsubscribe_url(job.recipient_hash) if job.recipient_hash else None
            if not (job.recipient_hash and table.get(EmailSuppression.make_item_key(address_hash=job.recipient_hash))):
                mail.send_email(
                    resolved.invitation.email, _render_invitation_email(resolved, token, url), unsubscribe_url=url
                )
    except mail.EmailRejected as rejected:
        add_fields(mail=f"given up: {rejected}")
    except Problem:
        jobs.release_with_growing_delay(job)
        return
    jobs.remove(job)


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
