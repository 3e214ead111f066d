"""What the operations on integration channels accept and answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.models import Output, RecordOutput

Provider = Literal["slack", "discord", "teams", "webhook"]
Status = Literal["active", "needs_attention"]


class ChannelConfigOut(Output):
    """Where a channel's messages go."""

    webhook_url: str = Field(description="Masked.", examples=["https://hooks.slack.com/…wxyz"])


class ChannelOut(RecordOutput):
    """An integration channel."""

    provider: Provider = Field(examples=["slack"])
    name: str = Field(examples=["#engines"])
    events: list[str] = Field(examples=[["organization.*"]])
    config: ChannelConfigOut
    enabled: bool
    status: Status = Field(examples=["active"])
    last_error: str | None = Field(description="Why the provider takes no messages.", examples=[None])
