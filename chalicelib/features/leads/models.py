"""Request and response models of the lead operations."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from chalicelib.kernel.http.fields import DateTime, Email, Name, Text, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, NamedListQuery, Output, Patch, RecordOutput

LeadStatusCode = Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]


class ConsentGiven(Input):
    """Consent to be contacted.

    Send the version of the text that the form showed, and the time at which the person agreed.
    """

    text_version: Name = Field(description="Version of the consent text.", examples=["2026-03"])
    given_at: DateTime | None = Field(
        None, description="Time of the consent; now if omitted.", examples=["2026-11-20T09:29:00.000Z"]
    )


class LeadCreate(Input):
    """A person who contacted you, as an operator records them.

    The source says where the contact came from, such as a trade fair.
    """

    contact_name: Name = Field(examples=["Ada Lovelace"])
    contact_email: Email = Field(description="Compared case-insensitively.", examples=["ada@example.com"])
    company_name: Name | None = None
    message: Text | None = Field(None, examples=["We would like to weave with your engine."])
    source: Name | None = Field(None, description="Where the lead came from.", examples=["pricing page"])
    consent: ConsentGiven | None = None


class PublicLeadCreate(LeadCreate):
    """What an interested person submits through a form.

    Leave `website` empty: programs that fill in every field are recognized by it.
    """

    website: str | None = Field(
        None, description="Honeypot field against bots: hide it from people and leave it empty.", examples=[None]
    )


class LeadStatusPatch(Patch):
    """The new status of a lead, and a note that explains it to other operators.

    The sender does not see the note.
    """

    status: LeadStatusCode = Field(examples=["contacted"])
    note: Text | None = Field(None, description="Added to the notes of the lead.", examples=["Called, wants an offer."])


class PublicLeadStatusPatch(Patch):
    """The new status of a submission, set by its sender with the token.

    The sender can withdraw it, or set it to `new` again.
    """

    status: LeadStatusCode = Field(description="`withdrawn`, or `new` to undo a withdrawal.", examples=["withdrawn"])


class LeadsQuery(NamedListQuery):
    """Filters of the list of leads."""

    status: LeadStatusCode | None = Field(None, description="Only leads with this status.", examples=[None])
    email: Annotated[str, StringConstraints(max_length=254, to_lower=True)] | None = Field(
        None, description="Only leads with this email address, compared case-insensitively.", examples=[None]
    )


class Consent(Output):
    """Consent to be contacted, as it was stored.

    The version names the text that the person saw, so that you can prove what they agreed to.
    """

    text_version: str = Field(description="Version of the consent text.", examples=["2026-03"])
    given_at: Timestamp


class StatusGiven(Output):
    """A status that a submission had, and since when.

    Senders do not see which operator set it.
    """

    status: LeadStatusCode = Field(examples=["new"])
    at: Timestamp


class StatusGivenBy(StatusGiven):
    """A status that a lead had, since when, and the operator who set it.

    `by` is null if the sender set it.
    """

    by: str | None = Field(description="The id of the operator, or null for the sender.", examples=[None])


class Note(Output):
    """A note of an operator about a lead.

    Notes are added with a change of status, and are never changed.
    """

    text: str = Field(examples=["Called, wants an offer."])
    at: Timestamp
    by: str = Field(description="The id of the operator.", examples=["4c1a2b5e-0000-4000-8000-000000000002"])


class Submission(Output):
    """What an interested person submitted at one time.

    Several submissions of one address within a day belong to one lead.
    """

    id: Uuid
    submitted_at: Timestamp
    contact_name: str = Field(examples=["Ada Lovelace"])
    company_name: str | None
    message: str | None = Field(examples=["We would like to weave with your engine."])
    source: str | None = Field(examples=["pricing page"])
    consent: Consent | None
    status: LeadStatusCode = Field(description="The status that the sender sees.", examples=["new"])


class LeadOut(RecordOutput):
    """A lead as operators see it: the first submission, and all that one email address submitted within a day.

    `history` and `notes` record the work on it.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"lead.status_changed": {"status": "withdrawn"}}

    contact_name: str = Field(examples=["Ada Lovelace"])
    contact_email: str = Field(examples=["ada@example.com"])
    company_name: str | None
    message: str | None = Field(examples=["We would like to weave with your engine."])
    source: str | None = Field(examples=["pricing page"])
    consent: Consent | None
    status: LeadStatusCode = Field(examples=["new"])
    notes: list[Note] = Field(description="Ordered by time.", examples=[[]])
    history: list[StatusGivenBy] = Field(description="Ordered by time.")
    submissions: list[Submission] = Field(
        description="Ordered by time. Email addresses are not verified, so each submission may have another sender."
    )


class PublicLeadOut(RecordOutput):
    """A submission as its sender sees it.

    It has neither the notes of operators nor other submissions of the same address.
    """

    secret_fields: ClassVar[frozenset[str]] = frozenset({"lead_token"})
    no_store: ClassVar[bool] = True

    contact_name: str = Field(examples=["Ada Lovelace"])
    contact_email: str = Field(examples=["ada@example.com"])
    company_name: str | None
    message: str | None = Field(examples=["We would like to weave with your engine."])
    consent: Consent | None
    status: LeadStatusCode = Field(examples=["new"])
    history: list[StatusGiven] = Field(description="Ordered by time.")
    lead_token: str | None = Field(
        None,
        description="Token for the header `Lead-Token`, valid for 90 days. Returned once, null afterwards.",
        examples=[None],
    )


class LeadStatusOptionOut(Output):
    """A possible status of a lead, and the statuses that can follow it.

    Use it to offer only changes that succeed.
    """

    status: LeadStatusCode = Field(examples=["new"])
    label: str = Field(examples=["New"])
    terminal: bool = Field(description="Whether no other status can follow.", examples=[False])
    next: list[LeadStatusCode] = Field(description="The statuses that can follow.", examples=[["contacted"]])
