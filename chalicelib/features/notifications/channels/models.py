"""Request and response models of integration channels."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WrapValidator

from chalicelib.features.notifications.models.schemas import EventAreas, EventPatterns
from chalicelib.features.notifications.models.webhook_urls import MASK, TargetUrl
from chalicelib.kernel.http.fields import Name
from chalicelib.kernel.http.models import Input, Output, Patch, RecordOutput

Provider = Literal["slack", "discord", "teams", "webhook"]
ChannelStatus = Literal["active", "needs_attention"]

_URL: Final = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
_MASKED_URL: Final = "https://hooks.slack.com/…wxyz"


def _validate_unless_masked(url: Any, validate: Callable[[Any], str]) -> str:
    return url if isinstance(url, str) and MASK in url else validate(url)


class ChannelTarget(Input):
    """The URL that receives a channel's messages.

    Create it in the settings of the chat room, and keep it secret: it is a credential.
    """

    webhook_url: Annotated[TargetUrl, WrapValidator(_validate_unless_masked)] = Field(
        description="The provider's URL for incoming messages. Send the masked URL back to keep the current one.",
        examples=[_URL],
    )


class ChannelCreate(Input):
    """A new integration channel: the chat room, and the events that it receives.

    Create the incoming URL in the settings of the chat room first.
    """

    provider: Provider = Field(examples=["slack"])
    name: Name = Field(examples=["#engines"])
    events: EventPatterns = Field(["*"])
    config: ChannelTarget
    enabled: bool = True


class ChannelPatch(Patch):
    """The changeable fields of an integration channel.

    Send the masked URL back unchanged to keep the current one.
    """

    provider: Provider = Field(examples=["slack"])
    name: Name = Field(examples=["#engines"])
    events: EventPatterns = Field(["*"])
    config: ChannelTarget
    enabled: bool = True


class ChannelConfigOut(Output):
    """The URL that receives a channel's messages, masked.

    The host and the last characters are enough to recognize it.
    """

    webhook_url: str = Field(
        description="The masked URL: its scheme, host and last characters.", examples=[_MASKED_URL]
    )


class ChannelOut(RecordOutput):
    """A chat room, or another program, that receives events as sentences.

    A channel that needs attention receives no messages until it is fixed.
    """

    provider: Provider = Field(examples=["slack"])
    name: str = Field(examples=["#engines"])
    events: list[str] = Field(examples=[["organization.*"]])
    areas: EventAreas
    config: ChannelConfigOut
    enabled: bool
    status: ChannelStatus = Field(examples=["active"])
    last_error: str | None = Field(description="Why the channel needs attention.", examples=[None])
