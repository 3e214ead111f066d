"""Which events are wanted, and when what failed is tried again: pure decisions."""

from collections.abc import Container, Iterable, Sequence
from typing import Final

from chalicelib.features.deliveries.event_types import area_of, within
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import FieldError, Problem
from chalicelib.kernel.rate_limits.buckets import RateLimit

RETRY_SECONDS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Pauses between the attempts of a delivery; it is given up when the last was in vain."""

SCATTER: Final = 0.2
"""By how much of itself a pause is longer or shorter: else all that failed at once came back at once."""

TRIAL_SECONDS: Final = 5.0
"""What the test of a webhook or a channel may take: the caller waits for it, and a function with them."""

TRIAL_BUDGETS: Final = (
    RateLimit("tests", limit=10, seconds=60, per="organization"),
    RateLimit("tests-of-caller", limit=30, seconds=60, per="principal"),
)
"""How often webhooks and channels may be tested. The second is for whoever has many organizations: without it the
functions that wait would be as many as those."""

_LONGEST_ASKED_SECONDS: Final = 86_400


def wants(patterns: Iterable[str], event_type: str) -> bool:
    """Return whether one of the patterns is of an event type: it itself, `page.*` or `*`."""
    return any(
        pattern in ("*", event_type) or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))
        for pattern in patterns
    )


def refuse_outside(patterns: Sequence[str], areas: Container[str] | None) -> None:
    """Raise Problem 403 for each exact type of event that lies outside of some areas. Patterns mean those within."""
    faults = [
        FieldError(f"/events/{place}", "insufficient_scope", f"To be told of it takes the scope {area_of(each)}:read.")
        for place, each in enumerate(patterns)
        if "*" not in each and not within(each, areas)
    ]
    if faults:
        raise Problem("insufficient_scope", "The API key may not read what some of these events tell.", faults)


def next_attempt(
    tries: int, moment: str, jitter: float, asked_seconds: int | None = None, pauses: Sequence[int] = RETRY_SECONDS
) -> str | None:
    """Return when a delivery is tried again after so many attempts in vain, or None once it was tried often enough.

    `jitter` is a number from -1 to 1; `asked_seconds` is what the other side wants to be left in peace for.
    """
    if tries > len(pauses):
        return None
    pause = pauses[tries - 1] * (1 + SCATTER * jitter)
    return after(moment, seconds=max(pause, min(asked_seconds or 0, _LONGEST_ASKED_SECONDS)))
