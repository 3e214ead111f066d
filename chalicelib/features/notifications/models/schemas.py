"""Request and response models of deliveries, and of test messages."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.notifications.models.event_types import EVENT_PATTERNS
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.event_patterns import (
    EVENT_TYPE_OR_PREFIX_PATTERN,
    MAX_EVENT_TYPE_CHARACTERS,
    is_application_type,
)
from chalicelib.kernel.http.fields import EventTypeName, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, Output, RecordOutput, TimeRange

RecipientStatus = Literal["active", "paused", "disabled"]
DeliveryStatus = Literal["pending", "succeeded", "failed", "skipped"]
_EXAMPLE_EVENT_ID: Final = "01a1f84a-95c0-7b8e-81f8-0bd70ae0784c"
_EXAMPLE_BODY: Final = (
    '{"type":"organization.updated","timestamp":"2026-11-20T09:30:00.000Z",'
    '"data":{"id":"01a1f84a-95c0-7af3-8a1b-b312bf843005","name":"Analytical Engines"},'
    '"organizationId":"01a1f84a-95c0-7af3-8a1b-b312bf843005","sequence":42,'
    '"actor":{"type":"user","id":"5f0c6a4e-6b0e-4c3b-9d51-0a7b6a1f2c3d"},'
    '"changes":[{"field":"name","from":"Engines","to":"Analytical Engines"}]}'
)
_FAILED_ATTEMPT: Final = {
    "number": 10,
    "at": "2026-11-20T09:30:00.000Z",
    "durationMs": 84,
    "statusCode": 500,
    "error": None,
    "responseBody": "Internal Server Error",
}


def _validate_event_pattern(pattern: str) -> str:
    """Return a pattern that is built-in, or that may be declared for application events. The operation checks that."""
    has_application_grammar = re.fullmatch(EVENT_TYPE_OR_PREFIX_PATTERN, pattern) and is_application_type(pattern)
    if pattern not in EVENT_PATTERNS and not has_application_grammar:
        suggestion = f"{ascii_lower(pattern).removesuffix('.*').strip('.')}.*"
        hint = f"did you mean {suggestion!r}? " if suggestion in EVENT_PATTERNS else ""
        raise ValueError(f"{pattern!r} is not an event type or pattern; {hint}GET /event-types lists them")
    return pattern


def _deduplicate(patterns: list[str]) -> list[str]:
    return list(dict.fromkeys(patterns))


_EventPattern = Annotated[str, Field(max_length=MAX_EVENT_TYPE_CHARACTERS), AfterValidator(_validate_event_pattern)]
EventPatterns = Annotated[
    list[_EventPattern],
    Field(
        min_length=1,
        max_length=40,
        description="Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are "
        "declared, such as `invoice.approved`, and their prefixes.",
        examples=[["organization.*"]],
    ),
    AfterValidator(_deduplicate),
]
"""The events that a subscriber wants."""


EventAreas = Annotated[
    list[str] | None,
    Field(
        description="The areas whose events it receives: those that the API key which last changed it may read. Null "
        "if a user changed it last: all areas.",
        examples=[None],
    ),
]
"""The areas whose events a subscriber may receive."""

FormerSecretsUntil = Annotated[
    Timestamp | None,
    Field(
        description="Until when messages are also signed with former secrets. Once this time has passed, they are "
        "signed with the current one only. Null if there are no former secrets.",
        examples=[None],
    ),
]
"""The time until which former secrets sign, too."""


class SecretRotation(Input):
    """How long the previous secret remains valid.

    Messages have a signature for each active secret, so receivers can be updated meanwhile.
    """

    grace_hours: int = Field(24, ge=0, le=168, examples=[24])


class AttemptOut(Output):
    """One attempt to deliver an event.

    It has either the status code of the receiver's response, or an error such as a timeout.
    """

    number: int = Field(ge=1, examples=[1])
    at: Timestamp
    duration_ms: int = Field(ge=0, examples=[84])
    status_code: int | None = Field(description="The status of the response. Null without a response.", examples=[204])
    error: str | None = Field(description="Why there was no response.", examples=[None])
    response_body: str | None = Field(
        description="The first KiB of the response body. Null if it was empty.", examples=[None]
    )


class DeliveryOut(RecordOutput):
    """The delivery of one event to one webhook, with its attempts.

    It is pending until an attempt succeeds or the last one fails. `skipped` means that it was not sent: the webhook was
    not enabled, may not receive the event any more, or the event was erased.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "organization.webhook.delivery_exhausted": {"status": "failed", "attempts": [_FAILED_ATTEMPT]},
        "organization.webhook.delivery_retried": {
            "attempts": [_FAILED_ATTEMPT],
            "next_attempt_at": "2026-11-20T09:30:00.000Z",
        },
    }

    id: Uuid = Field(examples=[_EXAMPLE_EVENT_ID])
    webhook_id: Uuid
    event_id: Uuid = Field(
        description="The id of the log entry. It is also the id of the delivery, and the `webhook-id` of each attempt.",
        examples=[_EXAMPLE_EVENT_ID],
    )
    event_type: str = Field(examples=["organization.updated"])
    status: DeliveryStatus = Field(examples=["succeeded"])
    attempts: list[AttemptOut]
    next_attempt_at: Timestamp | None = Field(examples=[None])
    completed_at: Timestamp | None


class DeliveryRequestOut(Output):
    """The request of a delivery's last attempt or, before the first one, of its next attempt.

    It is not stored. It is derived from the webhook and the log entry as they are now.
    """

    url: str = Field(
        description="The webhook's URL. The values in its query are masked.",
        examples=["https://example.com/hooks?key=…"],
    )
    headers: dict[str, str] = Field(
        description="The headers, with lower-case names. The signatures are masked. `webhook-timestamp` is absent "
        "before the first attempt.",
        examples=[
            {
                "content-type": "application/json",
                "webhook-id": _EXAMPLE_EVENT_ID,
                "webhook-timestamp": "1795167000",
                "webhook-signature": "v1,…",
            }
        ],
    )
    body: str | None = Field(
        description="The body, which has the same bytes in each attempt. Null for an API key without the scope to read "
        "the event's area, and if the log entry was erased.",
        examples=[_EXAMPLE_BODY],
    )


class DeliveryDetailOut(DeliveryOut):
    """The delivery of an event to a webhook, with the HTTP request that was or will be sent.

    Compare the request with what your endpoint received, for example when it rejects a signature.
    """

    request: DeliveryRequestOut


class DeliveriesQuery(TimeRange, ListQuery):
    """Filters for deliveries, by event time among others. A delivery has to match all of them."""

    status: DeliveryStatus | None = Field(None, examples=[None])
    event_type: EventTypeName | None = Field(None, description="One event type.", examples=["organization.updated"])


class TrialOut(Output):
    """The result of a test message: what the receiver answered, and how long it took.

    The test message is not an event, and is sent only once.
    """

    delivered: bool
    status_code: int | None = Field(description="The status of the response. Null without a response.", examples=[204])
    error: str | None = Field(description="Why the message was not delivered.", examples=[None])
    duration_ms: int = Field(ge=0, examples=[84])
