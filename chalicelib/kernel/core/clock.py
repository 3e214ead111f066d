"""Time as the service writes it: RFC 3339 in UTC with milliseconds, so that text sorts as time does."""

import random
import time
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Final

_DOUBLINGS: Final = 10
"""More would only be cut to the most, and end in numbers too large."""


def now_ms() -> int:
    """Return the present moment in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def timestamp(ms: int) -> str:
    """Return a moment as `2026-11-20T09:30:00.000Z`. Raises ValueError outside of the years 1 to 9999."""
    seconds, rest = divmod(ms, 1000)
    moment = time.gmtime(seconds)
    if not MINYEAR <= moment.tm_year <= MAXYEAR:
        raise ValueError("is not within the years 1 to 9999")
    return f"{moment.tm_year:04d}{time.strftime('-%m-%dT%H:%M:%S', moment)}.{rest:03d}Z"


def now() -> str:
    """Return the present moment as a timestamp."""
    return timestamp(now_ms())


def timestamp_ms(moment: str) -> int:
    """Return a timestamp's milliseconds since 1970. Raises ValueError if it is no RFC 3339 time with an offset."""
    parsed = datetime.fromisoformat(moment)
    if parsed.tzinfo is None:
        raise ValueError("has no offset from UTC")
    return round((parsed - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))


def after(moment: str, *, days: float = 0, hours: float = 0, seconds: float = 0) -> str:
    """Return the timestamp that lies so much later."""
    return timestamp(timestamp_ms(moment) + round((days * 86_400 + hours * 3_600 + seconds) * 1000))


def backoff_seconds(attempt: int, *, first: float = 0.05, most: float = 0.4) -> None:
    """Wait a random time that may double with each attempt from `first`, up to `most` seconds (full jitter)."""
    time.sleep(random.uniform(0, min(most, first * 2 ** min(attempt, _DOUBLINGS))))  # noqa: S311 - jitter is no secret
