"""What the operations on deliveries accept and answer."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.deliveries.event_types import PATTERNS
from chalicelib.kernel.fields import Timestamp, Uuid
from chalicelib.kernel.models import Output, RecordOutput

Status = Literal["pending", "succeeded", "failed", "skipped"]

_PATTERN_CHARACTERS: Final = 100


def _known(pattern: str) -> str:
    if pattern not in PATTERNS:
        raise ValueError(f"{pattern!r} is no type of event and begins none; GET /event-types lists them all")
    return pattern


def _once(patterns: list[str]) -> list[str]:
    return list(dict.fromkeys(patterns))


_EventPattern = Annotated[str, Field(max_length=_PATTERN_CHARACTERS), AfterValidator(_known)]
EventPatterns = Annotated[
    list[_EventPattern],
    Field(
        min_length=1, max_length=40, description="Exact types, `page.*` for all that begin so, or `*`.",
        examples=[["organization.*"]],
    ),
    AfterValidator(_once),
]  # fmt: skip
"""Which events a subscriber is told of."""


class AttemptOut(Output):
    """One try to deliver an event, and what came back."""

    number: int = Field(ge=1, examples=[1])
    at: Timestamp
    duration_ms: int = Field(ge=0, examples=[84])
    status_code: int | None = Field(description="What the endpoint answered; null if it did not.", examples=[204])
    error: str | None = Field(description="Why there was no answer.", examples=[None])
    response_body: str | None = Field(description="The answer's first KiB.", examples=[""])


class DeliveryOut(RecordOutput):
    """The delivery of an event to a webhook."""

    webhook_id: Uuid
    event_id: Uuid = Field(description="The id of the entry, and the `webhook-id` of each attempt.")
    event_type: str = Field(examples=["organization.updated"])
    status: Status = Field(examples=["succeeded"])
    attempts: list[AttemptOut]
    next_attempt_at: Timestamp | None = Field(examples=[None])
    completed_at: Timestamp | None


class TrialOut(Output):
    """What came of a message that was sent just now, to see whether it arrives."""

    delivered: bool
    status_code: int | None = Field(description="What was answered; null if nothing was.", examples=[204])
    error: str | None = Field(description="Why it was not delivered.", examples=[None])
    duration_ms: int = Field(ge=0, examples=[84])
