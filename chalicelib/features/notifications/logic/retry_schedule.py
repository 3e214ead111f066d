"""The retry schedule of deliveries and log streams. No I/O."""

from collections.abc import Sequence
from typing import Final

from chalicelib.kernel.core.clock import after

RETRY_SECONDS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Pauses between the attempts of a delivery. The delivery fails after the attempt that follows the last pause."""

JITTER_FRACTION: Final = 0.2
"""Random variation of a pause, as a fraction of it, so failed deliveries are not all repeated at once."""

_MAX_RETRY_AFTER_SECONDS: Final = 86_400
"""Longest delay that the `Retry-After` of a receiver can request. A longer one counts as this."""


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
