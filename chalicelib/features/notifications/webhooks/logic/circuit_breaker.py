"""The circuit breaker of webhooks: when a failing webhook is probed, and when it is disabled. No I/O."""

from http import HTTPStatus
from typing import Any, Final

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

FAILING_DAYS: Final = 5
"""Days without a success after which a webhook is disabled."""

MISCONFIGURED_DAYS: Final = 1
"""Days with an invalid host name or certificate after which a webhook is disabled."""

_MAX_PROBE_DELAY_SECONDS: Final = 1_800


def find_disable_reason(
    response: WebhookResponse, failing_since: str | None, misconfigured_since: str | None, now: str
) -> str | None:
    """Return the reason to disable a webhook after a response, or None."""
    if response.status == HTTPStatus.GONE:
        return "It answered 410 Gone: it wants nothing any more."
    is_lasting = misconfigured_since is not None and misconfigured_since <= after(now, days=-MISCONFIGURED_DAYS)
    if response.misconfigured and is_lasting:
        return f"Nothing could be sent to it for a day. {response.error}"
    if failing_since and failing_since <= after(now, days=-FAILING_DAYS):
        return f"Every attempt has failed for {FAILING_DAYS} days."
    return None


def next_misconfigured_since(response: WebhookResponse, previous_since: str | None, now: str) -> str | None:
    """Return the time since when the host name or certificate is invalid, updated by a response.

    Any HTTP response proves both valid. A time-out or a failing name server proves nothing.
    """
    if response.misconfigured:
        return previous_since or now
    return None if response.status is not None else previous_since


def next_probe_at_within_half_hour(next_attempt_at: str | None, consecutive_timeouts: int, now: str) -> str:
    """Return the time of the next probe after a number of consecutive time-outs.

    This is the next attempt of the delivery or, after repeated time-outs, later; at most half an hour from now.
    """
    latest = after(now, seconds=_MAX_PROBE_DELAY_SECONDS)
    delay_seconds = RETRY_SECONDS[min(consecutive_timeouts, len(RETRY_SECONDS)) - 1]
    return min(max(next_attempt_at or latest, after(now, seconds=delay_seconds)), latest)


def require_active_webhook(webhook: Webhook) -> None:
    """Raise Problem `invalid_transition` unless the webhook is active."""
    if webhook.status != "active":
        detail = f'The webhook is {webhook.status} and receives no events. Set {{"enabled": true}} first.'
        raise Problem("invalid_transition", detail)


def half_open_fields_clearing_failures(now: str, *, enabled: bool) -> dict[str, Any]:
    """Return the fields of a webhook without its recorded failures.

    If the webhook is enabled, it is probed now, and its backlog is sent as soon as it responds.
    """
    cleared = {"failing_since": None, "misconfigured_since": None, "pending_disable_reason": None}
    return {**cleared, **half_open_circuit_fields(now if enabled else None)}


def half_open_circuit_fields(probe_at: str | None) -> dict[str, Any]:
    """Return the fields of a webhook that gets only probes until it responds, at `probe_at` or with its next event."""
    return {"responsive": False, "consecutive_timeouts": 0, "backlog_drained": False, "probe_at": probe_at}


def failure_reason(response: WebhookResponse) -> str | None:
    """Return the reason why a message was not delivered, or None if it was."""
    if response.succeeded or response.error:
        return response.error
    return f"It answered {response.status} instead of 2xx."
