"""The scheduler (sweep): queues due tasks, including those whose message was lost.

An item is claimed by moving its due time, so concurrent sweeps queue it once. If the task is not done by the new time,
it is queued again. The key of a claimed item states since when it has been due (`kernel/storage/due_keys.py`).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final

from chalicelib.kernel.core.aws import AWS_ERRORS, AwsError
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.ids import timestamp_ms_of_id
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.due_keys import claimed_due_since, due_time, overdue_since
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Entity, Item, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate
from chalicelib.kernel.work import due_items, queues
from chalicelib.kernel.work.due_items import MAX_LEASE_SECONDS, Claim

DEADLINE_SECONDS: Final = 40
"""Time after which a sweep claims no more tasks. The next sweep continues."""

MEASURING_DEADLINE_SECONDS: Final = 45
"""Time after which a sweep reads no more tasks for its measures. The function times out after 50 seconds."""

_MAX_CHECKED_ITEMS: Final = 100
_MAX_BACKLOG_PAGES: Final = 10


@dataclass
class _ShardSweep:
    """The sweep of one shard: notified logs, numbers of tasks, and the largest lags in milliseconds.

    `started`: when the sweep of all shards started, in milliseconds since 1970. A lag is -1 as long as nothing was read
    from which it follows. `oldest`: the task that has been due for longest, and the key of its item. `error`: why the
    sweep stopped early.
    """

    started: int
    notified_logs: set[str] = field(default_factory=set)
    enqueued: int = 0
    unsent: int = 0
    due_lag: int = -1
    oldest: str = ""
    ledger_lag: int = -1
    error: AwsError | None = None

    @property
    def may_claim(self) -> bool:
        """Whether the sweep may claim another task."""
        return self.error is None and now_ms() < self.started + DEADLINE_SECONDS * 1000

    def record_lag_of_item(self, item: Item) -> None:
        """Add a task to the lags. Raises ValueError if the item is invalid."""
        if (since := overdue_since(item, timestamp(self.started))) is None:
            return
        lag = self.started - timestamp_ms(since)
        if lag >= self.due_lag:
            self.due_lag, self.oldest = lag, f"{item.get('task')} {due_items.describe_key(item)}"
        if "leaf" in item:
            self.ledger_lag = max(self.ledger_lag, self.started - timestamp_ms_of_id(item["sk"]))


def enqueue_due_tasks() -> int:
    """Queue all due tasks, and return their number. After `DEADLINE_SECONDS` the rest is left to the next sweep.

    Adds the metrics DueLag, the age of the oldest due task, and LedgerLag if entries are pending, also if the sweep
    fails or meets its deadline. There is no DueLag if the index could not be read. Raises Problem `unavailable` if a
    task could not be queued. The next sweep queues it.
    """
    sweeps = table.gather(partial(_sweep_shard, now_ms()), range(SCHEDULE_SHARDS))
    oldest = max(sweeps, key=lambda sweep: sweep.due_lag)
    ledger_lag = max(sweep.ledger_lag for sweep in sweeps)
    if oldest.due_lag >= 0:
        add_metrics(DueLag=oldest.due_lag)
    if ledger_lag >= 0:
        add_metrics(LedgerLag=ledger_lag)
    if oldest.oldest:
        add_fields(oldestDue=oldest.oldest)
    for sweep in sweeps:
        if sweep.error:
            raise sweep.error
    if any(sweep.unsent for sweep in sweeps):
        raise unavailable("A queue did not accept all messages.")
    return sum(sweep.enqueued for sweep in sweeps)


def postpone(record: Entity, *, seconds: float) -> None:
    """Start the task of a record again after some time, because it cannot be done before. It is not overdue then.

    If the record has changed since it was read, its schedule stays. Raises Problem `unavailable`.
    """
    if record.scheduled_task:
        postponed = ScheduledTask(record.scheduled_task.task, after(now(), seconds=seconds))
        update = ItemUpdate(record.item_key, set=schedule_attributes(postponed, record.item_key))
        with suppress(TransactionCancelled):
            table.write_transaction([update.to_write("#version = :version", version=record.version)])


@dataclass(frozen=True)
class Backlog:
    """The times since which the oldest due task has been due, and the oldest pending entry has been pending."""

    due_since: str | None
    entry_since: str | None


def read_oldest_due_task_and_entry_times() -> Backlog:
    """Return the backlog, from the first `_MAX_BACKLOG_PAGES` of each shard."""
    current_time = now()
    due_before = after(current_time, seconds=MAX_LEASE_SECONDS)
    shards = table.gather(partial(_read_first_items, due_before), range(SCHEDULE_SHARDS))
    waiting = [item for items in shards for item in items if _is_waiting(item, current_time)]
    waiting.sort(key=lambda item: claimed_due_since(item) or due_time(item))
    # The index lags. Completed tasks are no backlog.
    current = [
        item
        for item in table.read_current(waiting[:_MAX_CHECKED_ITEMS])
        if "duesk" in item and _is_waiting(item, current_time)
    ]
    due = min(filter(None, (overdue_since(item, current_time) for item in current)), default=None)
    entry_times = [timestamp_ms_of_id(item["sk"]) for item in current if "leaf" in item]
    return Backlog(due, timestamp(min(entry_times)) if entry_times else None)


def _read_first_items(due_before: str, shard: int) -> list[Item]:
    """Return the first items of a shard. Those of claimed tasks are among those of tasks that are due soon."""
    pages = islice(due_items.iter_pages(shard, due_before), _MAX_BACKLOG_PAGES)
    return [item for page in pages for item in page]


def _is_waiting(item: Item, at: str) -> bool:
    """Return whether an item is valid, and is a due task or a pending entry."""
    return _has_valid_due_time_and_id(item) and ("leaf" in item or overdue_since(item, at) is not None)


def _has_valid_due_time_and_id(item: Item) -> bool:
    """Return whether an item has a valid due time and, for an entry, a valid id."""
    try:
        return bool(due_time(item)) and ("leaf" not in item or timestamp_ms_of_id(item["sk"]) > 0)
    except ValueError:
        return False


def _sweep_shard(started: int, shard: int) -> _ShardSweep:
    """Queue the due tasks of a shard in the order of their due times, and measure all overdue tasks."""
    sweep, last_read = _ShardSweep(started), started + MEASURING_DEADLINE_SECONDS * 1000
    # Tasks that are due come first, and then those that may be claimed.
    pages = due_items.iter_pages(shard, timestamp(started + MAX_LEASE_SECONDS * 1000))
    try:
        while now_ms() < last_read and (items := next(pages, None)) is not None:
            _enqueue_and_measure(sweep, items)
    except AWS_ERRORS as error:
        sweep.error = sweep.error or error  # `enqueue_due_tasks` raises it.
    return sweep


def _enqueue_and_measure(sweep: _ShardSweep, items: Sequence[Item]) -> None:
    sweep.due_lag = max(sweep.due_lag, 0)
    latest_due_key = f"{timestamp(sweep.started)}~"
    due_count = sum(item["duesk"] <= latest_due_key for item in items)  # They are sorted.
    overdue = list(items[due_count:])
    for start in range(0, due_count, queues.MAX_BATCH_SIZE):
        overdue += _claim_and_enqueue(sweep, items[start : min(start + queues.MAX_BATCH_SIZE, due_count)])
    for item in overdue:
        try:
            sweep.record_lag_of_item(item)
        except ValueError:
            due_items.log_unreadable(item)


def _claim_and_enqueue(sweep: _ShardSweep, batch: Sequence[Item]) -> Sequence[Item]:
    """Claim and queue some due tasks. Return the items of those that are still due: claimed, or left for later."""
    claims, remaining = list[Claim](), list[Item]()
    for item in batch:
        if not sweep.may_claim:
            remaining.append(item)
            continue
        try:
            claim = due_items.try_claim(item)
        except AWS_ERRORS as error:
            sweep.error = error  # What was claimed is queued. The rest is measured.
            remaining.append(item)
        else:
            claims += [claim] if claim else []  # The index lags, so the task may be done.
    result = due_items.enqueue_or_return_claims(claims, sweep.notified_logs)
    sweep.enqueued += result.queued
    sweep.unsent += result.unsent
    sweep.error = sweep.error or result.error
    return [*(claim.item for claim in claims), *remaining]
