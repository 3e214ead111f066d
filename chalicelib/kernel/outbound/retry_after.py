"""The `Retry-After` header of other servers' responses."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final

from chalicelib.kernel.core.clock import now_ms

_SECONDS: Final = re.compile(r"[0-9]{1,9}")


def parse_retry_after_or_none(value: str | None) -> int | None:
    """Return the seconds that a `Retry-After` header asks to wait (RFC 9110, section 10.2.3).

    The value is a number of seconds or an HTTP date; a date in the past gives 0. Returns None if the header is missing
    or malformed.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return int(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0, ceil(date.timestamp() - now_ms() / 1000))
