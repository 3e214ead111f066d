"""When a webhook that fails is left in peace, and when it is disabled: pure decisions."""

from http import HTTPStatus
from typing import Final

from chalicelib.kernel.clock import after
from chalicelib.kernel.outgoing import Answer

FAILING_DAYS: Final = 5
"""After so long without one success a webhook is disabled."""

_LONGEST_PARK_SECONDS: Final = 1_800


def disabling(answer: Answer, failing_since: str | None, moment: str) -> str | None:
    """Return why a webhook is disabled after an answer, or None if it isn't."""
    if answer.status == HTTPStatus.GONE:
        return "It answered 410 Gone: it wants nothing any more."
    if failing_since and failing_since <= after(moment, days=-FAILING_DAYS):
        return f"Every attempt has failed for {FAILING_DAYS} days."
    return None


def parked(next_attempt_at: str | None, moment: str) -> str:
    """Return until when nothing is sent to a webhook that gave no answer: its next attempt, half an hour at most."""
    longest = after(moment, seconds=_LONGEST_PARK_SECONDS)
    return min(next_attempt_at or longest, longest)
