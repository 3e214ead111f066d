"""Event patterns of subscriptions, and the retry schedule. No I/O."""

from collections.abc import Container, Sequence
from typing import Final

from chalicelib.features.notifications.models.event_areas import is_in_scope_areas, scope_area_of
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import FieldError, Problem
from chalicelib.kernel.rate_limits.buckets import RateLimit

RETRY_SECONDS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Pauses between the attempts of a delivery. The delivery fails after the attempt that follows the last pause."""

JITTER_FRACTION: Final = 0.2
"""Random variation of a pause, as a fraction of it, so failed deliveries are not all repeated at once."""

TEST_TIMEOUT_SECONDS: Final = 5.0
"""Time limit of a test message, because the caller and a function instance wait for it."""

TEST_RATE_LIMITS: Final = (
    RateLimit("tests", limit=10, seconds=60, per="organization"),
    RateLimit("tests-of-caller", limit=30, seconds=60, per="principal"),
)
"""Rate limits of test messages. The second one keeps a caller with many organizations from occupying many functions."""

_MAX_RETRY_AFTER_SECONDS: Final = 86_400
"""Longest delay that the `Retry-After` of a receiver can request. A longer one counts as this."""


def reject_unreadable_exact_event_types(patterns: Sequence[str], readable_areas: Container[str] | None) -> None:
    """Raise Problem 403 for each exact event type outside the areas. Prefix patterns are always allowed."""
    errors = [
        FieldError(
            f"/events/{index}", "insufficient_scope", f"This event requires the scope {scope_area_of(pattern)}:read."
        )
        for index, pattern in enumerate(patterns)
        if "*" not in pattern and not is_in_scope_areas(pattern, readable_areas)
    ]
    if errors:
        raise Problem("insufficient_scope", "The API key lacks the scope to read some of these events.", errors)


def next_attempt_at(
    tries: int,
    now: str,
    jitter: float,
    retry_after_seconds: int | None = None,
    delays_seconds: Sequence[int] = RETRY_SECONDS,
) -> str | None:
    """Return when a delivery is attempted again after a number of failures, or None if there is no further attempt.

    `jitter` is a number from -1 to 1. `retry_after_seconds` is the pause that the server requested.
    """
    if tries > len(delays_seconds):
        return None
    delay_seconds = delays_seconds[tries - 1] * (1 + JITTER_FRACTION * jitter)
    return after(now, seconds=max(delay_seconds, min(retry_after_seconds or 0, _MAX_RETRY_AFTER_SECONDS)))
