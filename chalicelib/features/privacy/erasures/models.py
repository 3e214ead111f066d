"""What the operations on erasures accept and answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Email, Uuid
from chalicelib.kernel.http.models import Input, RecordOutput

Status = Literal["queued", "running", "completed", "failed"]


class ErasureCreate(Input):
    """Who is to be forgotten: by their e-mail address, their user id, or both.

    An email stands for every user who was seen to own it here, a userId for all addresses that the user was seen to own
    here. Give both for one person only; for two people make two erasures.
    """

    email: Email | None = Field(None, examples=["grace@example.com"])
    user_id: Uuid | None = Field(None, examples=[None])


class ErasureOut(RecordOutput):
    """An erasure. A minute after it is completed it looks once more, for what was under way, and forgets whom.

    If it can't look once more, `error` says so. After an error make another erasure of the person: it knows what this
    one found out.
    """

    status: Status = Field(examples=["completed"])
    erased_records: int = Field(ge=0, description="Records that were removed or changed so far.", examples=[2])
    erased_entries: int = Field(ge=0, description="Entries of the log that were erased so far.", examples=[5])
    error: str | None = Field(
        description="Why it failed, and what to do. One that is `completed` has it if it could not look once more.",
        examples=[None],
    )
