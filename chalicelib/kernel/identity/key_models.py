"""What the requests and responses of all operations on API keys and service keys have in common."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ip_networks import parse_ip_network
from chalicelib.kernel.http.fields import DateTime, Timestamp, out_of_range_error
from chalicelib.kernel.http.models import Input, RecordOutput
from chalicelib.kernel.http.principal_ids import PrincipalId


def _require_future(timestamp: str) -> str:
    if timestamp <= now():
        raise out_of_range_error("must lie in the future")
    return timestamp


def _normalize_network(cidr: str) -> str:
    return str(parse_ip_network(cidr))


FutureDateTime = Annotated[DateTime, AfterValidator(_require_future)]
Network = Annotated[str, AfterValidator(_normalize_network)]


class KeyRotation(Input):
    """How many hours the former secret of a key works after a rotation.

    Write the new secret into the settings of the program within this time. With 0, the former secret ends at once.
    """

    grace_hours: int = Field(24, ge=0, le=168, examples=[24])


class KeyOut(RecordOutput):
    """A credential of a program.

    Only the responses that create or rotate it contain the secret in `key`.
    """

    secret_fields: ClassVar[frozenset[str]] = frozenset({"key"})

    name: str = Field(examples=["Nightly export"])
    scopes: list[str] = Field(examples=[["read"]])
    expires_at: Timestamp | None = Field(examples=["2026-11-27T09:30:00.000Z"])
    allowed_ips: list[str] = Field(examples=[["192.0.2.0/24"]])
    hint: str = Field(examples=["atr_…eVQS"])
    key: str | None = Field(None, description="The secret, when created or rotated. Null otherwise.", examples=[None])
    former_secrets_until: Timestamp | None = Field(
        description=(
            "When the last of the secrets that were replaced by `rotate` stops working. Once this time has passed, only"
            " the current secret works. Null if there are no former secrets."
        ),
        examples=[None],
    )
    created_by: PrincipalId | None = Field(
        description="Id of the user or API key that created it. Null after the person was erased."
    )
    last_used_at: Timestamp | None = Field(description="To the minute.")
    status: Literal["active", "revoked", "expired"] = Field(examples=["active"])
