"""Request and response models of application events, and their limits."""

import ipaddress
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, model_validator
from pydantic_core import PydanticCustomError, to_json

from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.features.events.types.models import MAX_VERSIONS
from chalicelib.kernel.core.ip_networks import unmap_ipv4
from chalicelib.kernel.http.fields import (
    ONE_LINE,
    DateTime,
    EventTypeName,
    JsonObject,
    Name,
    Uuid,
    pattern_validator_and_schema,
)
from chalicelib.kernel.http.models import Input, ListQuery, Output
from chalicelib.kernel.identity.signed_links import LINK_ACTOR_TYPE
from chalicelib.kernel.permissions.grants import CREDENTIAL_TYPES

MAX_EVENT_BYTES: Final = 64 * 1024
"""Size of an event as JSON in UTF-8, without whitespace."""

MAX_EVENTS_PER_BATCH: Final = 25
"""Events in one request. Each takes three of the 100 writes of a transaction."""

MAX_BATCH_BODY_BYTES: Final = 5 << 20
"""Size of the body of a batch. 25 events of the largest size fit, also if `\\u` escapes triple the size of their text.

AWS Lambda accepts 6 MB, in which the body is a JSON string. There an escape takes one more byte.
"""

MAX_TARGETS: Final = 10
"""Targets of an event."""

MAX_REFERENCE_ID_CHARACTERS: Final = 128
"""Length of the id of an actor or a target."""

RESERVED_ACTOR_TYPES: Final = tuple(sorted(("anonymous", "operator", "system", LINK_ACTOR_TYPE, *CREDENTIAL_TYPES)))
"""Types of actors that callers cannot name, because they are principals that only the service itself recognizes."""

_MAX_USER_AGENT_CHARACTERS: Final = 512
"""Length of the `User-Agent` of a reported request."""

_EVENT_EXAMPLE: Final = {
    "type": "invoice.approved",
    "actor": {"type": "clerk", "id": "c-17", "name": "Ada Lovelace"},
    "targets": [{"type": "invoice", "id": "INV-42", "name": "Invoice 42"}],
    "data": {"amount": 120},
}


def _reject_reserved_actor_type(text: str) -> str:
    if text in RESERVED_ACTOR_TYPES:
        reserved = ", ".join(RESERVED_ACTOR_TYPES)
        raise ValueError(f"is reserved, as are {reserved}: omit `actor` if the caller itself is the actor")
    return text


def _normalize_ip_address(text: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("must be an IPv4 or IPv6 address") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise ValueError("must be an IPv6 address without a zone, such as %eth0")
    return str(unmap_ipv4(address))


ReferenceType = Annotated[
    str,
    *pattern_validator_and_schema(
        r"^[a-z][a-z0-9_.-]{0,63}$",
        "must be 1 to 64 lower-case letters, digits, dots, _ and hyphens, with a letter first",
    ),
]
ReferenceId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_REFERENCE_ID_CHARACTERS), *ONE_LINE]
UserAgent = Annotated[str, StringConstraints(min_length=1, max_length=_MAX_USER_AGENT_CHARACTERS), *ONE_LINE]
IpAddress = Annotated[str, StringConstraints(max_length=45), AfterValidator(_normalize_ip_address)]


class TargetIn(Input):
    """Something that an event is about, such as an invoice or a customer.

    The application chooses the type and the id. The log stores both without spaces around them, and lists can be
    filtered by the id.
    """

    type: ReferenceType = Field(examples=["invoice"])
    id: ReferenceId = Field(examples=["INV-42"])
    name: Name | None = Field(None, description="Shown to people.", examples=["Invoice 42"])


class ActorIn(TargetIn):
    """Who caused an event, as the caller asserts. The entry marks the actor as asserted, and names the caller."""

    type: Annotated[ReferenceType, AfterValidator(_reject_reserved_actor_type)] = Field(examples=["clerk"])
    id: ReferenceId = Field(examples=["c-17"])
    name: Name | None = Field(None, description="Shown to people.", examples=["Ada Lovelace"])


class ContextIn(Input):
    """The address and the browser from which the actor used your own application.

    The log stores them as the caller states them. Nothing checks whether they are true.
    """

    ip_address: IpAddress | None = Field(None, description="An IPv4 or IPv6 address.", examples=["192.0.2.7"])
    user_agent: UserAgent | None = Field(None, examples=["Mozilla/5.0"])


class EventIn(Input):
    """Something that happened in your own application, to write to the organization's log.

    It has at most 64 KiB as JSON in UTF-8. The schema of its type decides which `data` is valid.
    """

    type: EventTypeName = Field(description="A type that operators have declared.", examples=["invoice.approved"])
    version: int | None = Field(
        None,
        ge=1,
        le=MAX_VERSIONS,
        description="The version of the type's schema. If omitted, the latest one.",
        examples=[1],
    )
    occurred_at: DateTime | None = Field(
        None,
        description="When the event occurred: at most 7 days ago and 5 minutes ahead. If omitted, now.",
        examples=[None],
    )
    actor: ActorIn | None = Field(None, description="Who caused the event. If omitted, the caller.")
    targets: list[TargetIn] | None = Field(
        None,
        min_length=1,
        max_length=MAX_TARGETS,
        description="What the event is about. The filter `targetId` of lists finds the first one.",
    )
    context: ContextIn | None = Field(None, description="From where the actor caused the event.")
    data: JsonObject | None = Field(None, description="What the type's schema describes.", examples=[{"amount": 120}])
    _size_bytes: int = PrivateAttr()

    @model_validator(mode="after")
    def _measure_and_limit_size(self) -> "EventIn":
        self._size_bytes = len(to_json(self.model_dump(by_alias=True, exclude_none=True)))
        if self.size_bytes > MAX_EVENT_BYTES:
            raise PydanticCustomError("too_large", "", {"max_bytes": MAX_EVENT_BYTES, "size": self.size_bytes})
        return self

    @property
    def size_bytes(self) -> int:
        """The size of the event as JSON in UTF-8, without whitespace and omitted fields."""
        return self._size_bytes


class EventBatch(Input):
    """Up to 25 things that happened in your own application, in the order in which the log lists them.

    One transaction writes all of them or none. They can have different types.
    """

    events: list[EventIn] = Field(min_length=1, max_length=MAX_EVENTS_PER_BATCH, examples=[[_EVENT_EXAMPLE]])


class EventQuery(EntryFilters, ListQuery):
    """Filters for the list of application events. An event has to match all of them."""

    origin = "application"


class CreatedEvent(Output):
    """The confirmation that one element of a batch is in the organization's log.

    `GET /organizations/{organizationId}/audit-log/{entryId}` shows the entry.
    """

    id: Uuid = Field(description="The id of the event's entry in the log.")


class CreatedEvents(Output):
    """The ids of the entries that a batch added to the organization's log.

    They have the order of the request, so the first id belongs to the first event.
    """

    id_field: ClassVar[str] = ""

    items: list[CreatedEvent] = Field(description="The events, in the order of the request.")


def total_bytes(body: Any) -> int:
    """Return the size of the events in a request body, which is an event or a batch."""
    return sum(event.size_bytes for event in events_in(body))


def event_count(body: Any) -> int:
    """Return the number of events in a request body, which is an event or a batch."""
    return len(events_in(body))


def events_in(body: "EventIn | EventBatch") -> list[EventIn]:
    """Return the events in a request body, which is an event or a batch."""
    return body.events if isinstance(body, EventBatch) else [body]
