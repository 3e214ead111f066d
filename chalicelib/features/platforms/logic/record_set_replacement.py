"""Replacement of a container's set of records."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from chalicelib.kernel.storage.entity import Container, Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

R = TypeVar("R", bound=Entity)


def replace_record_set(
    changes: UnitOfWork,
    container: Container,
    existing: Sequence[R],
    wanted: Sequence[R],
    create_set: Callable[[Container, Sequence[R]], RecordSet],
) -> list[R]:
    """Replace a set of a container's records, and return the new ones in order of creation.

    A wanted record with the key of an existing one updates it. The version of the container rises with each change, so
    that its sets cannot change concurrently. The log entry is about the set, created by `create_set`.
    """
    remaining = {record.item_key: record for record in existing}
    records = [
        changes.update(current, **record.domain_fields)
        if (current := remaining.pop(record.item_key, None))
        else changes.create(record)
        for record in wanted
    ]
    for record in remaining.values():
        changes.delete(record)
    records.sort(key=lambda record: record.id)
    if not changes.is_empty:
        before = create_set(container, existing)
        changes.event(create_set(changes.update(container, touch=True), records), before=before)
    return records
