"""Pacing: how often something outside may be asked, whoever of the service's processes asks.

An item of the table says from when on it may be asked again; who asks takes that moment and moves it on, by condition.
"""

import time
from typing import Final

from chalicelib.kernel.core.clock import after, backoff_seconds, now, timestamp, timestamp_ms
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write

_TRIES: Final = 8


class TooSoon(Exception):
    """It may not be asked yet; `seconds` says for how long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not within {seconds:.1f} s")
        self.seconds = seconds


def pace_key(what: str) -> ItemKey:
    """Return where it stands from when on something may be asked again."""
    return f"PACE#{what}", "#"


def wait_for(what: str, rate: float, *, most: float) -> None:
    """Wait until something may be asked that may be asked `rate` times a second.

    Raises TooSoon, and takes nobody's turn, if that is more than so many seconds; Problem `unavailable` if too many
    others ask for their turn at this moment.
    """
    for attempt in range(_TRIES):
        item = table.get(pace_key(what))
        moment = now()
        mine = max(moment, item["free_at"]) if item else moment
        seconds = (timestamp_ms(mine) - timestamp_ms(moment)) / 1000
        if seconds > most:
            raise TooSoon(seconds)
        try:
            table.write_transaction([_take(what, item["free_at"] if item else None, after(mine, seconds=1 / rate))])
        except TransactionCancelled:
            backoff_seconds(attempt)
        else:
            time.sleep(seconds)
            return
    raise unavailable(f"Too many ask {what} at once.")


def hold_back(what: str, seconds: float) -> None:
    """Let nobody ask for so many seconds: whoever is asked said so."""
    until = timestamp(timestamp_ms(now()) + round(seconds * 1000))
    item = table.get(pace_key(what))
    try:
        table.write_transaction(
            [_take(what, item["free_at"] if item else None, max(until, item["free_at"]) if item else until)]
        )
    except TransactionCancelled:  # Somebody took a turn just now: they will be told the same.
        return


def _take(what: str, seen: str | None, free_at: str) -> Write:
    update = ItemUpdate(pace_key(what), set={"free_at": free_at})
    return update.write("#free_at = :seen", seen=seen) if seen else update.write("attribute_not_exists(#free_at)")
