"""Rate limit of requests to one host by all webhooks of an organization and all workers together.

Before sending, a worker acquires slots from the table, with one write for many requests and no read. Requests without a
slot are not rejected but wait.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from chalicelib.features.notifications.webhooks.models.settings import WebhookSettings
from chalicelib.kernel.core.clock import now_ms, timestamp
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.rate_limits.buckets import subject_digest
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey

_RETENTION_SECONDS: Final = 3600
_MAX_WAIT_SECONDS: Final = 60
"""Maximum time before a waiting request tries again, because other waiting requests may have been dropped."""


@dataclass(frozen=True)
class SendSlots:
    """How many of the requests can be sent now, and when the others can try again."""

    granted: int
    retry_at: str


def acquire_send_slots_and_retry_at(organization_id: str, url: str, request_count: int) -> SendSlots:
    """Acquire slots for requests to a URL's host in the current second.

    Raises Problem `unavailable`. Then nothing may be sent.
    """
    rate, second = section(WebhookSettings).webhook_requests_per_second, now_ms() // 1000
    host = (urlsplit(url).hostname or "").rstrip(".")
    key = slot_counter_key(subject_digest(f"{organization_id} {host}"), second)
    used_count = table.increment(key, "used", request_count, ttl=second + _RETENTION_SECONDS)
    granted = max(0, min(request_count, rate - (used_count - request_count)))
    seconds = min(1 + max(0, used_count - rate) // rate, _MAX_WAIT_SECONDS)
    return SendSlots(granted, timestamp((second + seconds) * 1000))


def slot_counter_key(host_digest: str, second: object) -> ItemKey:
    """Return the key of the item that counts an organization's requests to a host in a second."""
    return f"Y#sends#{host_digest}", str(second)
