"""What the operations on integration channels accept and answer."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WrapValidator

from chalicelib.features.deliveries.models import EventAreas, EventPatterns
from chalicelib.kernel.http.fields import Name
from chalicelib.kernel.http.models import Input, Output, Patch, RecordOutput
from chalicelib.kernel.outbound.webhook_urls import TargetUrl

Provider = Literal["slack", "discord", "teams", "webhook"]
Status = Literal["active", "needs_attention"]

MASK: Final = "…"
"""What stands for most of a URL where it is shown. No URL holds it: they are ASCII."""

_URL: Final = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
_MASKED: Final = "https://hooks.slack.com/…wxyz"


def _masked_or(url: Any, checked: Callable[[Any], str]) -> str:
    return url if isinstance(url, str) and MASK in url else checked(url)


class ChannelTarget(Input):
    """Where a channel's messages are to go."""

    webhook_url: Annotated[TargetUrl, WrapValidator(_masked_or)] = Field(
        description="The URL that the provider made for incoming messages. As it is read, masked, it stays the same.",
        examples=[_URL],
    )


class ChannelCreate(Input):
    """A new integration channel."""

    provider: Provider = Field(examples=["slack"])
    name: Name = Field(examples=["#engines"])
    events: EventPatterns = Field(["*"])
    config: ChannelTarget
    enabled: bool = True


class ChannelPatch(Patch):
    """What of an integration channel can be changed."""

    provider: Provider = Field(examples=["slack"])
    name: Name = Field(examples=["#engines"])
    events: EventPatterns = Field(["*"])
    config: ChannelTarget
    enabled: bool = True


class ChannelConfigOut(Output):
    """Where a channel's messages go."""

    webhook_url: str = Field(description="Masked: its scheme, host and end.", examples=[_MASKED])


class ChannelOut(RecordOutput):
    """An integration channel. One that needs attention is sent nothing until that is seen to."""

    provider: Provider = Field(examples=["slack"])
    name: str = Field(examples=["#engines"])
    events: list[str] = Field(examples=[["organization.*"]])
    areas: EventAreas
    config: ChannelConfigOut
    enabled: bool
    status: Status = Field(examples=["active"])
    last_error: str | None = Field(description="Why it needs attention.", examples=[None])
