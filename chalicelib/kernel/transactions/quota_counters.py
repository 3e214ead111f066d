"""Counters of quotas, updated in the transaction that changes the number of records."""

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.writes import ItemUpdate, Write

Counts = dict[tuple[Quota, str], int]


def add_quota_change(before: Entity | None, after: Entity | None, counts: Counts) -> None:
    """Add the effect of a record's change to the counts of its quota."""
    for record, delta in ((before, -1), (after, 1)):
        if record and (quota := record.quota) and quota.counts(record):
            key = (quota, quota.counter_partition_key(record))
            counts[key] = counts.get(key, 0) + delta


def counter_write_with_problem(quota: Quota, pk: str, delta: int) -> tuple[Write, Problem | None]:
    """Return the write that updates a counter, and the problem if the quota is exceeded."""
    update = ItemUpdate(quota.counter_item_key(pk), increment={"n": delta})
    if delta < 0:
        return update.to_write(), None
    maximum = quota.maximum
    problem = Problem("limit_exceeded", f"The maximum number of {quota.name} is reached: {maximum}. {quota.advice}")
    condition = "#n <= :max" if delta > maximum else "attribute_not_exists(#n) OR #n <= :max"
    write = update.to_write(condition, max=maximum - delta)
    return write, problem
