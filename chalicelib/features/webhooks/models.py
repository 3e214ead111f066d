"""What the operations on webhooks accept and answer."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.deliveries.models import EventAreas, EventPatterns
from chalicelib.features.webhooks.standard_webhooks import secret_bytes
from chalicelib.kernel.http.fields import Text, Timestamp
from chalicelib.kernel.http.models import Input, Patch, RecordOutput
from chalicelib.kernel.outbound.webhook_urls import TargetUrl

Status = Literal["active", "paused", "disabled"]

_EVERYTHING: Final = ["*"]
_DISABLED: Final = {
    "enabled": False,
    "failing_since": "2026-11-15T09:30:00.000Z",
    "disabled_reason": "Every attempt has failed for 5 days.",
}
_SECRET_CHARACTERS: Final = 100


def _secret(text: str) -> str:
    secret_bytes(text)
    return text


Secret = Annotated[str, Field(max_length=_SECRET_CHARACTERS), AfterValidator(_secret)]


class WebhookCreate(Input):
    """A new webhook."""

    url: TargetUrl = Field(description="Where events are sent: https.", examples=["https://example.com/hooks/atrium"])
    events: EventPatterns = Field(_EVERYTHING)
    description: Text | None = Field(None, examples=["Feeds the data warehouse."])
    secret: Secret | None = Field(
        None,
        description="`whsec_` and the base64 of 24 to 64 random bytes; left out, the service makes one.",
        examples=[None],
    )
    enabled: bool = True


class WebhookPatch(Patch):
    """What of a webhook can be changed. `enabled` = true also lets one work again that the service disabled."""

    url: TargetUrl = Field(examples=["https://example.com/hooks/atrium"])
    events: EventPatterns = Field(_EVERYTHING)
    description: Text | None = Field(None, examples=["Feeds the data warehouse."])
    enabled: bool = True


class SecretRotation(Input):
    """How long the former secret signs too."""

    grace_hours: int = Field(24, ge=0, le=168, examples=[24])


class WebhookOut(RecordOutput):
    """A webhook. Its secret is in the answers that make one, and nowhere else."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"secret"})
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"organization.webhook.disabled": _DISABLED}

    url: str = Field(examples=["https://example.com/hooks/atrium"])
    events: list[str] = Field(examples=[["organization.*"]])
    areas: EventAreas
    description: str | None = Field(examples=["Feeds the data warehouse."])
    enabled: bool
    status: Status = Field(examples=["active"])
    secret: str | None = Field(None, description="Only when created or rotated; null ever after.", examples=[None])
    failing_since: Timestamp | None = Field(
        description="Since when every attempt has failed; null if the last one succeeded.", examples=[None]
    )
    disabled_reason: str | None = Field(description="Why the service disabled it.", examples=[None])
