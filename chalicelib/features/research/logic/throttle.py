"""Throttling of requests to an external service, shared by all processes.

An item of the table contains the time of the next free slot. A process takes the slot by moving that time with a
conditional write.
"""

import time
from typing import Final

from chalicelib.kernel.core.clock import after, now, sleep_with_jittered_backoff, timestamp, timestamp_ms
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write

_MAX_ATTEMPTS: Final = 8


class Throttled(Exception):
    """No slot is free within the allowed time. `seconds`: the time until the next one."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not within {seconds:.1f} s")
        self.seconds = seconds


def throttle_key(service_name: str) -> ItemKey:
    """Return the key of the item that contains the next free slot of a service."""
    return f"PACE#{service_name}", "#"


def wait_for_slot(service_name: str, requests_per_second: float, *, max_wait_seconds: float) -> None:
    """Wait for a free slot of a service.

    Raises Throttled, without taking a slot, if the wait would be too long, and Problem `unavailable` if too many
    processes compete for slots.
    """
    for attempt in range(_MAX_ATTEMPTS):
        item = table.get(throttle_key(service_name))
        timestamp = now()
        slot_at = max(timestamp, item["free_at"]) if item else timestamp
        seconds = (timestamp_ms(slot_at) - timestamp_ms(timestamp)) / 1000
        if seconds > max_wait_seconds:
            raise Throttled(seconds)
        try:
            table.write_transaction(
                [
                    _free_at_write(
                        service_name, item["free_at"] if item else None, after(slot_at, seconds=1 / requests_per_second)
                    )
                ]
            )
        except TransactionCancelled:
            sleep_with_jittered_backoff(attempt)
        else:
            time.sleep(seconds)
            return
    raise unavailable(f"Too many ask {service_name} at once.")


def delay_all_slots(service_name: str, seconds: float) -> None:
    """Let no process take a slot for some seconds, as the service requested."""
    free_at = timestamp(timestamp_ms(now()) + round(seconds * 1000))
    item = table.get(throttle_key(service_name))
    try:
        table.write_transaction(
            [
                _free_at_write(
                    service_name, item["free_at"] if item else None, max(free_at, item["free_at"]) if item else free_at
                )
            ]
        )
    except TransactionCancelled:  # Another process took a slot. It gets the same response.
        return


def _free_at_write(service_name: str, previous_free_at: str | None, free_at: str) -> Write:
    update = ItemUpdate(throttle_key(service_name), set={"free_at": free_at})
    return (
        update.to_write("#free_at = :seen", seen=previous_free_at)
        if previous_free_at
        else update.to_write("attribute_not_exists(#free_at)")
    )
