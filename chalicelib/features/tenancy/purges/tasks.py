"""The task that removes the contents of a deleted container."""

from typing import Any, Final, cast

from chalicelib.features.tenancy.purges.entities import Purge
from chalicelib.features.tenancy.purges.logic import purge_container_contents
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.storage.record_types import get_record_type
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_PASS_COUNT: Final = 2
_PAUSE_SECONDS: Final = 60
"""Time between passes. It is longer than a request that began before the deletion, and longer than an index lags."""


@task(Purge.task)
def purge_deleted_container_contents(message: dict[str, Any]) -> None:
    """Remove the contents of a deleted container. A second pass covers requests in flight at its deletion."""
    job, deadline = jobs.claim(Purge, message), jobs.slice_deadline_monotonic()
    if job is None:
        return
    container_type = cast("type[Container]", get_record_type(job.container_kind))
    if not purge_container_contents(container_type, job.container_id, deadline):
        jobs.release(job)
    elif job.passes + 1 < _PASS_COUNT:
        jobs.release(job, delay_seconds=_PAUSE_SECONDS, passes=job.passes + 1)
    else:
        jobs.remove(job)
