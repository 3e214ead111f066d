"""What is stored of an integration channel, and of the messages on their way to it."""

from typing import Final

from chalicelib.features.channels.models import ChannelOut, Provider, Status
from chalicelib.features.deliveries.entities import Delivery, Subscriber
from chalicelib.kernel.entity import Collection, Limit

MOST_CHANNELS: Final = 50
SEND: Final = "channels.send"


class ChannelMessage(Delivery):
    """The message that tells a channel of an event."""

    kind = "organization.integration_channel.message"
    pk, sk = "V#{channel_id}", "{id}"
    subscriber = "channel_id"
    pending = Collection("V#{channel_id}#P", "{next_attempt_at}#{id}", index="index1")

    channel_id: str


class IntegrationChannel(Subscriber):
    """An integration channel of an organization. `sealed_url`: where messages go, encrypted; `masked_url` is shown.

    `sent_at`: when the last message was sent.
    """

    kind, parameter = "organization.integration_channel", "channel_id"
    pk, sk = "O#{organization_id}", "C#{id}"
    in_organization = Collection("O#{organization_id}", "C#{id}")
    limit = Limit("integration channels", "O#{organization_id}", MOST_CHANNELS, lambda _channel: True)
    public = ChannelOut
    task, delivery, spacing_seconds = SEND, ChannelMessage, 1

    provider: Provider
    name: str
    sealed_url: bytes
    masked_url: str
    status: Status = "active"
    last_error: str | None = None
    sent_at: str | None = None

    @property
    def config(self) -> dict[str, str]:
        """Where its messages go, as callers see it."""
        return {"webhook_url": self.masked_url}
