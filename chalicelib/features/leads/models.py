"""What the operations on leads accept and answer."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from chalicelib.kernel.http.fields import DateTime, Email, Name, Text, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, RecordOutput

Status = Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]


class ConsentGiven(Input):
    """That somebody agreed to be contacted."""

    text_version: Name = Field(description="Which text they agreed to.", examples=["2026-03"])
    given_at: DateTime | None = Field(None, description="When; left out, now.", examples=["2026-11-20T09:29:00.000Z"])


class LeadCreate(Input):
    """Somebody who showed interest."""

    contact_name: Name = Field(examples=["Ada Lovelace"])
    contact_email: Email = Field(description="Compared in lower case.", examples=["ada@example.com"])
    company_name: Name | None = None
    message: Text | None = Field(None, examples=["We would like to weave with your engine."])
    source: Name | None = Field(None, description="Where they came from.", examples=["pricing page"])
    consent: ConsentGiven | None = None


class PublicLeadCreate(LeadCreate):
    """What somebody who shows interest sends."""

    website: str | None = Field(
        None, description="A trap for programs: leave it empty, and hide it from people.", examples=[None]
    )


class LeadStatusPatch(Patch):
    """The lead's new status, and a note about why."""

    status: Status = Field(examples=["contacted"])
    note: Text | None = Field(None, description="It is added to the notes.", examples=["Called, wants an offer."])


class PublicLeadStatusPatch(Patch):
    """The new status of what somebody sent."""

    status: Status = Field(description="`withdrawn`, or `new` after that.", examples=["withdrawn"])


class LeadsQuery(ListQuery):
    """Which leads."""

    status: Status | None = Field(None, description="Only those with this status.", examples=[None])
    email: Annotated[str, StringConstraints(max_length=254, to_lower=True)] | None = Field(
        None, description="Only those of this address, in whatever case.", examples=[None]
    )


class Consent(Output):
    """That somebody agreed to be contacted."""

    text_version: str = Field(description="Which text they agreed to.", examples=["2026-03"])
    given_at: Timestamp


class StatusGiven(Output):
    """That a status was given."""

    status: Status = Field(examples=["new"])
    at: Timestamp


class StatusGivenBy(StatusGiven):
    """That a status was given, and by whom."""

    by: str | None = Field(description="The id of the operator; null: whoever sent it.", examples=[None])


class Note(Output):
    """What an operator noted."""

    text: str = Field(examples=["Called, wants an offer."])
    at: Timestamp
    by: str = Field(description="The id of the operator.", examples=["4c1a2b5e-0000-4000-8000-000000000002"])


class Submission(Output):
    """What was sent at one time."""

    id: Uuid
    submitted_at: Timestamp
    contact_name: str = Field(examples=["Ada Lovelace"])
    company_name: str | None
    message: str | None = Field(examples=["We would like to weave with your engine."])
    source: str | None = Field(examples=["pricing page"])
    consent: Consent | None
    status: Status = Field(description="As whoever sent it sees it.", examples=["new"])


class LeadOut(RecordOutput):
    """A lead as operators see it: what was sent first and, side by side, all that one address sent within a day."""

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"lead.status_changed": {"status": "withdrawn"}}

    contact_name: str = Field(examples=["Ada Lovelace"])
    contact_email: str = Field(examples=["ada@example.com"])
    company_name: str | None
    message: str | None = Field(examples=["We would like to weave with your engine."])
    source: str | None = Field(examples=["pricing page"])
    consent: Consent | None
    status: Status = Field(examples=["new"])
    notes: list[Note] = Field(description="In the order they were made.", examples=[[]])
    history: list[StatusGivenBy] = Field(description="In the order it happened.")
    submissions: list[Submission] = Field(
        description="In the order they came. No address was verified: each may have another sender."
    )


class PublicLeadOut(RecordOutput):
    """A lead as whoever sent it sees it."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"lead_token"})
    no_store: ClassVar[bool] = True

    contact_name: str = Field(examples=["Ada Lovelace"])
    contact_email: str = Field(examples=["ada@example.com"])
    company_name: str | None
    message: str | None = Field(examples=["We would like to weave with your engine."])
    consent: Consent | None
    status: Status = Field(examples=["new"])
    history: list[StatusGiven] = Field(description="In the order it happened.")
    lead_token: str | None = Field(
        None, description="Opens it for 90 days as the header `Lead-Token`. Null ever after.", examples=[None]
    )


class LeadStatusOut(Output):
    """A status that a lead can have."""

    status: Status = Field(examples=["new"])
    label: str = Field(examples=["New"])
    terminal: bool = Field(description="Whether no other follows.", examples=[False])
    next: list[Status] = Field(description="Those that can follow.", examples=[["contacted"]])
