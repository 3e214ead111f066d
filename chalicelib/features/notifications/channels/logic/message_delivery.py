"""Sends messages to channels, and updates a channel by the response."""

import time
from typing import Final

from chalicelib.features.notifications.channels.entities import IntegrationChannel
from chalicelib.features.notifications.channels.logic.chat_messages import (
    MessageContent,
    build_delivery_url,
    encode_message_body,
)
from chalicelib.features.notifications.channels.logic.provider_rules import (
    retry_after_seconds,
    status_fields_after_response,
)
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp_ms
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_MAX_WAIT_MS: Final = IntegrationChannel.min_interval_seconds * 1000
_MAX_BACKOFF_SECONDS: Final = 86_400
_TIMEOUT_BACKOFF_SECONDS: Final = 300
"""Pause for a channel that timed out, because otherwise it would delay all other messages."""


def wait_and_send_message(
    channel: IntegrationChannel, content: MessageContent, timeout_seconds: float | None = None
) -> WebhookResponse:
    """Send a message and return the response. Waits until the channel is free, but at most a second.

    `timeout_seconds` limits the total time including the wait. The default is the limit of any request.
    """
    wait = timestamp_ms(channel.free_at) - now_ms() if channel.free_at else 0
    wait_seconds = max(0, min(wait, _MAX_WAIT_MS)) / 1000
    time.sleep(wait_seconds)
    remaining_seconds = None if timeout_seconds is None else timeout_seconds - wait_seconds
    headers = {"content-type": "application/json"}
    return webhook_client.post_webhook(
        build_delivery_url(channel.provider, channel.decrypted_url),
        encode_message_body(channel.provider, content),
        headers,
        remaining_seconds,
    )


def update_channel_after_response(
    changes: UnitOfWork, channel: IntegrationChannel, response: WebhookResponse
) -> IntegrationChannel:
    """Add the new state of a channel after a response to the unit of work, and return the changed channel.

    The public status creates a new version of the record. The time when the channel is free does not.
    """
    backoff_seconds = (
        _TIMEOUT_BACKOFF_SECONDS
        if response.timed_out
        else min(retry_after_seconds(response) or 0, _MAX_BACKOFF_SECONDS)
    )
    free_at = after(now(), seconds=max(backoff_seconds, channel.min_interval_seconds))
    state = status_fields_after_response(channel.provider, response)
    if any(getattr(channel, name) != value for name, value in state.items()):
        return changes.update(channel, **state, free_at=free_at)
    changes.update_untracked(channel, free_at=free_at)
    return channel.replace(free_at=free_at)
