"""Rules of the providers: which URLs they have, and what their responses mean. No I/O."""

import math
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.notifications.channels.models import Provider
from chalicelib.features.notifications.models.webhook_urls import target_url_host
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

RETRY_SECONDS: Final = (5, 300, 1_800, 7_200)
"""Pauses between the attempts of a message. They are short, because a chat message is useless a day later."""

HEALTHY_FIELDS: Final[Mapping[str, Any]] = {"status": "active", "last_error": None}
"""The stored fields of a channel that needs no attention."""

_PROVIDER_URLS: Final[Mapping[Provider, tuple[str, str]]] = {
    "slack": (r"hooks\.slack(-gov)?\.com", "https://hooks.slack.com/services/…"),
    "discord": (r"((ptb|canary)\.)?discord(app)?\.com", "https://discord.com/api/webhooks/…"),
    "teams": (
        r"([a-z0-9-]+\.)+(logic\.azure|api\.powerplatform|webhook\.office)\.com",
        "https://….environment.api.powerplatform.com/… or https://….logic.azure.com/…",
    ),
}
"""The host names and an example URL of each provider. The generic webhook may use any host."""

_DISCORD_PATH: Final = re.compile(r"https?://[^/]+/api/(v\d+/)?webhooks/\d+/[\w-]+/?(\?.*)?")

_PROVIDER_NAMES: Final[Mapping[Provider, str]] = {
    "slack": "Slack",
    "discord": "Discord",
    "teams": "Teams",
    "webhook": "The webhook",
}
_TRANSIENT_STATUSES: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_UNAUTHORIZED_STATUSES: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_GONE_STATUSES: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


def url_mismatch_reason(provider: Provider, url: str) -> str | None:
    """Return the reason why a URL can't receive the provider's messages, or None."""
    if provider not in _PROVIDER_URLS:
        return None
    hosts, example = _PROVIDER_URLS[provider]
    if not re.fullmatch(hosts, target_url_host(url)):
        return f"must be a URL of {_PROVIDER_NAMES[provider]}, such as {example}"
    if provider == "discord" and not _DISCORD_PATH.fullmatch(url):
        return f"must be the URL of a Discord webhook, exactly as copied from Discord, such as {example}"
    return None


def status_fields_after_response(provider: Provider, response: WebhookResponse) -> Mapping[str, Any]:
    """Return the changed fields of a channel after a response: healthy, needing attention, or none."""
    if response.succeeded:
        return HEALTHY_FIELDS
    reason = _persistent_rejection_reason(provider, response)
    return {"status": "needs_attention", "last_error": reason} if reason else {}


def _persistent_rejection_reason(provider: Provider, response: WebhookResponse) -> str | None:
    """Return the reason why the provider would reject the next message too, or None if that is unknown."""
    status, name = response.status, _PROVIDER_NAMES[provider]
    if status is None or status < HTTPStatus.MULTIPLE_CHOICES or not _is_non_transient_status(status):
        return None
    if status in _UNAUTHORIZED_STATUSES:
        return f"{name} refused the message ({status}): its URL may have been revoked. Give the channel another."
    if status in _GONE_STATUSES:
        return f"{name} takes nothing at this URL any more ({status}). Give the channel another."
    if status < HTTPStatus.BAD_REQUEST:
        return f"{name} redirects to another URL ({status}), and redirects are not followed. Give the channel that URL."
    return None if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else f"{name} did not accept the message ({status})."


def is_permanent_failure(response: WebhookResponse) -> bool:
    """Return whether a failed attempt would fail again at any time."""
    return response.status is not None and not response.succeeded and _is_non_transient_status(response.status)


def retry_after_seconds(response: WebhookResponse) -> int | None:
    """Return how many seconds the provider asks to wait, or None. Discord gives a more precise value in the body."""
    if response.status != HTTPStatus.TOO_MANY_REQUESTS:
        return response.retry_after
    try:
        body = from_json(response.body)
    except ValueError:
        return response.retry_after
    seconds = body.get("retry_after") if isinstance(body, dict) else None
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        return response.retry_after
    return max(math.ceil(seconds), response.retry_after or 0)


def failure_reason(provider: Provider, response: WebhookResponse) -> str | None:
    """Return the reason why a message was not delivered, or None if it was."""
    if response.succeeded:
        return None
    return (
        response.error
        or _persistent_rejection_reason(provider, response)
        or f"{_PROVIDER_NAMES[provider]} answered {response.status}."
    )


def _is_non_transient_status(status: int) -> bool:
    return status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRANSIENT_STATUSES
