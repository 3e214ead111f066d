"""What is stored of a purge."""

from typing import Any

from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work.jobs import Job


class Purge(Job):
    """The removal of all that a place held that is gone. `passes`: how often it was gone through to the end.

    It stands by itself, so that it outlives the place above.
    """

    kind, task = "purge", "purges.purge"
    pk, sk = "Z#{id}", "#"

    organization_id: str
    place_kind: str
    place_id: str
    passes: int = 0


def purge(changes: UnitOfWork, place: Container) -> None:
    """Delete a place: with the commit it is gone, and all in it out of reach; what it held is removed soon after."""
    changes.delete(place)
    new: dict[str, Any] = new_record_fields(changes.now)
    purge = Purge(**new, organization_id=place.log, place_kind=place.kind, place_id=place.id, turn_at=changes.now)
    changes.enqueue_after_commit(Purge.task, changes.create(purge))
