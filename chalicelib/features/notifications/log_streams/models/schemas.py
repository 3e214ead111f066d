"""Request and response models of log streams."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, PlainValidator

from chalicelib.features.notifications.log_streams.models.destinations import (
    AnyDestination,
    AnyDestinationPatch,
    DestinationOut,
)
from chalicelib.features.notifications.models.schemas import (
    EventAreas,
    EventPatterns,
    FormerSecretsUntil,
    RecipientStatus,
)
from chalicelib.kernel.http.fields import DateTime, Text
from chalicelib.kernel.http.models import Input, Output, Patch, RecordOutput

MonitoredStatus = Literal["active", "paused", "failing", "disabled"]

_ALL_EVENTS: Final = ["*"]
_MAX_SEQUENCE: Final = 10**12 - 1
"""Greatest sequence with which a log stream can start. Keys of sequences have twelve digits."""
_DESTINATION_EXAMPLE: Final = {"type": "https", "url": "https://example.com/atrium/entries", "format": "ndjson"}
_PAUSED_EXAMPLE: Final = {"enabled": False, "status": "paused"}
_START_DESCRIPTION: Final = (
    "`now`, or the sequence of the first entry to send. It is at most one above that of the log's last entry."
)


def _parse_start(value: Any) -> str | int:
    if value == "now" or (type(value) is int and 1 <= value <= _MAX_SEQUENCE):
        start: str | int = value
        return start
    raise ValueError(f"must be `now`, or a sequence from 1 to {_MAX_SEQUENCE}")


StartAt = Annotated[
    str | int,
    PlainValidator(_parse_start, json_schema_input_type=Literal["now"] | Annotated[int, Field(ge=1, le=_MAX_SEQUENCE)]),
]


class LogStreamCreate(Input):
    """A new log stream: where entries are sent, which ones, and from which entry on.

    `*` stands for the entries of all events, and `page.*` for those of pages.
    """

    destination: AnyDestination = Field(examples=[_DESTINATION_EXAMPLE])
    events: EventPatterns = Field(_ALL_EVENTS)
    description: Text | None = Field(None, examples=["Feeds the SIEM."])
    start_at: StartAt = Field("now", description=_START_DESCRIPTION, examples=["now"])
    enabled: bool = True


class LogStreamPatch(Patch):
    """The changeable fields of a log stream. The type of its destination stays.

    `enabled` = true also reactivates one that the service disabled. `startAt` sends entries again, or skips some.
    """

    fixed_fields: ClassVar[Mapping[tuple[str, ...], str]] = {
        ("destination", "type"): "The type cannot change. Create another stream, with a `startAt` of one above the "
        "`position` of this one."
    }

    destination: AnyDestinationPatch = Field(examples=[_DESTINATION_EXAMPLE])
    events: EventPatterns = Field(_ALL_EVENTS)
    description: Text | None = Field(None, examples=["Feeds the SIEM."])
    start_at: StartAt | None = Field(
        None, description=f"Restart the stream. {_START_DESCRIPTION} If omitted, it continues.", examples=[None]
    )
    enabled: bool = True


class LogStreamOut(RecordOutput):
    """The settings of a log stream, as entries of the log and events show them.

    They do not contain credentials, and nothing about the progress of the stream.
    """

    secret_fields: ClassVar[frozenset[str]] = frozenset({"secret"})
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "organization.log_stream.updated": _PAUSED_EXAMPLE,
        "organization.log_stream.deleted": _PAUSED_EXAMPLE,
        "organization.log_stream.secret_rotated": {
            **_PAUSED_EXAMPLE,
            "former_secrets_until": "2026-11-21T09:30:00.000Z",
        },
        "organization.log_stream.tested": _PAUSED_EXAMPLE,
        "organization.log_stream.disabled": {
            "enabled": False,
            "status": "disabled",
            "disabled_reason": "Every attempt has failed for 5 days.",
        },
    }

    destination: DestinationOut
    events: list[str] = Field(examples=[["*"]])
    areas: EventAreas
    description: str | None = Field(examples=["Feeds the SIEM."])
    enabled: bool
    status: RecipientStatus = Field(examples=["active"])
    start_sequence: int = Field(
        ge=1,
        description="The sequence of the first entry that it sends, or has sent since it was last restarted.",
        examples=[1],
    )
    external_id: str | None = Field(
        description="For S3: the external id with which the service assumes the role. Require it in the role's trust "
        "policy. Null for other destinations.",
        examples=[None],
    )
    secret: str | None = Field(
        None,
        description="For HTTPS: the secret that signs the batches. Only in the response that creates or rotates it.",
        examples=[None],
    )
    former_secrets_until: FormerSecretsUntil
    disabled_reason: str | None = Field(description="Why the service disabled the stream.", examples=[None])


class StreamErrorOut(Output):
    """The last failed attempt to send a batch of entries to the destination.

    It stays after later successes, so that you can see what went wrong.
    """

    at: DateTime = Field(examples=["2026-11-20T09:30:00.000Z"])
    status_code: int | None = Field(description="The status of the response. Null without a response.", examples=[503])
    message: str = Field(examples=["It answered 503 instead of 2xx."])


class LogStreamDetailOut(LogStreamOut):
    """A log stream, which sends the entries of an organization's log to a system of yours, in order.

    Only the responses that create or rotate the secret of an HTTPS endpoint contain it.
    """

    status: MonitoredStatus = Field(  # type: ignore[assignment]  # entries of the log do not show failures
        description="`failing` while attempts to send the next batch fail. They are repeated.", examples=["active"]
    )
    position: int = Field(ge=0, description="The sequence of the last entry that the stream has sent or skipped.")
    lag_entries: int = Field(ge=0, description="The number of the log's entries after `position`.", examples=[0])
    lag_seconds: int = Field(
        ge=0, description="The age of the first entry after `position`. 0 if there is none.", examples=[0]
    )
    failing_since: DateTime | None = Field(
        description="The time since when every attempt has failed. Null if the last one succeeded.", examples=[None]
    )
    last_error: StreamErrorOut | None = Field(examples=[None])
