"""What the operations on API keys accept and answer."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.tenancy.models.memberships import RevokedKeyOut
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ip_networks import network
from chalicelib.kernel.http.fields import DateTime, Name, Timestamp, out_of_range
from chalicelib.kernel.http.models import Input, Output, RecordOutput
from chalicelib.kernel.permissions.roles import all_scopes

Reason = Literal["parent_revoked", "member_removed", "member_left", "member_demoted", "person_erased"]

_SCOPES: Final = all_scopes()
Scope = Literal[_SCOPES]  # type: ignore[valid-type]


def _future(moment: str) -> str:
    if moment <= now():
        raise out_of_range("must lie in the future")
    return moment


def _network(cidr: str) -> str:
    return str(network(cidr))


def _once(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


class ApiKeyCreate(Input):
    """A new API key."""

    name: Name = Field(examples=["Nightly export"])
    scopes: Annotated[list[Scope], AfterValidator(_once)] = Field(
        ["read"], min_length=1, max_length=40, description="At most what the creator holds.", examples=[["read"]]
    )
    expires_at: Annotated[DateTime, AfterValidator(_future)] | None = Field(
        None,
        description="RFC 3339 with an offset. A key that is made by another ends no later, and with it if left out.",
        examples=["2030-01-01T00:00:00.000Z"],
    )
    allowed_ips: list[Annotated[str, AfterValidator(_network)]] = Field(
        default_factory=list,
        max_length=40,
        description="Networks (CIDR) it works from; none means any or, of a key that is made by another, all of its.",
        examples=[["192.0.2.0/24"]],
    )


class ApiKeyRotation(Input):
    """How long the former secret keeps working."""

    grace_hours: int = Field(24, ge=0, le=168, examples=[24])


class RevokedBecauseOut(Output):
    """Why an API key was revoked by itself."""

    reason: Reason = Field(examples=["parent_revoked"])
    id: str | None = Field(description="The id of that key or user; null once that person was erased.")


class ApiKeyOut(RecordOutput):
    """An API key. The secret itself is in the answers that make it, and nowhere else."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"key"})

    name: str = Field(examples=["Nightly export"])
    scopes: list[str] = Field(examples=[["read"]])
    expires_at: Timestamp | None
    allowed_ips: list[str] = Field(examples=[["192.0.2.0/24"]])
    hint: str = Field(examples=["atr_…eVQS"])
    key: str | None = Field(None, description="Only when created or rotated; null ever after.", examples=[None])
    created_by: str | None = Field(
        description="The id of the user or API key that created it; null once that person was erased."
    )
    last_used_at: Timestamp | None = Field(description="To the minute.")
    status: Literal["active", "revoked", "expired"] = Field(examples=["active"])
    revoked_because: RevokedBecauseOut | None = Field(
        description="Whose end it was revoked with: what made it, or rotated it. Null if it was revoked itself.",
        examples=[None],
    )
    revoked_keys: list[RevokedKeyOut] | None = Field(
        description="In the entry of its revocation: the keys that were revoked with it; null everywhere else.",
        examples=[None],
    )
