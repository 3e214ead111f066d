"""Counts of a webhook's attempts, which yield its statistics without a read of deliveries. No I/O.

There is one item for each hour with attempts. It has counters for each slot of five minutes: of delivered attempts, of
failed attempts, and of attempts with a response whose duration is in a range. Four successive ranges double the
duration. The median is the geometric middle of its range, rounded to a millisecond. Before that, it differs from the
exact one by at most 10 %, or by a millisecond.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.writes import ItemUpdate

COUNTS_PREFIX: Final = "#"
"""Prefix of the sort keys of the items. They sort after deferred deliveries and before all ids."""

RETENTION_HOURS: Final = 8 * 24
"""Time for which an hour's counts are stored, a day longer than the longest statistics."""

_SLOT_MS: Final = 300_000
_SLOTS_PER_HOUR: Final = 3_600_000 // _SLOT_MS
_RANGES_PER_DOUBLING: Final = 4
_DELIVERED, _FAILED, _DURATION = "delivered", "failed", "range"


@dataclass(frozen=True)
class AttemptCounts:
    """Counts of attempts in a period, and the median duration of those with a response; None without any."""

    delivered: int
    failed: int
    median_duration_ms: int | None


def build_counts_update(pk: str, responses: Iterable[WebhookResponse], now: str) -> ItemUpdate:
    """Return the update that counts attempts with these responses now. `pk`: the partition of the deliveries."""
    hour, slot = divmod(_slot_number(now), _SLOTS_PER_HOUR)
    counts: Counter[str] = Counter()
    for response in responses:
        counts[f"{slot}.{_DELIVERED if response.succeeded else _FAILED}"] += 1
        if response.status is not None:  # Otherwise the duration says nothing about the endpoint's speed.
            counts[f"{slot}.{_DURATION}.{_duration_range(response.duration_ms)}"] += 1
    expires_at_seconds = (hour + RETENTION_HOURS) * 3600
    return ItemUpdate((pk, _hour_sort_key(hour)), set={"ttl": expires_at_seconds}, add=counts)


def earliest_sort_key(now: str, hours: int) -> str:
    """Return the earliest sort key of the items with the counts of the last hours."""
    return _hour_sort_key(_slot_number(now) // _SLOTS_PER_HOUR - hours)


def sum_counts(items: Iterable[Item], now: str, hours: int) -> AttemptCounts:
    """Return the counts of the last hours: of the current slot, and of those before it that began within this time."""
    first_slot = _slot_number(now) - hours * _SLOTS_PER_HOUR + 1
    sums: Counter[str] = Counter()
    for item in items:
        hour_slot = _slot_number(item["sk"].removeprefix(COUNTS_PREFIX))
        for name, count in item.items():
            slot, separator, counter = name.partition(".")
            if separator and hour_slot + int(slot) >= first_slot:
                sums[counter] += int(count)
    return AttemptCounts(sums[_DELIVERED], sums[_FAILED], _median_duration_ms_or_none(sums))


def _median_duration_ms_or_none(sums: Counter[str]) -> int | None:
    """Return the lower median of the durations that the counters of ranges contain."""
    counts_by_range = sorted(
        (int(name.rpartition(".")[2]), count) for name, count in sums.items() if name.startswith(_DURATION)
    )
    position = (sum(count for _, count in counts_by_range) + 1) // 2
    for number, count in counts_by_range:
        position -= count
        if position <= 0:
            return round(2 ** ((number + 0.5) / _RANGES_PER_DOUBLING))
    return None


def _duration_range(duration_ms: int) -> int:
    """Return the number of the range of a duration. The first range begins at a millisecond."""
    return math.floor(_RANGES_PER_DOUBLING * math.log2(max(duration_ms, 1)))


def _slot_number(at: str) -> int:
    return timestamp_ms(at) // _SLOT_MS


def _hour_sort_key(hour: int) -> str:
    return COUNTS_PREFIX + timestamp(hour * 3_600_000)
