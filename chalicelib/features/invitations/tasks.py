"""What happens to an invitation at its time."""

from typing import Any

from chalicelib.features.invitations.entities import Invitation, ended
from chalicelib.kernel import outbox, table
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now
from chalicelib.kernel.outbox import Origin
from chalicelib.kernel.tasks import task


@task("invitations.expire")
def expire_invitation(message: dict[str, Any]) -> None:
    """Let a pending invitation be expired, with its entry, once its time is over; its link is dead by itself."""
    item = table.get((message["pk"], message["sk"]))
    invitation = Invitation.from_item(item) if item else None
    if invitation and invitation.outcome is None and invitation.status == "expired":
        changes = Changes(now())
        changes.update(invitation, **ended("expired"))
        outbox.commit(changes, "organization.invitation.expired", Origin.system("invitations.expire"))
