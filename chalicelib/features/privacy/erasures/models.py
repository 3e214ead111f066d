"""Requests and responses of the operations on erasures."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Email, Uuid
from chalicelib.kernel.http.models import Input, RecordOutput

ErasureStatus = Literal["queued", "running", "completed", "failed"]


class ErasureCreate(Input):
    """The person to erase, by e-mail address, user id or both.

    An email stands for all users who proved to own it in this organization. A userId stands for all addresses that the
    user proved to own here. Give both for one person only; create two erasures for two people.
    """

    email: Email | None = Field(None, examples=["grace@example.com"])
    user_id: Uuid | None = Field(None, examples=[None])


class ErasureOut(RecordOutput):
    """The progress of the erasure of a person.

    A minute after completion it searches once more for records that were in flight, then clears all data about the
    person. If the second search fails, `error` has the reason. After an error, create another erasure of the person,
    which uses the results of this one.
    """

    status: ErasureStatus = Field(examples=["completed"])
    erased_records: int = Field(ge=0, description="Records that were removed or redacted so far.", examples=[2])
    erased_entries: int = Field(ge=0, description="Log entries that were erased so far.", examples=[5])
    error: str | None = Field(
        description="Why it failed, and what to do. A `completed` erasure has it if the second search failed.",
        examples=[None],
    )
