"""Stored records of integration channels and their messages."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from chalicelib.features.notifications.channels.models import ChannelOut, ChannelStatus, Provider
from chalicelib.features.notifications.entities import Delivery, Subscriber
from chalicelib.features.notifications.models.webhook_urls import mask_path_and_query
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.storage.entity import Collection
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota

MAX_CHANNELS: Final = 50
"""Integration channels of an organization."""

SEND_TASK: Final = "channels.send"

_ERASED_URL_FIELDS: Final = {
    "status": "needs_attention",
    "last_error": "Its URL named a person who was erased. Give it another.",
}


class ChannelMessage(Delivery):
    """The delivery of an event to a channel."""

    kind = "organization.integration_channel.message"
    pk, sk = "N#{channel_id}", "{id}"
    subscriber_field = "channel_id"

    channel_id: str


class IntegrationChannel(Subscriber):
    """An integration channel of an organization.

    `sealed_url` is the encrypted URL for messages; `masked_url` is its public form. `free_at` is the earliest time for
    the next message.
    """

    kind, parameter = "organization.integration_channel", "channel_id"
    pk, sk = "O#{organization_id}", "C#{id}"
    in_organization = Collection("O#{organization_id}", "C#{id}")
    quota = Quota("integration channels", "O#{organization_id}", MAX_CHANNELS, lambda _channel: True)
    output_model = ChannelOut
    send_task, delivery_type, min_interval_seconds = SEND_TASK, ChannelMessage, 1
    shows_sentences = True
    child_partition = "N#{id}"
    log_rules = LogRules(
        ended_by=("organization.integration_channel.deleted",), unlogged_changes="Deliveries store the status."
    )
    unauthenticated_fields: ClassVar = dict.fromkeys(
        ("status", "last_error", "free_at"), "The functions that send messages store it. They cannot use the key."
    )

    provider: Provider
    name: str
    sealed_url: bytes
    masked_url: str
    status: ChannelStatus = "active"
    last_error: str | None = None
    free_at: str | None = None

    @property
    def stored_url(self) -> object:
        """Return the encrypted URL that receives the messages."""
        return self.sealed_url

    @property
    def config(self) -> dict[str, str]:
        """Return the masked URL, in its public form."""
        return {"webhook_url": self.masked_url}

    @property
    def decrypted_url(self) -> str:
        """Return the decrypted URL. Raises DecryptionError if the stored value was altered."""
        return symmetric.decrypt_bytes(self.sealed_url, _encryption_context_text(self.id)).decode()

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that redact a person. A URL that names the person keeps only its host."""
        redacted = person.redacted_field_changes({"name": self.name})
        if not person.appears_in(url := self.decrypted_url):
            return redacted
        parts = urlsplit(url)
        return {
            **redacted,
            **encrypted_url_fields(self.id, f"{parts.scheme}://{person.redact(parts.netloc)}/"),
            **_ERASED_URL_FIELDS,
        }


def encrypted_url_fields(channel_id: str, url: str) -> dict[str, Any]:
    """Return the fields of a channel that store its URL, encrypted and masked."""
    return {
        "sealed_url": symmetric.encrypt_bytes(url.encode(), _encryption_context_text(channel_id)),
        "masked_url": mask_path_and_query(url),
    }


def _encryption_context_text(channel_id: str) -> str:
    return f"channel:{channel_id}"
