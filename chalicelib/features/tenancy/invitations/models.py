"""Requests and responses of the operations on invitations."""

from typing import ClassVar, Literal

from pydantic import Field

from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.http.fields import Email, Text, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, Output, Query, RecordOutput
from chalicelib.kernel.http.principal_ids import PrincipalId

InvitableRole = Literal["member", "editor", "admin"]
InvitationStatus = Literal["pending", "accepted", "declined", "revoked", "expired"]
Decision = Literal["accept", "decline"]
Obstacle = Literal["email_mismatch", "already_member", "invitation_used"]


class InvitationCreate(Input):
    """The address to invite, the role to offer, and how long the offer is valid.

    Nobody can offer a role above their own.
    """

    email: Email = Field(examples=["grace@example.com"])
    role: InvitableRole = Field("member", description="At most the caller's own.", examples=["editor"])
    message: Text | None = Field(
        None,
        description="A message to the invited person. The mail omits it during the first day of the organization, "
        "unless somebody has already accepted an invitation to it.",
        examples=["Come and join us."],
    )
    expires_in_days: int = Field(
        7, ge=1, le=30, description="Counted from the time it is sent, also when it is sent again.", examples=[7]
    )


class InvitationsQuery(ListQuery):
    """Which of an organization's invitations to list."""

    platform_id: Uuid | None = Field(None, description="Only invitations to this platform.", examples=[None])
    email: Email | None = Field(None, description="Only invitations to this address.", examples=[None])
    status: InvitationStatus | None = Field(
        None, description="Only invitations with this status. A page may be short or empty.", examples=[None]
    )

    def matches(self, email: str, status: InvitationStatus) -> bool:
        """Return whether an invitation with these values is listed, whatever its platform."""
        return self.email in (None, email) and self.status in (None, status)


class InvitationOut(RecordOutput):
    """An offer of a role in an organization or a platform, sent to an e-mail address.

    Only the responses that send it contain the link to accept it.
    """

    secret_fields: ClassVar[frozenset[str]] = frozenset({"accept_url"})

    platform_id: Uuid | None = Field(
        description="The platform to which it invites. Null: the organization.", examples=[None]
    )
    email: str = Field(examples=["grace@example.com"])
    role: InvitableRole = Field(examples=["editor"])
    message: str | None = Field(
        description="The message to the invited person. The mail omits it during the first day of the organization, "
        "unless somebody has already accepted an invitation to it.",
        examples=["Come and join us."],
    )
    expires_in_days: int = Field(examples=[7])
    status: InvitationStatus = Field(examples=["pending"])
    expires_at: Timestamp = Field(examples=["2026-11-27T09:30:00.000Z"])
    invited_by: PrincipalId | None = Field(description="Id of the user or API key. Null after the person was erased.")
    sent_at: Timestamp | None = Field(
        description="When it was last sent or, if the service sends no mail, issued. Null if its mail was withheld."
    )
    mail_withheld: bool = Field(
        description=(
            "Whether no mail was sent because the address receives too many or has unsubscribed. The invitation can"
            " still be accepted: send its link yourself."
        ),
        examples=[False],
    )
    accept_url: str | None = Field(None, description="Link to accept it, when it is sent. Null otherwise.")


class AcceptanceQuery(Query):
    """Which invitation, and the invited person's decision."""

    token: str = Field(max_length=200, description="Token from the link in the invitation.")
    decision: Decision | None = Field(
        None, description="Accept or decline the invitation, with a user's credential. If omitted, nothing changes."
    )


class InvitationAnswer(Input):
    """The invited person's decision, with the token from the link.

    Accepting makes them a member; declining ends the invitation.
    """

    token: str = Field(max_length=200, description="Token from the link in the invitation.")
    decision: Decision = Field("accept", examples=["accept"])


class InvitationDecision(Input):
    """The invited person's decision about the invitation in the path.

    Accepting makes them a member; declining ends the invitation, and the inviter sees that in the log.
    """

    decision: Decision = Field(examples=["accept"])


class PlaceOffered(Output):
    """The organization or platform to which the person is invited.

    It shows only what the person needs to decide.
    """

    id: Uuid
    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["analytical-engines"])


class AcceptanceOut(Output):
    """An invitation as the invited person sees it, and the membership that accepting it created.

    Use it for the page to which the link in the mail leads: `canAccept` and `reason` tell whether the signed-in user
    can accept.
    """

    no_store: ClassVar[bool] = True

    organization: PlaceOffered | None = Field(description="Null if the invitation is to a platform.")
    platform: PlaceOffered | None = Field(description="Null if the invitation is to an organization.", examples=[None])
    role: InvitableRole = Field(examples=["editor"])
    email: str = Field(examples=["ada@example.com"])
    status: InvitationStatus = Field(examples=["accepted"])
    expires_at: Timestamp = Field(examples=["2026-11-27T09:30:00.000Z"])
    invited_by: str | None = Field(
        description="Id of the user or API key. Null after the person was erased.",
        examples=["4c1a2b5e-0000-4000-8000-000000000002"],
    )
    inviter_name: str | None = Field(description="The inviter's name, if they are a member.", examples=["Grace"])
    can_accept: bool | None = Field(
        description="Whether the calling user can accept it now. Null without a credential.", examples=[True]
    )
    reason: Obstacle | None = Field(
        description="Code of the problem that keeps the user from accepting.", examples=[None]
    )
    membership: MemberOut | None
