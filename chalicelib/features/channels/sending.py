"""Sending a channel a message, be it an event's or a trial's, and judging it by what comes of that."""

import time
from typing import Final

from chalicelib.features.channels.entities import IntegrationChannel
from chalicelib.features.channels.messages import Notice, address, message
from chalicelib.features.channels.rules import asked_seconds, state_after
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp_ms
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_LONGEST_WAIT_MS: Final = IntegrationChannel.spacing_seconds * 1000
_LONGEST_PEACE_SECONDS: Final = 86_400
_SILENT_SECONDS: Final = 300
"""For so long a channel is left in peace that gave no answer in time: meanwhile others would wait behind it."""


def send(channel: IntegrationChannel, notice: Notice, seconds: float | None = None) -> WebhookResponse:
    """Send a message once the channel is free for it, but in a second at the latest; return what came of it.

    `seconds`: what all of it may take, the wait included, if not as long as any request.
    """
    wait = timestamp_ms(channel.free_at) - now_ms() if channel.free_at else 0
    wait_seconds = max(0, min(wait, _LONGEST_WAIT_MS)) / 1000
    time.sleep(wait_seconds)
    left = None if seconds is None else seconds - wait_seconds
    headers = {"content-type": "application/json"}
    return webhook_client.post_webhook(
        address(channel.provider, channel.url), message(channel.provider, notice), headers, left
    )


def judge(changes: UnitOfWork, channel: IntegrationChannel, answer: WebhookResponse) -> IntegrationChannel:
    """Let changes say what an answer tells of a channel, and when it is free again; return it as it is then.

    Callers see whether it needs attention, so that makes a new version of it.
    """
    peace = _SILENT_SECONDS if answer.timed_out else min(asked_seconds(answer) or 0, _LONGEST_PEACE_SECONDS)
    free_at = after(now(), seconds=max(peace, channel.spacing_seconds))
    state = state_after(channel.provider, answer)
    if any(getattr(channel, name) != value for name, value in state.items()):
        return changes.update(channel, **state, free_at=free_at)
    changes.update_untracked(channel, free_at=free_at)
    return channel.replace(free_at=free_at)
