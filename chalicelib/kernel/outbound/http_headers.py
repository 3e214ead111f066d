"""Headers of requests to other servers, and of their responses."""

import re
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.version import VERSION

CLIENT_HEADERS: Final = {"User-Agent": f"Atrium/{VERSION}", "Accept-Encoding": "identity"}
"""Headers of every request to another server. Responses must not be compressed, because their size is limited."""

_SECONDS: Final = re.compile(r"[0-9]{1,9}")


def decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers by their names in lower case. The last of several with the same name counts."""
    return {ascii_lower(name.decode("latin-1")): value.decode("latin-1") for name, value in headers}


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
