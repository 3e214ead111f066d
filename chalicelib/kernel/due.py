"""The sweep: what is due is queued. It finds what a lost message, a crash or time itself left to be done.

An item is claimed by moving its mark: two sweeps at once queue it once, and what isn't done until the mark's new time
is queued again.
"""

from typing import Final

from chalicelib.kernel import queues, table
from chalicelib.kernel.clock import after, now
from chalicelib.kernel.entity import DUE_SHARDS, Due, Item, Partition, due_mark
from chalicelib.kernel.events import WAKE
from chalicelib.kernel.ids import new_id
from chalicelib.kernel.table import Cancelled, Write

_LEASE_SECONDS: Final = 60
_PAGES: Final = 20


def sweep() -> int:
    """Queue all that is due, and return how much that was."""
    woken: set[str] = set()
    return sum(_sweep_shard(shard, woken) for shard in range(DUE_SHARDS))


def oldest() -> str | None:
    """Return when the item that has been due for longest was due, or None if nothing is."""
    moment = now()
    firsts = [_due(shard, moment, None, 1).items for shard in range(DUE_SHARDS)]
    return min((items[0]["duesk"].partition("#")[0] for items in firsts if items), default=None)


def _sweep_shard(shard: int, woken: set[str]) -> int:
    moment, position, queued = now(), None, 0
    for _ in range(_PAGES):
        found = _due(shard, moment, position, 100)
        queued += sum(_queue(item, woken) for item in found.items)
        position = found.last
        if position is None:
            break
    return queued


def _due(shard: int, moment: str, position: Item | None, limit: int) -> table.Found:
    return table.query(Partition(f"DUE#{shard}", "due"), until=f"{moment}~", after=position, limit=limit)


def _queue(item: Item, woken: set[str]) -> bool:
    # All are claimed, though one message wakes a log for all its entries: a log that is stuck moves out of the way.
    if not _claim(item) or (item["task"] == WAKE and item["log"] in woken):
        return False
    if item["task"] == WAKE:
        woken.add(item["log"])
        queues.wake(item["log"], new_id(now()))
    else:
        queues.start(item["task"], (item["pk"], item["sk"]))
    return True


def _claim(item: Item) -> bool:
    key = (item["pk"], item["sk"])
    mark = due_mark(Due(item["task"], after(now(), seconds=_LEASE_SECONDS)), key)
    claim = Write(
        "Update", key, update="SET #duesk = :next", condition="#duesk = :seen", names=["duesk"],
        values={"next": mark["duesk"], "seen": item["duesk"]},
    )  # fmt: skip
    try:
        table.write([claim])
    except Cancelled:
        return False
    return True
