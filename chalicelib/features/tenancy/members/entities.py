"""The stored record of a notice to a member."""

from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.features.tenancy.mails.entities import MailJob
from chalicelib.kernel.storage.pii import PersonIdentifiers

MembershipChange = Literal["role_changed", "ownership_received", "removed"]


class MembershipNotice(MailJob):
    """The mail that tells a person about a change of their membership that somebody else made.

    `role` is the new role, and `former_role` the one before; both are None after a removal.
    """

    kind, task = "organization.membership_notice", "members.notify"

    change: MembershipChange
    user_id: str
    email: str
    role: str | None = None
    former_role: str | None = None

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return None if the notice is to the person, so that it is not sent."""
        return None if self.user_id in person.user_ids or self.email in person.emails else {}
