"""The sweep: what is due is queued. It finds what a lost message, a crash or time itself left to be done.

An item is claimed by moving its mark: two sweeps at once queue it once, and what isn't done until the mark's new time
is queued again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from botocore.exceptions import ClientError

from chalicelib.kernel.audit_log.entries import APPEND_TASK
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.ids import new_id, timestamp_of
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Item, Partition, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate
from chalicelib.kernel.work import queues

_LEASE_SECONDS: Final = 60
_PAGES: Final = 20
_MAX_NAMED_CHARACTERS: Final = 200
_REFUSED_VALUES: Final = ("ValidationException", "InvalidParameterValue", "InvalidParameterValueException")
"""What AWS answers if a key or a name is not what it takes."""


@dataclass
class _SweepStats:
    """What a sweep has seen so far: the logs it woke, how much it queued, and what was oldest, in milliseconds."""

    began: int
    woken: set[str] = field(default_factory=set)
    queued: int = 0
    due_lag: int = 0
    ledger_lag: int | None = None

    def add_unreadable(self, item: Item) -> None:
        self.due_lag = max(self.due_lag, self.began - timestamp_ms(_since(item)))
        if "leaf" in item:
            self.ledger_lag = max(self.ledger_lag or 0, self.began - timestamp_of(item["sk"]))


def enqueue_due() -> int:
    """Queue all that is due, and return how much that was.

    Measures DueLag, how long the longest due has been so, and LedgerLag if entries still wait for their place.
    """
    swept = _SweepStats(now_ms())
    for shard in range(SCHEDULE_SHARDS):
        _sweep_shard(shard, swept)
    add_metrics(DueLag=swept.due_lag, **({} if swept.ledger_lag is None else {"LedgerLag": swept.ledger_lag}))
    return swept.queued


@dataclass(frozen=True)
class Backlog:
    """What has been due for longest, and which committed entry has waited for longest for its place in its log."""

    due_since: str | None
    entry_since: str | None


def oldest_pending() -> Backlog:
    """Return what is left to be done, by the first hundred marks of each shard.

    An entry that waits has a mark that is at most a lease ahead, however often it is moved: its id says its age.
    """
    until, moment = after(now(), seconds=_LEASE_SECONDS), now()
    firsts = table.gather(lambda shard: _due(shard, until, None, 100).items, range(SCHEDULE_SHARDS))
    shown = [item for items in firsts for item in items if _is_readable(item)]
    late = [item for item in shown if "leaf" in item or _since(item) <= moment]
    # The index lags: what is done by now is no backlog.
    marks = [
        item for item in table.read_current(late) if "duesk" in item and _is_readable(item) and _since(item) <= until
    ]
    due = min(map(_since, marks), default="~")
    waiting = [timestamp_of(mark["sk"]) for mark in marks if "leaf" in mark]
    return Backlog(due if due <= moment else None, timestamp(min(waiting)) if waiting else None)


def _is_readable(item: Item) -> bool:
    """Return whether a mark says since when it is due, and that of an entry how old it is, as the service writes it."""
    try:
        return timestamp_ms(_since(item)) > 0 and ("leaf" not in item or timestamp_of(item["sk"]) > 0)
    except ValueError:
        return False


def _since(item: Item) -> str:
    return str(item["duesk"]).partition("#")[0]


def _sweep_shard(shard: int, swept: _SweepStats) -> None:
    moment, position = now(), None
    for _ in range(_PAGES):
        found = _due(shard, moment, position, 100)
        for item in found.items:
            with _unless_unreadable(item):
                if _claim(item):  # What the index shows may be done: it lags.
                    swept.queued += _queue(item, swept.woken)
                    swept.add_unreadable(item)
        position = found.last_evaluated_key
        if position is None:
            break


@contextmanager
def _unless_unreadable(item: Item) -> Iterator[None]:
    """Let a mark that the service did not write so keep no other from being queued; the line names it."""
    try:
        yield
    except (KeyError, TypeError, ValueError):
        add_fields(unreadable=f"{item['pk']} {item['sk']}"[:_MAX_NAMED_CHARACTERS])
    except ClientError as error:
        if error.response["Error"]["Code"] not in _REFUSED_VALUES:
            raise
        add_fields(unreadable=f"{item['pk']} {item['sk']}"[:_MAX_NAMED_CHARACTERS])


def _due(shard: int, moment: str, position: Item | None, limit: int) -> table.QueryResult:
    return table.query(Partition(f"DUE#{shard}", "due"), until=f"{moment}~", after=position, limit=limit)


def _queue(item: Item, woken: set[str]) -> bool:
    # All are claimed, though one message wakes a log for all its entries: a log that is stuck moves out of the way.
    if item["task"] == APPEND_TASK and str(item["log"]) in woken:
        return False
    if item["task"] == APPEND_TASK:
        woken.add(str(item["log"]))
        queues.notify_ledger(str(item["log"]), new_id(now()))
    else:
        queues.enqueue(str(item["task"]), (item["pk"], item["sk"]))
    return True


def _claim(item: Item) -> bool:
    key = (item["pk"], item["sk"])
    mark = schedule_attributes(ScheduledTask(str(item.get("task")), after(now(), seconds=_LEASE_SECONDS)), key)
    claim = ItemUpdate(key, set={"duesk": mark["duesk"]}).write("#duesk = :seen", seen=item["duesk"])
    try:
        table.write_transaction([claim])
    except TransactionCancelled:
        return False
    return True
