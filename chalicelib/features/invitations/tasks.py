"""What happens to an invitation at its time, and the mail that brings it."""

import time
from typing import Any, Final

from chalicelib.features.invitations.acceptance import Offer, find
from chalicelib.features.invitations.entities import Invitation, InvitationMail, PlatformInvitation, ended
from chalicelib.features.invitations.rules import accept_url, token_sent
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.purges.clearing import elsewhere
from chalicelib.kernel import jobs, mail, outbox, table, tasks
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now
from chalicelib.kernel.entity import Place
from chalicelib.kernel.logs import report
from chalicelib.kernel.outbox import Origin
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.tasks import task

_EXPIRE: Final = "invitations.expire"
_AT_ONCE: Final = 25


@task(
    _EXPIRE,
    emits={"organization.invitation.expired": Invitation, "platform.invitation.expired": PlatformInvitation},
)
def expire_invitation(message: dict[str, Any]) -> None:
    """Let a pending invitation be expired, with its entry, once its time is over; its link is dead by itself."""
    invitation = tasks.about(Invitation, message)
    if invitation and invitation.outcome is None and invitation.status == "expired":
        changes = Changes(now())
        changes.update(invitation, **ended("expired"))
        changes.since(invitation.but(outcome="pending"))
        outbox.commit(changes, f"{invitation.kind}.expired", Origin.system(_EXPIRE))


@task(InvitationMail.task)
def send_invitation(message: dict[str, Any]) -> None:
    """Send an invitation's mail, once for each sending of it, however often its message comes.

    It is tried until SES takes it, or refuses it for good, or its link leads nowhere any more. Should the worker die
    after SES took the mail and before that is stored, it is sent a second time.
    """
    job = jobs.take(InvitationMail, message)
    if job is None:
        return
    try:
        if (token := token_sent(job)) and (offer := _offered(token)):
            mail.send(offer.invitation.email, _letter(offer, token))
    except mail.Refused as refused:
        report(mail=f"given up: {refused}")
    except Problem:
        jobs.try_again(job)
        return
    jobs.remove(job)


@elsewhere
def remove_invitations(place: type[Place], place_id: str, until: float) -> bool:
    """Remove the invitations to a platform that is gone: they stand among its organization's."""
    if place is not Platform:
        return True
    for items in table.pages(PlatformInvitation.of_platform.partition(platform_id=place_id), limit=_AT_ONCE):
        if time.monotonic() > until:
            return False
        changes = Changes(now())
        for item in items:
            changes.delete(Invitation.from_item(item))
        if items:
            changes.commit()
    return True


def _offered(token: str) -> Offer | None:
    """Return what the mail's link leads to; None if there is nothing any more that its reader could accept."""
    try:
        offer = find(token, None)
    except Problem as problem:
        if problem.code == "unavailable":
            raise
        return None
    return offer if offer.invitation.status == "pending" else None


def _letter(offer: Offer, token: str) -> mail.Letter:
    invitation = offer.invitation
    return mail.write(
        "features/invitations/mail.jinja",
        inviter=offer.inviter_name,
        place=offer.place_name,
        role=invitation.role,
        message=invitation.message,
        accept_url=accept_url(token),
        email=invitation.email,
        expires_at=invitation.expires_at,
    )
