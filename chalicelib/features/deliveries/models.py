"""What the operations on deliveries accept and answer."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.deliveries.event_types import PATTERNS
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import Timestamp, Uuid, matching
from chalicelib.kernel.http.models import ListQuery, Output, RecordOutput, TimeRange

Status = Literal["pending", "succeeded", "failed", "skipped"]
ExactEventType = Annotated[
    str,
    Field(max_length=100),
    *matching(r"^[a-z_]+(\.[a-z_]+)+$", "must be an event type such as organization.updated"),
]

_PATTERN_CHARACTERS: Final = 100
_FAILED: Final = {
    "number": 10,
    "at": "2026-11-20T09:30:00.000Z",
    "durationMs": 84,
    "statusCode": 500,
    "error": None,
    "responseBody": "Internal Server Error",
}


def _known(pattern: str) -> str:
    if pattern not in PATTERNS:
        meant = f"{ascii_lower(pattern).removesuffix('.*').strip('.')}.*"
        advice = f"did you mean {meant!r}? " if meant in PATTERNS else ""
        raise ValueError(f"{pattern!r} is no type of event, and no pattern of any; {advice}GET /event-types lists them")
    return pattern


def _once(patterns: list[str]) -> list[str]:
    return list(dict.fromkeys(patterns))


_EventPattern = Annotated[str, Field(max_length=_PATTERN_CHARACTERS), AfterValidator(_known)]
EventPatterns = Annotated[
    list[_EventPattern],
    Field(
        min_length=1,
        max_length=40,
        description="Exact types, `page.*` for all that begin so, or `*`.",
        examples=[["organization.*"]],
    ),
    AfterValidator(_once),
]
"""Which events a subscriber is told of."""


EventAreas = Annotated[
    list[str] | None,
    Field(
        description="The areas whose events it is told of: those that the API key may read that made it, or changed it"
        " last. Null: all, as of a person.",
        examples=[None],
    ),
]
"""Which events a subscriber may be told of."""


class AttemptOut(Output):
    """One try to deliver an event, and what came back."""

    number: int = Field(ge=1, examples=[1])
    at: Timestamp
    duration_ms: int = Field(ge=0, examples=[84])
    status_code: int | None = Field(description="What the endpoint answered; null if it did not.", examples=[204])
    error: str | None = Field(description="Why there was no answer.", examples=[None])
    response_body: str | None = Field(description="The answer's first KiB; null if it was empty.", examples=[None])


class DeliveryOut(RecordOutput):
    """The delivery of an event to a webhook."""

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "organization.webhook.delivery_exhausted": {"status": "failed", "attempts": [_FAILED]},
        "organization.webhook.delivery_retried": {
            "attempts": [_FAILED],
            "next_attempt_at": "2026-11-20T09:30:00.000Z",
        },
    }

    webhook_id: Uuid
    event_id: Uuid = Field(description="The id of the entry, and the `webhook-id` of each attempt.")
    event_type: str = Field(examples=["organization.updated"])
    status: Status = Field(examples=["succeeded"])
    attempts: list[AttemptOut]
    next_attempt_at: Timestamp | None = Field(examples=[None])
    completed_at: Timestamp | None


class DeliveriesQuery(TimeRange, ListQuery):
    """Which deliveries, by when their events happened. All filters given have to match."""

    status: Status | None = Field(None, examples=[None])
    event_type: ExactEventType | None = Field(None, description="One type.", examples=["organization.updated"])


class TrialOut(Output):
    """What came of a message that was sent just now, to see whether it arrives."""

    delivered: bool
    status_code: int | None = Field(description="What was answered; null if nothing was.", examples=[204])
    error: str | None = Field(description="Why it was not delivered.", examples=[None])
    duration_ms: int = Field(ge=0, examples=[84])
