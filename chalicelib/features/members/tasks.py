"""What a member's departure leaves to be done."""

from typing import Any, Final

from chalicelib.features.invitations.entities import Invitation, ended
from chalicelib.features.members.entities import Departure
from chalicelib.kernel import jobs, outbox, table
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now
from chalicelib.kernel.outbox import Origin
from chalicelib.kernel.tasks import task

_REVOKED: Final = "organization.invitation.revoked"
_AT_ONCE: Final = 100


@task(Departure.task, emits={_REVOKED: Invitation})
def revoke_what_they_invited(message: dict[str, Any]) -> None:
    """Revoke the pending invitations of somebody who is no member any more, each with its entry."""
    departure = jobs.take(Departure, message)
    if departure is None:
        return
    pk = Invitation.by_inviter.pk.format(organization_id=departure.organization_id, pending_by=departure.user_id)
    for item in table.query(pk, index=Invitation.by_inviter.index, limit=_AT_ONCE).items:
        invitation = Invitation.from_item(item)
        if invitation.status == "pending" and invitation.invited_as == departure.membership_id:
            changes = Changes(now())
            changes.update(invitation, **ended("revoked"))
            outbox.commit(changes, _REVOKED, Origin.system(Departure.task))
    jobs.remove(departure)
