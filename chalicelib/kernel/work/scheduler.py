"""The scheduler (sweep): queues due tasks, including those whose message was lost.

An item is claimed by moving its due time, so concurrent sweeps queue it once. If the task is not done by the new time,
it is queued again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from botocore.exceptions import ClientError

from chalicelib.kernel.audit_log.entries import APPEND_TASK
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.ids import new_id, timestamp_ms_of_id
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Item, Partition, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate
from chalicelib.kernel.work import queues

_LEASE_SECONDS: Final = 60
_MAX_PAGES: Final = 20
_MAX_KEY_CHARACTERS: Final = 200
_INVALID_VALUE_CODES: Final = ("ValidationException", "InvalidParameterValue", "InvalidParameterValueException")
"""Error codes of AWS for an invalid key or name."""


@dataclass
class _SweepStats:
    """The results of a sweep: notified logs, number of queued tasks, and the largest lags in milliseconds."""

    started_ms: int
    notified_logs: set[str] = field(default_factory=set)
    enqueued: int = 0
    due_lag: int = 0
    ledger_lag: int | None = None

    def record_lag_of_item(self, item: Item) -> None:
        self.due_lag = max(self.due_lag, self.started_ms - timestamp_ms(_due_timestamp_of_item(item)))
        if "leaf" in item:
            self.ledger_lag = max(self.ledger_lag or 0, self.started_ms - timestamp_ms_of_id(item["sk"]))


def enqueue_due_tasks() -> int:
    """Queue all due tasks, and return their number.

    Adds the metrics DueLag, the age of the oldest due task, and LedgerLag if entries are pending.
    """
    stats = _SweepStats(now_ms())
    for shard in range(SCHEDULE_SHARDS):
        _enqueue_due_of_shard(shard, stats)
    add_metrics(DueLag=stats.due_lag, **({} if stats.ledger_lag is None else {"LedgerLag": stats.ledger_lag}))
    return stats.enqueued


@dataclass(frozen=True)
class Backlog:
    """The times of the oldest due task and of the oldest pending entry."""

    due_since: str | None
    entry_since: str | None


def read_oldest_due_task_and_entry_times() -> Backlog:
    """Return the backlog, from the first hundred due items of each shard.

    The sweep moves the due time of a pending entry, by one lease at most. So the age of an entry follows from its id.
    """
    lease_end, current_time = after(now(), seconds=_LEASE_SECONDS), now()
    pages = table.gather(lambda shard: _query_due_page(shard, lease_end, None, 100).items, range(SCHEDULE_SHARDS))
    readable = [item for items in pages for item in items if _has_valid_due_time_and_id(item)]
    overdue = [item for item in readable if "leaf" in item or _due_timestamp_of_item(item) <= current_time]
    # The index lags. Completed tasks are no backlog.
    due_items = [
        item
        for item in table.read_current(overdue)
        if "duesk" in item and _has_valid_due_time_and_id(item) and _due_timestamp_of_item(item) <= lease_end
    ]
    due = min(map(_due_timestamp_of_item, due_items), default="~")
    entry_times = [timestamp_ms_of_id(item["sk"]) for item in due_items if "leaf" in item]
    return Backlog(due if due <= current_time else None, timestamp(min(entry_times)) if entry_times else None)


def _has_valid_due_time_and_id(item: Item) -> bool:
    """Return whether a due item has a valid due time and, for an entry, a valid id."""
    try:
        return timestamp_ms(_due_timestamp_of_item(item)) > 0 and (
            "leaf" not in item or timestamp_ms_of_id(item["sk"]) > 0
        )
    except ValueError:
        return False


def _due_timestamp_of_item(item: Item) -> str:
    return str(item["duesk"]).partition("#")[0]


def _enqueue_due_of_shard(shard: int, stats: _SweepStats) -> None:
    current_time, position = now(), None
    for _ in range(_MAX_PAGES):
        page = _query_due_page(shard, current_time, position, 100)
        for item in page.items:
            with _suppress_and_log_invalid_item_errors(item):
                if _claim(item):  # The index lags, so the task may be done.
                    stats.enqueued += _enqueue_or_notify_ledger_once(item, stats.notified_logs)
                    stats.record_lag_of_item(item)
        position = page.last_evaluated_key
        if position is None:
            break


@contextmanager
def _suppress_and_log_invalid_item_errors(item: Item) -> Iterator[None]:
    """Skip an invalid due item, so that it does not block others, and add its key to the log record."""
    try:
        yield
    except (KeyError, TypeError, ValueError):
        add_fields(unreadable=f"{item['pk']} {item['sk']}"[:_MAX_KEY_CHARACTERS])
    except ClientError as error:
        if error.response["Error"]["Code"] not in _INVALID_VALUE_CODES:
            raise
        add_fields(unreadable=f"{item['pk']} {item['sk']}"[:_MAX_KEY_CHARACTERS])


def _query_due_page(shard: int, due_before: str, position: Item | None, limit: int) -> table.QueryResult:
    return table.query(Partition(f"DUE#{shard}", "due"), until=f"{due_before}~", after=position, limit=limit)


def _enqueue_or_notify_ledger_once(item: Item, notified_logs: set[str]) -> bool:
    # All entries are claimed, although one message triggers their log, so that a stuck log does not block the sweep.
    if item["task"] == APPEND_TASK and str(item["log"]) in notified_logs:
        return False
    if item["task"] == APPEND_TASK:
        notified_logs.add(str(item["log"]))
        queues.notify_ledger(str(item["log"]), new_id(now()))
    else:
        queues.enqueue(str(item["task"]), (item["pk"], item["sk"]))
    return True


def _claim(item: Item) -> bool:
    key = (item["pk"], item["sk"])
    attributes = schedule_attributes(ScheduledTask(str(item.get("task")), after(now(), seconds=_LEASE_SECONDS)), key)
    claim = ItemUpdate(key, set={"duesk": attributes["duesk"]}).to_write("#duesk = :seen", seen=item["duesk"])
    try:
        table.write_transaction([claim])
    except TransactionCancelled:
        return False
    return True
