"""The stored records of invitations. A token is stored only as its SHA-256."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from chalicelib.features.tenancy.entities.memberships import ContainerMember, Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.models import InvitableRole, InvitationOut, InvitationStatus
from chalicelib.features.tenancy.mails.entities import MailJob
from chalicelib.kernel.core.clock import now, timestamp_ms
from chalicelib.kernel.storage.entity import Collection, Container, Entity, Facet, Item, ScheduledTask
from chalicelib.kernel.storage.log_rules import LogRules, Removal, entries_about_others
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.record_types import get_record_type_of_base
from chalicelib.kernel.storage.unique_values import Unique

MAX_PENDING_INVITATIONS: Final = 100
"""Pending invitations of an organization."""

PENDING_INVITATIONS_QUOTA: Final = Quota(
    "pending invitations", "O#{organization_id}", MAX_PENDING_INVITATIONS, lambda invitation: invitation.outcome is None
)
"""The limit of pending invitations, whose counter also tells their number."""

_INVITATION_PATH: Final = "/organizations/{organization_id}/invitations/{existing_id}"
PENDING_INVITATION_ADVICE: Final = (
    f"To send it again, use POST {_INVITATION_PATH}/resend. To invite with another role or message, revoke it first"
    f" with DELETE {_INVITATION_PATH}."
)
"""What to do if the invited address has a pending invitation."""


def address_partition(email: str) -> str:
    """Return the partition with an item for each invitation to an address, in the order of their creation.

    The items are stored until the invitations expire, also if these end before. So the invited person learns how one
    ended, and can repeat their decision.
    """
    return f"INVITED#{email}"


class Invitation(Entity):
    """An invitation to an organization.

    `outcome` is how it ended, and `pending_inviter_id` its inviter until then. `inviter_membership_id` is the inviter's
    membership; the invitation is valid while that membership exists and its role includes the invitation's. It is None
    for invitations by an API key. `accepted_membership_id` is the membership that accepting it created. `send_count`
    counts how often it was sent, the last time at `issued_at`; `sent_at` is that time if a mail was sent. `platform_id`
    is set in an invitation to a platform.
    """

    kind, parameter = "organization.invitation", "invitation_id"
    pk, sk = "O#{organization_id}", "I#{id}"
    in_organization = Collection("O#{organization_id}", "I#{id}")
    with_member = Facet("O#{organization_id}#U#{pending_inviter_id}", "facet1")
    by_address = Unique(
        "invitation#{organization_id}",
        "{email}",
        error_code="already_exists",
        field="email",
        expires_at_field="expires_at",
        advice=PENDING_INVITATION_ADVICE,
        applies_to=lambda invitation: invitation.outcome is None,
    )
    quota = PENDING_INVITATIONS_QUOTA
    output_model, gives_access = InvitationOut, True
    log_rules = LogRules(
        changed_by=entries_about_others("organization.member.removed", "platform.member.removed"),
        removed_by={"platform.deleted": lambda entry: Removal(fields={"platform_id": entry["target"]["id"]})},
        # The item of an ended invitation has a time to live, and former releases removed it when the invitation ended.
        requires_derived_items=lambda invitation: invitation.outcome is None,
    )
    attribute_names: ClassVar = {
        "send_count": "sending",
        "inviter_membership_id": "invited_as",
        "pending_inviter_id": "pending_by",
        "accepted_membership_id": "joined_as",
    }
    container_type: ClassVar[type[Container]] = Organization
    """Type of the container to which it invites."""
    membership_type: ClassVar[type[ContainerMember]] = Member
    """Type of the membership that accepting it creates."""
    of_container: ClassVar[Facet]
    """Index of the invitations to a container below the organization."""

    organization_id: str
    platform_id: str | None = None
    email: str
    role: InvitableRole
    message: str | None = None
    expires_in_days: int
    expires_at: str
    issued_at: str | None = None
    sent_at: str | None = None
    send_count: int
    token_hash: str
    invited_by: str | None = None
    inviter_membership_id: str | None = None
    pending_inviter_id: str | None = None
    outcome: InvitationStatus | None = None
    answered_by: str | None = None
    accepted_membership_id: str | None = None

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the invitation that an item contains, whatever its container's type."""
        kind = get_record_type_of_base(item["kind"], Invitation)
        return super(Invitation, kind).from_item(item)  # type: ignore[return-value]

    @property
    def container_ids_by_parameter(self) -> dict[str, str]:
        """Return the ids of its container and of the container's ancestors, by path parameter."""
        return {"organization_id": self.organization_id}

    @property
    def status(self) -> InvitationStatus:
        """Return the outcome or, without one, `pending` or `expired` by the clock."""
        return self.outcome or ("expired" if self.expires_at <= now() else "pending")

    @property
    def mail_withheld(self) -> bool:
        """Return whether its last sending was without a mail."""
        return self.sent_at is None

    @property
    def audit_log_label(self) -> str:
        """Return the invited address."""
        return self.email

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the item that finds the invitation for the invited person, whatever its organization."""
        ttl = math.ceil(timestamp_ms(self.expires_at) / 1000)
        key = {"pk": address_partition(self.email), "sk": self.id}
        return ({**key, "organization_id": self.organization_id, "ttl": ttl},)

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task that runs when the invitation expires."""
        return None if self.outcome else ScheduledTask("invitations.expire", self.expires_at)

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return None if the person was invited. Invitations sent by the person are revoked and no longer name them."""
        if self.email in person.emails or self.answered_by in person.user_ids:
            return None
        changed: dict[str, Any] = {**person.redacted_field_changes({"message": self.message})}
        if self.invited_by in person.user_ids:
            changed |= {
                "invited_by": None,
                "inviter_membership_id": None,
                **({} if self.outcome else closing_fields("revoked")),
            }
        return changed


def closing_fields(outcome: InvitationStatus, **changed: Any) -> dict[str, Any]:
    """Return the fields of an invitation that is no longer pending."""
    return {"outcome": outcome, "pending_inviter_id": None, **changed}


class InvitationMail(MailJob):
    """A mail that delivers an invitation, one for each time it is sent. The token is derived again, not stored.

    `token_key_id` is the id of the key that signed the token, since another key would produce another token. The mail
    is counted towards the limits of the recipient when the invitation is sent.
    """

    kind, task = "organization.invitation_mail", "invitations.mail"

    attribute_names: ClassVar = {"send_count": "sending", "token_key_id": "token_key"}

    invitation_id: str
    send_count: int
    token_key_id: bytes
    is_counted: bool = True
