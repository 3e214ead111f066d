"""What the operations on invitations accept and answer."""

from typing import ClassVar, Literal

from pydantic import Field

from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.http.fields import Email, Text, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, Output, Query, RecordOutput

Offered = Literal["member", "editor", "admin"]
Status = Literal["pending", "accepted", "declined", "revoked", "expired"]
Decision = Literal["accept", "decline"]
Obstacle = Literal["email_mismatch", "already_member", "invitation_used"]


class InvitationCreate(Input):
    """Whom to invite, and as what."""

    email: Email = Field(examples=["grace@example.com"])
    role: Offered = Field("member", description="At most the caller's own.", examples=["editor"])
    message: Text | None = Field(None, description="A word to the invited person.", examples=["Come and join us."])
    expires_in_days: int = Field(7, ge=1, le=30, description="Counted from each sending.", examples=[7])


class InvitationsQuery(ListQuery):
    """Which of an organization's invitations."""

    platform_id: Uuid | None = Field(None, description="Only those to this platform.", examples=[None])


class InvitationOut(RecordOutput):
    """An invitation. The link to accept it is in the answers that send it, and nowhere else."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"accept_url"})

    platform_id: Uuid | None = Field(description="The platform it invites to; null: the organization.", examples=[None])
    email: str = Field(examples=["grace@example.com"])
    role: Offered = Field(examples=["editor"])
    message: str | None = Field(examples=["Come and join us."])
    expires_in_days: int = Field(examples=[7])
    status: Status = Field(examples=["pending"])
    expires_at: Timestamp
    invited_by: str | None = Field(description="The id of the user or API key; null once that person was erased.")
    sent_at: Timestamp | None = Field(
        description="When it was last sent or, where the service sends no mail, issued; null if its mail was withheld."
    )
    mail_withheld: bool = Field(
        description=(
            "Whether no mail went with it because the address gets too many, or wants none. It can be accepted all the"
            " same: pass its link on."
        ),
        examples=[False],
    )
    accept_url: str | None = Field(None, description="Only when sent; null ever after.")


class AcceptanceQuery(Query):
    """Which invitation, and what the invited person says to it."""

    token: str = Field(max_length=200, description="From the link that was sent.")
    decision: Decision | None = Field(
        None, description="Accept or decline it, with a user's credential. Left out, nothing changes."
    )


class InvitationAnswer(Input):
    """What the invited person says to an invitation."""

    token: str = Field(max_length=200, description="From the link that was sent.")
    decision: Decision = Field("accept", examples=["accept"])


class PlaceOffered(Output):
    """What the invited person is asked to join."""

    id: Uuid
    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["analytical-engines"])


class AcceptanceOut(Output):
    """An invitation as the invited person sees it, and the membership that it led to."""

    no_store: ClassVar[bool] = True

    organization: PlaceOffered | None = Field(description="Null if one of its platforms is joined.")
    platform: PlaceOffered | None = Field(description="Null if the organization itself is joined.", examples=[None])
    role: Offered = Field(examples=["editor"])
    email: str = Field(examples=["ada@example.com"])
    status: Status = Field(examples=["accepted"])
    expires_at: Timestamp
    invited_by: str | None = Field(
        description="The id of the user or API key; null once that person was erased.",
        examples=["4c1a2b5e-0000-4000-8000-000000000002"],
    )
    inviter_name: str | None = Field(description="What people call them, if they are a member.", examples=["Grace"])
    can_accept: bool | None = Field(
        description="Whether the user who asks can accept it now; null without a credential.", examples=[True]
    )
    reason: Obstacle | None = Field(description="The code of what keeps that user from accepting.", examples=[None])
    membership: MemberOut | None
