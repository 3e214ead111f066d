"""Rates: how many requests an organization sends to one host in a second, by all webhooks and workers together.

Who wants to send takes turns from the table first: one write for a lot of requests, and never a read. What gets no turn
is not refused, but has to wait; who asks says where.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from chalicelib.kernel.core.clock import now_ms, timestamp
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.rate_limits.buckets import digest
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey

_KEPT_SECONDS: Final = 3600
_MAX_WAIT_SECONDS: Final = 60
"""Who waits asks again after that at the latest: others may have gone away meanwhile."""


@dataclass(frozen=True)
class SendSlots:
    """How many requests may be sent now of those that were asked for, and when the others may ask again."""

    granted: int
    next_at: str


def acquire_slots(organization_id: str, url: str, wanted: int) -> SendSlots:
    """Take so many turns to send to a URL's host, or what is left of them in this second.

    Raises Problem `unavailable`; then nothing may be sent.
    """
    rate, second = settings().webhook_requests_per_second, now_ms() // 1000
    host = (urlsplit(url).hostname or "").rstrip(".")
    key = second_key(digest(f"{organization_id} {host}"), second)
    asked = table.increment(key, "used", wanted, ttl=second + _KEPT_SECONDS)
    granted = max(0, min(wanted, rate - (asked - wanted)))
    seconds = min(1 + max(0, asked - rate) // rate, _MAX_WAIT_SECONDS)
    return SendSlots(granted, timestamp((second + seconds) * 1000))


def second_key(whose: str, second: object) -> ItemKey:
    """Return where the requests of an organization to a host are counted, whose digest it is, in a second."""
    return f"Y#sends#{whose}", str(second)
