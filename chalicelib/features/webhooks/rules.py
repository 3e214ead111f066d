"""When a webhook that fails is left in peace, when it is disabled, and what one is not asked for: pure decisions."""

from http import HTTPStatus
from typing import Any, Final

from chalicelib.features.deliveries.rules import RETRY_SECONDS
from chalicelib.features.webhooks.entities import Webhook
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

FAILING_DAYS: Final = 5
"""After so long without one success a webhook is disabled."""

MISCONFIGURED_DAYS: Final = 1
"""For so long the name or the certificate of a webhook's target may be wrong before it is disabled."""

_LONGEST_PARK_SECONDS: Final = 1_800


def disabling(
    answer: WebhookResponse, failing_since: str | None, misconfigured_since: str | None, moment: str
) -> str | None:
    """Return why a webhook is disabled after an answer, or None if it isn't."""
    if answer.status == HTTPStatus.GONE:
        return "It answered 410 Gone: it wants nothing any more."
    lasting = misconfigured_since is not None and misconfigured_since <= after(moment, days=-MISCONFIGURED_DAYS)
    if answer.misconfigured and lasting:
        return f"For a day nothing could be sent to it. {answer.error}"
    if failing_since and failing_since <= after(moment, days=-FAILING_DAYS):
        return f"Every attempt has failed for {FAILING_DAYS} days."
    return None


def misconfigured(answer: WebhookResponse, since: str | None, moment: str) -> str | None:
    """Return since when the name or the certificate of a webhook's target is wrong, once it was asked again.

    An answer shows that both are well. A time-out, or a name server that fails, shows nothing.
    """
    if answer.misconfigured:
        return since or moment
    return None if answer.status is not None else since


def parked(next_attempt_at: str | None, silences: int, moment: str) -> str:
    """Return until when nothing is sent to a webhook that gave so many times in a row no answer.

    That is the next attempt of what it was sent; later, if it has been silent for longer; half an hour at most.
    """
    longest = after(moment, seconds=_LONGEST_PARK_SECONDS)
    pause = RETRY_SECONDS[min(silences, len(RETRY_SECONDS)) - 1]
    return min(max(next_attempt_at or longest, after(moment, seconds=pause)), longest)


def refuse_inactive(webhook: Webhook) -> None:
    """Raise Problem `invalid_transition` if nothing is sent to a webhook."""
    if webhook.status != "active":
        detail = f'The webhook is {webhook.status}: nothing is sent to it. Change it by {{"enabled": true}} first.'
        raise Problem("invalid_transition", detail)


def well(moment: str, *, enabled: bool) -> dict[str, Any]:
    """Return the fields of a webhook against which nothing that happened before a moment is held any more.

    If it is enabled, what waited for it is sent then, as soon as it answers.
    """
    fresh = {"failing_since": None, "misconfigured_since": None, "disabling": None}
    return {**fresh, **unknown(moment if enabled else None)}


def unknown(until: str | None) -> dict[str, Any]:
    """Return the fields of a webhook that is to be probed, at a moment or with its next event, before it gets more."""
    return {"answers": False, "silences": 0, "caught_up": False, "parked_until": until}


def failure(answer: WebhookResponse) -> str | None:
    """Return in words why a message was not delivered; None if it was."""
    if answer.succeeded or answer.error:
        return answer.error
    return f"It answered {answer.status}, and not 2xx."
