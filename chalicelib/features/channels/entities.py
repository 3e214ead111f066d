"""What is stored of an integration channel, and of the messages on their way to it."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from chalicelib.features.channels.models import MASK, ChannelOut, Provider, Status
from chalicelib.features.deliveries.entities import Delivery, Subscriber
from chalicelib.kernel.crypto import encryption
from chalicelib.kernel.storage.entity import Collection, Quota
from chalicelib.kernel.storage.pii import PersonalData

MOST_CHANNELS: Final = 50
SEND: Final = "channels.send"

_ERASED: Final = {
    "status": "needs_attention",
    "last_error": "Its URL named a person who was erased. Give it another.",
}
_SHOWN_CHARACTERS: Final = 4
_SECRET_CHARACTERS: Final = 12
"""So many characters have to stay unseen before the last ones are shown."""


class ChannelMessage(Delivery):
    """The message that tells a channel of an event."""

    kind = "organization.integration_channel.message"
    pk, sk = "N#{channel_id}", "{id}"
    subscriber = "channel_id"

    channel_id: str


class IntegrationChannel(Subscriber):
    """An integration channel of an organization. `sealed_url`: where messages go, encrypted; `masked_url` is shown.

    `free_at`: from when on the next message may be sent.
    """

    kind, parameter = "organization.integration_channel", "channel_id"
    pk, sk = "O#{organization_id}", "C#{id}"
    in_organization = Collection("O#{organization_id}", "C#{id}")
    quota = Quota("integration channels", "O#{organization_id}", MOST_CHANNELS, lambda _channel: True)
    output_model = ChannelOut
    task, delivery, spacing_seconds = SEND, ChannelMessage, 1
    child_partition = "N#{id}"

    provider: Provider
    name: str
    sealed_url: bytes
    masked_url: str
    status: Status = "active"
    last_error: str | None = None
    free_at: str | None = None

    @property
    def target(self) -> object:
        """Where its messages go."""
        return self.sealed_url

    @property
    def config(self) -> dict[str, str]:
        """Where its messages go, as callers see it."""
        return {"webhook_url": self.masked_url}

    @property
    def url(self) -> str:
        """Where its messages go. Raises SealBroken if somebody altered what is stored."""
        return encryption.decrypt(self.sealed_url, _context(self.id)).decode()

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets its name no longer name the person; a URL that does so loses all but its host."""
        named = person.redact_all({"name": self.name})
        if not person.appears_in(url := self.url):
            return named
        parts = urlsplit(url)
        return {**named, **kept(self.id, f"{parts.scheme}://{person.redact(parts.netloc)}/"), **_ERASED}


def kept(channel_id: str, url: str) -> dict[str, Any]:
    """Return the fields of a channel that say where its messages go: sealed, and masked for those who may see it."""
    return {"sealed_url": encryption.encrypt(url.encode(), _context(channel_id)), "masked_url": masked(url)}


def masked(url: str) -> str:
    """Return a URL as it is shown: scheme, host and, of what is secret behind them, the end if that is little."""
    parts = urlsplit(url)
    secret = url.partition("://")[2].removeprefix(parts.netloc)
    end = secret[-_SHOWN_CHARACTERS:] if len(secret) >= _SHOWN_CHARACTERS + _SECRET_CHARACTERS else ""
    return f"{parts.scheme}://{parts.netloc}/{MASK}{end}"


def _context(channel_id: str) -> str:
    return f"channel:{channel_id}"
