"""Request and response models of webhooks."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field

from chalicelib.features.notifications.models.schemas import (
    EventAreas,
    EventPatterns,
    FormerSecretsUntil,
    RecipientStatus,
)
from chalicelib.features.notifications.models.standard_webhooks import decode_secret
from chalicelib.features.notifications.models.webhook_urls import TargetUrl
from chalicelib.kernel.http.fields import Text, Timestamp
from chalicelib.kernel.http.models import Input, Output, Patch, RecordOutput

_ALL_EVENTS: Final = ["*"]
_DISABLED_EXAMPLE: Final = {
    "enabled": False,
    "failing_since": "2026-11-15T09:30:00.000Z",
    "disabled_reason": "Every attempt has failed for 5 days.",
}
_MAX_SECRET_CHARACTERS: Final = 100
"""Length of a webhook's secret as text."""


def _validate_secret(text: str) -> str:
    decode_secret(text)
    return text


WebhookSecret = Annotated[str, Field(max_length=_MAX_SECRET_CHARACTERS), AfterValidator(_validate_secret)]


class WebhookCreate(Input):
    """A new webhook: the URL, and the events that it receives.

    `*` subscribes to all events, and `page.*` to those of pages.
    """

    url: TargetUrl = Field(
        description="The https URL that receives the events.", examples=["https://example.com/hooks/atrium"]
    )
    events: EventPatterns = Field(_ALL_EVENTS)
    description: Text | None = Field(None, examples=["Feeds the data warehouse."])
    secret: WebhookSecret | None = Field(
        None,
        description="`whsec_` and the base64 of 24 to 64 random bytes. If it is omitted, the service generates one.",
        examples=[None],
    )
    enabled: bool = True


class WebhookPatch(Patch):
    """The changeable fields of a webhook: its URL, events and description.

    `enabled` = true also reactivates one that the service disabled.
    """

    url: TargetUrl = Field(examples=["https://example.com/hooks/atrium"])
    events: EventPatterns = Field(_ALL_EVENTS)
    description: Text | None = Field(None, examples=["Feeds the data warehouse."])
    enabled: bool = True


class WebhookOut(RecordOutput):
    """An endpoint of yours that receives the events of an organization, signed.

    Only the responses that create or rotate its secret contain it.
    """

    secret_fields: ClassVar[frozenset[str]] = frozenset({"secret"})
    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"organization.webhook.disabled": _DISABLED_EXAMPLE}

    url: str = Field(examples=["https://example.com/hooks/atrium"])
    events: list[str] = Field(examples=[["organization.*"]])
    areas: EventAreas
    description: str | None = Field(examples=["Feeds the data warehouse."])
    enabled: bool
    status: RecipientStatus = Field(examples=["active"])
    secret: str | None = Field(
        None, description="Only in the response that creates or rotates it. Null otherwise.", examples=[None]
    )
    former_secrets_until: FormerSecretsUntil
    failing_since: Timestamp | None = Field(
        description="The time since when every attempt has failed. Null if the last one succeeded. After a time-out, "
        "the service probes the webhook with one event at a time, and all other events wait until a probe succeeds.",
        examples=[None],
    )
    disabled_reason: str | None = Field(description="Why the service disabled the webhook.", examples=[None])


class AttemptCountsOut(Output):
    """The attempts to deliver events to a webhook in a period, with their typical duration.

    Each retry counts as an attempt. Test messages do not count.
    """

    delivered: int = Field(ge=0, description="Attempts that the endpoint answered with a status of 2xx.", examples=[97])
    failed: int = Field(ge=0, description="Attempts with another status, or without a response.", examples=[3])
    median_duration_ms: int | None = Field(
        ge=0,
        description="The median duration of the attempts with a response, whatever its status. Time-outs and refused "
        "connections do not count. The error is at most 10 % or a millisecond. Null without a response.",
        examples=[84],
    )


class WebhookStatisticsOut(Output):
    """Counts of a webhook's attempts. The periods end now, and start at a multiple of five minutes."""

    content_etag: ClassVar[bool] = True

    last_hour: AttemptCountsOut
    last_day: AttemptCountsOut
    last_week: AttemptCountsOut
