"""Counting: how many records there are of what may not be more than some, in the transaction that changes that."""

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import Entity, Quota
from chalicelib.kernel.storage.writes import ItemUpdate, Write

Counts = dict[tuple[Quota, str], int]


def count_change(before: Entity | None, now: Entity | None, counts: Counts) -> None:
    """Note what a change of a record adds to the counts of its limit, or takes from them."""
    for record, delta in ((before, -1), (now, 1)):
        if record and (limit := record.quota) and limit.counts(record):
            key = (limit, limit.partition_of(record))
            counts[key] = counts.get(key, 0) + delta


def counter_write(limit: Quota, pk: str, delta: int) -> tuple[Write, Problem | None]:
    """Return the write that counts, and the problem that answers if there would be too many."""
    update = ItemUpdate((pk, f"COUNT#{limit.name}"), increment={"n": delta})
    if delta < 0:
        return update.write(), None
    maximum = limit.maximum
    refusal = Problem("limit_exceeded", f"At most {maximum} {limit.name} are allowed. {limit.advice}")
    condition = "#n <= :most" if delta > maximum else "attribute_not_exists(#n) OR #n <= :most"
    write = update.write(condition, most=maximum - delta)
    return write, refusal
