"""Removal of the contents of containers and records, a few records per transaction. A repeated run continues."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item
from chalicelib.kernel.storage.record_types import child_container_types, record_from_item
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_BATCH_SIZE: Final = 10

PurgeContainer = Callable[[type[Container], str, float], bool]
PurgeRecord = Callable[[str, str, float], bool]
_container_hooks: Final[list[PurgeContainer]] = []
_record_hooks: Final[list[PurgeRecord]] = []


def on_container_purge(hook: PurgeContainer) -> PurgeContainer:
    """Register a function that removes items that refer to a container but are stored elsewhere.

    It is called with the container's type, its id and a deadline (`time.monotonic`), and returns whether it removed all
    of them in time.
    """
    _container_hooks.append(hook)
    return hook


def on_record_purge(hook: PurgeRecord) -> PurgeRecord:
    """Register a function that removes items that refer to a record but are stored elsewhere.

    It is called before the record is removed, with the record's kind, its id and a deadline (`time.monotonic`), and
    returns whether it removed all of them in time.
    """
    _record_hooks.append(hook)
    return hook


def try_purge_references_to_record(record_kind: str, record_id: str, deadline_monotonic: float = float("inf")) -> bool:
    """Remove all items that refer to a record but are stored elsewhere. Return False if the deadline has passed."""
    return all(purge(record_kind, record_id, deadline_monotonic) for purge in _record_hooks)


def purge_container_contents(
    container_type: type[Container], container_id: str, deadline_monotonic: float = float("inf")
) -> bool:
    """Remove the contents of a container, including the containers in it, but not the container itself.

    `deadline_monotonic` is compared with `time.monotonic`. Return False if it has passed.
    """
    for child_type in child_container_types(container_type):
        for item in _iter_child_container_items(child_type, container_type.parameter, container_id):
            child = child_type.from_item(item)
            if not purge_container_contents(child_type, child.id, deadline_monotonic):
                return False
            remove_records([child])
    partition, own_sort_key = container_type.make_item_key(id=container_id)
    extra_partitions = [template.format(id=container_id) for template in container_type.extra_partitions]
    is_complete = all(purge_hook(container_type, container_id, deadline_monotonic) for purge_hook in _container_hooks)
    return (
        is_complete
        and all(_try_remove_partition_contents(pk, deadline_monotonic) for pk in extra_partitions)
        and _try_remove_partition_contents(partition, deadline_monotonic, retained_sort_key=own_sort_key)
    )


def delete_child_items(record: Entity) -> None:
    """Remove the child items of a record."""
    while record.child_partition_key and table.delete_batch(record.child_partition_key):
        pass


def _iter_child_container_items(
    container_type: type[Container], parent_parameter: str, parent_id: str
) -> Iterator[Item]:
    for items in table.iter_item_pages(container_type.sibling_index.partition(**{parent_parameter: parent_id})):
        yield from table.read_current(items)


def _try_remove_partition_contents(pk: str, deadline_monotonic: float, retained_sort_key: str | None = None) -> bool:
    while time.monotonic() < deadline_monotonic:
        items = [item for item in table.query(pk, limit=_BATCH_SIZE + 1).items if item["sk"] != retained_sort_key]
        if not items:
            return True
        # Counters go last, because the removal of the counted records updates them.
        records = [record_from_item(item) for item in items if "kind" in item]
        if records:
            remove_records(records)
        else:
            table.write_transaction([Write("Delete", (item["pk"], item["sk"])) for item in items])
    return False


def remove_records(records: list[Entity]) -> None:
    """Remove records with their children and the references to them, in one transaction if they fit."""
    changes = UnitOfWork(now())
    for record in records:
        delete_child_items(record)
        try_purge_references_to_record(record.kind, record.id)
        changes.delete(record, grants_no_access=True)
    if changes.write_count_without_pipeline_writes > table.MAX_TRANSACT_ITEMS:
        half = len(records) // 2
        remove_records(records[:half])
        remove_records(records[half:])
    elif records:
        changes.commit()
