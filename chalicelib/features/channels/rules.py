"""Where a provider takes messages, and what its answers mean: pure decisions."""

import math
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.channels.models import Provider
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.outbound.webhook_urls import url_host

RETRY_SECONDS: Final = (5, 300, 1_800, 7_200)
"""Pauses between the attempts of a message: who reads it tomorrow has no use for it."""

MENDED: Final[Mapping[str, Any]] = {"status": "active", "last_error": None}
"""What is stored of a channel that needs no attention."""

_PLACES: Final[Mapping[Provider, tuple[str, str]]] = {
    "slack": (r"hooks\.slack(-gov)?\.com", "https://hooks.slack.com/services/…"),
    "discord": (r"((ptb|canary)\.)?discord(app)?\.com", "https://discord.com/api/webhooks/…"),
    "teams": (
        r"([a-z0-9-]+\.)+(logic\.azure|api\.powerplatform|webhook\.office)\.com",
        "https://….environment.api.powerplatform.com/… or https://….logic.azure.com/…",
    ),
}
"""The hosts of each provider, and what its URLs look like. The generic webhook is anybody's."""

_DISCORD_PATH: Final = re.compile(r"https?://[^/]+/api/(v\d+/)?webhooks/\d+/[\w-]+/?(\?.*)?")

_NAMES: Final[Mapping[Provider, str]] = {
    "slack": "Slack",
    "discord": "Discord",
    "teams": "Teams",
    "webhook": "The webhook",
}
_PASSING: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_REVOKED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_REMOVED: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


def misfit(provider: Provider, url: str) -> str | None:
    """Return why messages in the provider's format can't go to a URL, or None if they can."""
    if provider not in _PLACES:
        return None
    hosts, example = _PLACES[provider]
    if not re.fullmatch(hosts, url_host(url)):
        return f"must be a URL of {_NAMES[provider]}'s own, such as {example}"
    if provider == "discord" and not _DISCORD_PATH.fullmatch(url):
        return f"must be the URL of a webhook of Discord's as it was copied there, such as {example}"
    return None


def state_after(provider: Provider, answer: WebhookResponse) -> Mapping[str, Any]:
    """Return what an answer tells of a channel: that it works, that it needs attention, or nothing."""
    if answer.succeeded:
        return MENDED
    reason = _refusal(provider, answer)
    return {"status": "needs_attention", "last_error": reason} if reason else {}


def _refusal(provider: Provider, answer: WebhookResponse) -> str | None:
    """Return why the next message would be answered like that too, or None if that can't be said."""
    status, name = answer.status, _NAMES[provider]
    if status is None or status < HTTPStatus.MULTIPLE_CHOICES or not _is_permanent(status):
        return None
    if status in _REVOKED:
        return f"{name} refused the message ({status}): its URL may have been revoked. Give the channel another."
    if status in _REMOVED:
        return f"{name} takes nothing at this URL any more ({status}). Give the channel another."
    if status < HTTPStatus.BAD_REQUEST:
        return f"{name} sends us elsewhere ({status}), and redirects are not followed. Give the URL it leads to."
    return None if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else f"{name} did not accept the message ({status})."


def is_final(answer: WebhookResponse) -> bool:
    """Return whether an attempt that failed would fail again, whenever it was made."""
    return answer.status is not None and not answer.succeeded and _is_permanent(answer.status)


def asked_seconds(answer: WebhookResponse) -> int | None:
    """Return for how long the other side wants to be left in peace. Discord says so in the body, to the millisecond."""
    if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return answer.retry_after
    try:
        said = from_json(answer.body)
    except ValueError:
        return answer.retry_after
    seconds = said.get("retry_after") if isinstance(said, dict) else None
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        return answer.retry_after
    return max(math.ceil(seconds), answer.retry_after or 0)


def failure(provider: Provider, answer: WebhookResponse) -> str | None:
    """Return in words why a message was not delivered, or None if it was."""
    if answer.succeeded:
        return None
    return answer.error or _refusal(provider, answer) or f"{_NAMES[provider]} answered {answer.status}."


def _is_permanent(status: int) -> bool:
    return status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING
