"""Requests and responses of the operations on erasures."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.features.events.entries.models.schemas import MAX_REFERENCE_ID_CHARACTERS
from chalicelib.kernel.http.fields import Email, Uuid
from chalicelib.kernel.http.models import Input, RecordOutput
from chalicelib.kernel.permissions.grants import CREDENTIAL_TYPES

ErasureStatus = Literal["queued", "running", "completed", "failed"]


def _reject_program_type(actor_type: str) -> str:
    if actor_type in CREDENTIAL_TYPES:
        raise ValueError("must be the type of a person. A key is a program: delete or revoke it instead")
    return actor_type


ErasedActorType = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_REFERENCE_ID_CHARACTERS), AfterValidator(_reject_program_type)
]


class ErasedActor(Input):
    """A person whom only your application knows, by the type and id with which its events name the person.

    Both are compared exactly, so `C-17` and `c-17` are different people.
    """

    type: ErasedActorType = Field(examples=["customer"])
    id: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REFERENCE_ID_CHARACTERS)] = Field(
        examples=["c-17"]
    )


class ErasureCreate(Input):
    """The person to erase, by e-mail address, user id, as an actor of application events, or by several of these.

    An email stands for all users who proved to own it in this organization. A userId stands for all addresses that the
    user proved to own here. An actor stands for a person in application events only. Give several for one person only;
    create two erasures for two people.
    """

    email: Email | None = Field(None, examples=["grace@example.com"])
    user_id: Uuid | None = Field(None, examples=[None])
    actor: ErasedActor | None = Field(
        None,
        description="Erases the application events of which the person is the actor or a target, or whose `data` "
        "contains the id in a field that is marked `x-personal-data` in the schema of the event's type.",
        examples=[None],
    )


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
