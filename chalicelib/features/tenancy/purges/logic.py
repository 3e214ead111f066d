"""The removal of what places and records hold, a few records a transaction; done again it goes on where it was."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item
from chalicelib.kernel.storage.record_types import child_types, record_from_item
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_AT_ONCE: Final = 10
_OWN: Final = "#"

PurgeContainer = Callable[[type[Container], str, float], bool]
PurgeRecord = Callable[[str, str, float], bool]
_container_hooks: Final[list[PurgeContainer]] = []
_record_hooks: Final[list[PurgeRecord]] = []


def on_container_purge(purge: PurgeContainer) -> PurgeContainer:
    """Register a function that removes items which refer to a container and are stored elsewhere.

    It is called with the container's type, its id and a deadline, and returns whether it removed all of them in time.
    """
    _container_hooks.append(purge)
    return purge


def on_record_purge(purge: PurgeRecord) -> PurgeRecord:
    """Register a function that removes items which refer to a record and are stored elsewhere.

    It is called before the record is removed, with the record's kind, its id and a deadline, and returns whether it
    removed all of them in time.
    """
    _record_hooks.append(purge)
    return purge


def purge_references(kind: str, record_id: str, deadline: float = float("inf")) -> bool:
    """Remove all items that refer to a record and are stored elsewhere. Return False if time is up."""
    return all(purge(kind, record_id, deadline) for purge in _record_hooks)


def clear_place(place: type[Container], place_id: str, until: float = float("inf")) -> bool:
    """Remove all that a place holds, and the places in it, but not the place itself.

    Returns whether all is gone; it is not if the time is over, by `time.monotonic`.
    """
    for inner in child_types(place):
        for item in _places(inner, place.parameter, place_id):
            found = inner.from_item(item)
            if not clear_place(inner, found.id, until):
                return False
            remove([found])
    own = place.make_item_key(id=place_id)[0]
    rooms = [template.format(id=place_id) for template in place.extra_partitions]
    gone = all(clear(place, place_id, until) for clear in _container_hooks)
    return gone and all(_clear_partition(pk, until) for pk in [*rooms, own])


def clear_held(record: Entity) -> None:
    """Remove what a record holds."""
    while record.child_partition_key and table.delete_batch(record.child_partition_key):
        pass


def _places(kind: type[Container], parameter: str, place_id: str) -> Iterator[Item]:
    for items in table.iter_pages(kind.sibling_index.partition(**{parameter: place_id})):
        yield from table.read_current(items)


def _clear_partition(pk: str, until: float) -> bool:
    while time.monotonic() < until:
        items = [item for item in table.query(pk, limit=_AT_ONCE + 1).items if item["sk"] != _OWN]
        if not items:
            return True
        # Counts go last: until then the removal of what they count moves them.
        records = [record_from_item(item) for item in items if "kind" in item]
        if records:
            remove(records)
        else:
            table.write_transaction([Write("Delete", (item["pk"], item["sk"])) for item in items])
    return False


def remove(records: list[Entity]) -> None:
    """Remove some records in one transaction, with what each holds and what elsewhere names it."""
    changes = UnitOfWork(now())
    for record in records:
        clear_held(record)
        purge_references(record.kind, record.id)
        changes.delete(record, ended=True)
    if changes.size > table.MAX_TRANSACT_ITEMS:
        half = len(records) // 2
        remove(records[:half])
        remove(records[half:])
    elif records:
        changes.commit()
