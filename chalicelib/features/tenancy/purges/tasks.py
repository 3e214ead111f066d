"""The removal of what a place held that is gone."""

from typing import Any, Final, cast

from chalicelib.features.tenancy.purges.entities import Purge
from chalicelib.features.tenancy.purges.logic import clear_place
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.storage.record_types import record_type
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_PASSES: Final = 2
_PAUSE_SECONDS: Final = 60
"""Longer than a request takes that began while the place was there, and than an index lags."""


@task(Purge.task)
def purge_place(message: dict[str, Any]) -> None:
    """Remove all that a place held, and look once more later for what was on its way when the place went."""
    job, until = jobs.claim(Purge, message), jobs.slice_ends_at()
    if job is None:
        return
    place = cast("type[Container]", record_type(job.place_kind))
    if not clear_place(place, job.place_id, until):
        jobs.release(job)
    elif job.passes + 1 < _PASSES:
        jobs.release(job, seconds=_PAUSE_SECONDS, passes=job.passes + 1)
    else:
        jobs.remove(job)
