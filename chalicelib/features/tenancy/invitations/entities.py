"""What is stored of an invitation: never its token, only that token's SHA-256."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from chalicelib.features.tenancy.entities.memberships import Joined, Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.models import InvitationOut, Offered, Status
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import Collection, Container, Entity, Facet, Item, Quota, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.record_types import record_subtype
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.work.jobs import Job

MOST_PENDING: Final = 100


class Invitation(Entity):
    """An invitation to an organization. `outcome`: how it ended; `pending_by`: its inviter, as long as it has none.

    `invited_as` is the inviter's membership: it holds as long as that lasts and its role covers the invitation's. What
    an API key invited has none. `joined_as` is the membership it led to. `sending` counts how often it was
    sent, the last time at `issued_at`; `sent_at` is that moment if a mail went with it.
    `platform_id` is that of the platform that it invites to, if it is one.
    """

    kind, parameter = "organization.invitation", "invitation_id"
    pk, sk = "O#{organization_id}", "I#{id}"
    in_organization = Collection("O#{organization_id}", "I#{id}")
    with_member = Facet("O#{organization_id}#U#{pending_by}", "facet1")
    by_address = Unique(
        "invitation#{organization_id}",
        "{email}",
        error_code="already_exists",
        field="email",
        expires_at_field="expires_at",
        advice="Send that invitation again or, if it can't be sent, revoke it first.",
        applies_to=lambda invitation: invitation.outcome is None,
    )
    quota = Quota("pending invitations", "O#{organization_id}", MOST_PENDING, lambda i: i.outcome is None)
    output_model, gives_access = InvitationOut, True
    container_type: ClassVar[type[Container]] = Organization
    """Type of the container that it invites to."""
    membership_type: ClassVar[type[Joined]] = Member
    """Type of the membership that accepting it creates."""
    of_container: ClassVar[Facet]
    """The invitations to one container below the organization."""

    organization_id: str
    platform_id: str | None = None
    email: str
    role: Offered
    message: str | None = None
    expires_in_days: int
    expires_at: str
    issued_at: str | None = None
    sent_at: str | None = None
    sending: int
    token_hash: str
    invited_by: str | None = None
    invited_as: str | None = None
    pending_by: str | None = None
    outcome: Status | None = None
    answered_by: str | None = None
    joined_as: str | None = None

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the invitation that an item holds, to a container of any type."""
        kind = record_subtype(item["kind"], Invitation)
        return super(Invitation, kind).from_item(item)  # type: ignore[return-value]

    @property
    def container_ids(self) -> dict[str, str]:
        """Ids of the container that it invites to, and of its ancestors, by path parameter."""
        return {"organization_id": self.organization_id}

    @property
    def status(self) -> Status:
        """`pending`, how it ended or, by the clock, `expired`."""
        return self.outcome or ("expired" if self.expires_at <= now() else "pending")

    @property
    def mail_withheld(self) -> bool:
        """Whether no mail went with its last sending."""
        return self.sent_at is None

    @property
    def log_label(self) -> str:
        """The invited address."""
        return self.email

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """The moment it expires."""
        return None if self.outcome else ScheduledTask("invitations.expire", self.expires_at)

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return None if the person was invited; what they had invited names them no more, and holds no longer."""
        if self.email in person.emails or self.answered_by in person.user_ids:
            return None
        changed: dict[str, Any] = {**person.redact_all({"message": self.message})}
        if self.invited_by in person.user_ids:
            changed |= {"invited_by": None, "invited_as": None, **({} if self.outcome else ended("revoked"))}
        return changed


def ended(outcome: Status, **changed: Any) -> dict[str, Any]:
    """Return the fields of an invitation that ended."""
    return {"outcome": outcome, "pending_by": None, **changed}


class InvitationMail(Job):
    """The mail that brings an invitation: one for each time it is sent. It holds no token; that is derived anew.

    `recipient` is the keyed hash of the address that it goes to. `token_key` is the id of the key that made the token:
    another key would make another.
    """

    kind, task = "organization.invitation_mail", "invitations.mail"
    pk, sk = "O#{organization_id}", "L#{id}"

    organization_id: str
    invitation_id: str
    sending: int
    token_key: bytes
    recipient: str | None = None
