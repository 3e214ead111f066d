"""What the operations on webhooks accept and answer."""

from typing import ClassVar, Literal

from pydantic import Field

from chalicelib.kernel.fields import Timestamp
from chalicelib.kernel.models import RecordOutput

Status = Literal["active", "paused", "disabled"]


class WebhookOut(RecordOutput):
    """A webhook. Its secret is in the answers that make one, and nowhere else."""

    one_time: ClassVar[frozenset[str]] = frozenset({"secret"})

    url: str = Field(examples=["https://example.com/hooks/atrium"])
    events: list[str] = Field(examples=[["organization.*"]])
    description: str | None = Field(examples=["Feeds the data warehouse."])
    enabled: bool
    status: Status = Field(examples=["active"])
    secret: str | None = Field(None, description="Only when created or rotated; null ever after.", examples=[None])
    failing_since: Timestamp | None = Field(
        description="Since when every attempt has failed; null if the last one succeeded.", examples=[None]
    )
    disabled_reason: str | None = Field(description="Why the service disabled it.", examples=[None])
