"""Counting: how many records there are of what may not be more than some, in the transaction that changes that."""

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import Entity, Quota
from chalicelib.kernel.storage.table import Write

Counts = dict[tuple[Quota, str], int]


def count_change(before: Entity | None, now: Entity | None, counts: Counts) -> None:
    """Note what a change of a record adds to the counts of its limit, or takes from them."""
    for record, delta in ((before, -1), (now, 1)):
        if record and (limit := record.quota) and limit.counts(record):
            key = (limit, limit.partition_of(record))
            counts[key] = counts.get(key, 0) + delta


def counter_write(limit: Quota, pk: str, delta: int) -> tuple[Write, Problem | None]:
    """Return the write that counts, and the problem that answers if there would be too many."""
    update = "SET #n = if_not_exists(#n, :zero) + :delta"
    key = (pk, f"COUNT#{limit.name}")
    if delta < 0:
        return Write("Update", key, update=update, names=["n"], values={"zero": 0, "delta": delta}), None
    most = limit.maximum
    refusal = Problem("limit_exceeded", f"At most {most} {limit.name} are allowed. {limit.advice}")
    write = Write(
        "Update",
        key,
        update=update,
        names=["n"],
        condition="#n <= :most" if delta > most else "attribute_not_exists(#n) OR #n <= :most",
        values={"zero": 0, "delta": delta, "most": most - delta},
    )
    return write, refusal
