"""What happens to an invitation at its time, and the mail that brings it."""

from typing import Any, Final

from chalicelib.features.tenancy.email_suppressions.entities import Suppression
from chalicelib.features.tenancy.email_suppressions.logic import unsubscribe_url
from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail, ended
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    accept_url,
    is_established,
    plain_name,
    token_sent,
)
from chalicelib.features.tenancy.invitations.logic.token_resolution import Offer, find
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_EXPIRE: Final = "invitations.expire"


@task(
    _EXPIRE,
    emits={"organization.invitation.expired": Invitation, "platform.invitation.expired": "platform.invitation"},
)
def expire_invitation(message: dict[str, Any]) -> None:
    """Let a pending invitation be expired, with its entry, once its time is over; its link is dead by itself."""
    invitation = tasks.load_record(Invitation, message)
    if invitation and invitation.outcome is None and invitation.status == "expired":
        changes = UnitOfWork(now())
        changes.update(invitation, **ended("expired"))
        changes.set_diff_base(invitation.replace(outcome="pending"))
        outbox.commit(changes, f"{invitation.kind}.expired", Origin.system(_EXPIRE))


@task(InvitationMail.task)
def send_invitation(message: dict[str, Any]) -> None:
    """Send an invitation's mail, once for each sending of it, however often its message comes.

    An address that has unsubscribed meanwhile gets none. It is tried until SES takes it, or refuses it for good, or its
    link leads nowhere any more. Should the worker die after SES took the mail and before that is stored, it is sent a
    second time.
    """
    job = jobs.claim(InvitationMail, message)
    if job is None:
        return
    try:
        if (token := token_sent(job)) and (offer := _offered(token)):
            url = unsubscribe_url(job.recipient) if job.recipient else None
            if not (job.recipient and table.get(Suppression.make_item_key(address_hash=job.recipient))):
                mail.send_email(offer.invitation.email, _letter(offer, token, url), unsubscribe_url=url)
    except mail.EmailRejected as refused:
        add_fields(mail=f"given up: {refused}")
    except Problem:
        jobs.retry_later(job)
        return
    jobs.remove(job)


def _offered(token: str) -> Offer | None:
    """Return what the mail's link leads to; None if there is nothing any more that its reader could accept."""
    try:
        offer = find(token, None)
    except Problem as problem:
        if problem.code == "unavailable":
            raise
        return None
    return offer if offer.invitation.status == "pending" else None


def _letter(offer: Offer, token: str, url: str | None) -> mail.Email:
    """Return the letter. Of an organization that nobody stands for yet it carries no text that its people wrote."""
    invitation = offer.invitation
    established = is_established(offer.organization, now())
    return mail.render_email(
        "features/tenancy/invitations/mail.jinja",
        inviter=offer.inviter_name if established else plain_name(offer.inviter_name),
        place=offer.place_name if established else plain_name(offer.place_name) or f"a new {offer.place.kind}",
        role=invitation.role,
        message=invitation.message if established else None,
        accept_url=accept_url(token),
        unsubscribe_url=url,
        email=invitation.email,
        expires_at=invitation.expires_at,
    )
