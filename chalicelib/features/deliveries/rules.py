"""Which events are wanted, and when what failed is tried again: pure decisions."""

from collections.abc import Iterable, Sequence
from typing import Final

from chalicelib.kernel.clock import after

RETRY_SECONDS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Pauses between the attempts of a delivery; it is given up when the last was in vain."""

SCATTER: Final = 0.2
"""By how much of itself a pause is longer or shorter: else all that failed at once came back at once."""

_LONGEST_ASKED_SECONDS: Final = 86_400


def wants(patterns: Iterable[str], event_type: str) -> bool:
    """Return whether one of the patterns is of an event type: it itself, `page.*` or `*`."""
    return any(
        pattern in ("*", event_type) or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))
        for pattern in patterns
    )


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
