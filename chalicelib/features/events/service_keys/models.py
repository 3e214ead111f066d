"""Requests and responses of the operations on service keys."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.event_patterns import is_application_type
from chalicelib.kernel.http.fields import EventTypeOrPrefix, Name, Timestamp, deduplicate, out_of_range_error
from chalicelib.kernel.http.models import Input
from chalicelib.kernel.identity.key_models import FutureDateTime, KeyOut, Network

MAX_LIFETIME_DAYS: Final = 365
"""Days until a service key expires at the latest, and by default."""

MAX_TYPES: Final = 40
"""Maximum number of event types and patterns to which a service key is limited."""


def _require_within_a_year(timestamp: str) -> str:
    if timestamp > after(now(), days=MAX_LIFETIME_DAYS):
        raise out_of_range_error(f"must lie at most {MAX_LIFETIME_DAYS} days ahead")
    return timestamp


def _reject_reserved_type(pattern: str) -> str:
    if not is_application_type(pattern):
        raise ValueError(f"{pattern!r} is reserved for built-in events, which service keys cannot write or read")
    return pattern


Scope = Literal["events:write", "events:read"]
_TypeOrPattern = Annotated[EventTypeOrPrefix, AfterValidator(_reject_reserved_type)]


class ServiceKeyCreate(Input):
    """A new service key: its name, what it may do, with which event types, until when and from which networks.

    Give a key only the types that its program reports.
    """

    name: Name = Field(examples=["Billing"])
    scopes: Annotated[list[Scope], AfterValidator(deduplicate)] = Field(
        ["events:write"],
        min_length=1,
        max_length=2,
        description="`events:write` includes `events:read`.",
        examples=[["events:write"]],
    )
    types: Annotated[list[_TypeOrPattern], AfterValidator(deduplicate)] | None = Field(
        None,
        min_length=1,
        max_length=MAX_TYPES,
        description=(
            "The event types that it may write and read: exact types, and patterns such as `invoice.*`. They need not"
            " be declared yet. Default: all."
        ),
        examples=[["invoice.*"]],
    )
    expires_at: Annotated[FutureDateTime, AfterValidator(_require_within_a_year)] | None = Field(
        None,
        description=f"RFC 3339 with an offset. At most, and by default, {MAX_LIFETIME_DAYS} days ahead.",
        examples=[None],
    )
    allowed_ips: list[Network] = Field(
        default_factory=list,
        max_length=40,
        description="Networks (CIDR) from which it works. Default: any.",
        examples=[["192.0.2.0/24"]],
    )


class ServiceKeyOut(KeyOut):
    """A credential of the deployment, which writes and reads application events in all organizations.

    It can do nothing else. Only the responses that create or rotate it contain the secret in `key`.
    """

    name: str = Field(examples=["Billing"])
    scopes: list[str] = Field(description="`events:write` includes `events:read`.", examples=[["events:write"]])
    expires_at: Timestamp = Field(examples=["2026-11-27T09:30:00.000Z"])
    created_by: str | None = Field(description="Id of the operator who created it.")
    types: list[str] | None = Field(
        description="The event types and patterns to which it is limited. Null for all types.", examples=[["invoice.*"]]
    )
