"""Timestamps in RFC 3339 with UTC and milliseconds, so that they sort as text."""

import random
import time
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Final

_DOUBLINGS: Final = 10
"""Maximum number of doublings of a pause. More would exceed every maximum pause, and finally overflow."""


def now_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def timestamp(ms: int) -> str:
    """Return a time as `2026-11-20T09:30:00.000Z`. Raises ValueError outside of the years 1 to 9999."""
    seconds, milliseconds = divmod(ms, 1000)
    utc = time.gmtime(seconds)
    if not MINYEAR <= utc.tm_year <= MAXYEAR:
        raise ValueError("is not within the years 1 to 9999")
    return f"{utc.tm_year:04d}{time.strftime('-%m-%dT%H:%M:%S', utc)}.{milliseconds:03d}Z"


def now() -> str:
    """Return the current time as a timestamp."""
    return timestamp(now_ms())


def timestamp_ms(text: str) -> int:
    """Return a timestamp in milliseconds since 1970. Raises ValueError unless it is an RFC 3339 time with an offset."""
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError("has no offset from UTC")
    return round((parsed - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))


def after(start: str, *, days: float = 0, hours: float = 0, seconds: float = 0) -> str:
    """Return the timestamp that lies an interval after `start`."""
    return timestamp(timestamp_ms(start) + round((days * 86_400 + hours * 3_600 + seconds) * 1000))


def sleep_with_jittered_backoff(attempt: int, *, first_seconds: float = 0.05, max_seconds: float = 0.4) -> None:
    """Sleep for a random time. Its maximum doubles with each attempt (full jitter)."""
    time.sleep(random.uniform(0, min(max_seconds, first_seconds * 2 ** min(attempt, _DOUBLINGS))))  # noqa: S311 - jitter is no secret
