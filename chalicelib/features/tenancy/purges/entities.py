"""The stored record of a purge."""

from typing import Any, ClassVar

from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.jobs import Job


class Purge(Job):
    """The job that removes the contents of a deleted container. `passes` is the number of completed passes.

    It has a partition of its own, so it outlives the container's ancestors.
    """

    kind, task = "purge", "purges.purge"
    pk, sk = "Z#{id}", "#"

    attribute_names: ClassVar = {"container_kind": "place_kind", "container_id": "place_id"}

    organization_id: str
    container_kind: str
    container_id: str
    passes: int = 0


def delete_container_and_queue_purge(changes: UnitOfWork, container: Container) -> None:
    """Delete a container. Its contents are inaccessible after the commit, and a task removes them soon after."""
    changes.delete(container)
    record_fields: dict[str, Any] = new_id_and_time_fields(changes.now)
    job = Purge(
        **record_fields,
        organization_id=container.audit_log_id,
        container_kind=container.kind,
        container_id=container.id,
        lease_until=changes.now,
    )
    jobs.create_and_enqueue_after_commit(changes, job)
