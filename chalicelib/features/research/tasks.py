"""Background imports, reconciliations and backfills, page by page, and the removal of libraries."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from chalicelib.features.research.entities import ResearchJob
from chalicelib.features.research.logic import dblp, merge_proposals, openalex, orcid, reconciliation
from chalicelib.features.research.logic.importing import store_records
from chalicelib.features.research.logic.library_removal import remove_artefacts_and_outputs
from chalicelib.features.research.logic.source_client import InvalidResponse, NotFound, Rejected, RetryLater
from chalicelib.features.research.logic.sources import SourcePage
from chalicelib.features.research.logic.throttle import Throttled
from chalicelib.features.research.models.identifiers import is_openalex_author_id, is_orcid
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.purges.logic import on_container_purge
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Container, Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_FETCHERS: Final[Mapping[str, Callable[[Item], SourcePage]]] = {
    "author": openalex.fetch_author_and_build_steps,
    "openalex": openalex.fetch_works_page,
    "orcid": orcid.fetch_all_works,
    "dblp": dblp.fetch_contents_page,
}
_MAX_SKIPPED_NAMES: Final = 20
_EVENTS: Final = [
    f"research.{work}.{end}" for work in ("import", "reconcile", "backfill") for end in ("completed", "failed")
]

_UNKNOWN_RESEARCHER: Final = "No source knows this researcher. Use an ORCID iD, or the id of an author at OpenAlex."
_GAVE_UP_ERROR: Final = (
    "A source, or the database, repeatedly did not respond. Stored records stay. Start the job again."
)
_CLUSTER_ERROR: Final = "More than {} artefacts share identifiers with {}. They cannot be one work."

_FAILURE_DETAILS: Final[Mapping[type[Exception], Callable[[Exception], tuple[str, str]]]] = {
    NotFound: lambda _: ("unknown_researcher", _UNKNOWN_RESEARCHER),
    Rejected: lambda error: ("refused_by_source", str(error)),
    InvalidResponse: lambda error: ("malformed_answer", str(error)),
    reconciliation.ClusterTooLarge: lambda error: (
        "too_many_alike",
        _CLUSTER_ERROR.format(reconciliation.MAX_CLUSTER_SIZE, error),
    ),
}
"""Exception → a function to the error code and detail of the failed job."""


@task(ResearchJob.task, emits=dict.fromkeys(_EVENTS, ResearchJob))
def run_research_job(message: dict[str, Any]) -> None:
    """Run a job, continuing after its stored progress, and log its end."""
    job, ends_at = jobs.claim(ResearchJob, message), jobs.slice_deadline_monotonic()
    while job and job.lease_until:
        try:
            if time.monotonic() > ends_at:
                jobs.release(job)
                return
            job = _do_next_step(job)
        except ConcurrentModification:  # Another worker has taken over the job.
            return


def _do_next_step(job: ResearchJob) -> ResearchJob:
    """Do the next step of a job, and return the updated job. It has no lease if this run of it is over."""
    if job.failures > jobs.MAX_FAILURES:
        return _commit_failure_with_audit_event(job, "source_unavailable", _GAVE_UP_ERROR)
    if job.work == "import" and not (
        is_orcid(job.researcher_id or "") or is_openalex_author_id(job.researcher_id or "")
    ):
        return _commit_failure_with_audit_event(job, "unknown_researcher", _UNKNOWN_RESEARCHER)
    try:
        return _fetch_and_store_page(job) if job.pending_steps else _reconcile_or_complete(job)
    except RetryLater as error:
        return _release_job_for_later_run(job, error)
    except tuple(_FAILURE_DETAILS) as error:
        return _commit_failure_with_audit_event(job, *_FAILURE_DETAILS[type(error)](error))


def _fetch_and_store_page(job: ResearchJob) -> ResearchJob:
    """Fetch and store the next page of a job, and return the updated job. Raises the exceptions of `Source.get`."""
    step, *rest = job.pending_steps
    try:
        page = _FETCHERS[step["of"]](step)
    except NotFound:
        if not step.get("optional"):
            raise
        page = SourcePage([], [], [])
    job = store_records(job, page.records)
    skipped_names = [*job.skipped, *page.unreadable][:_MAX_SKIPPED_NAMES]
    skipped_count = job.skipped_count + len(page.unreadable)
    return jobs.save_progress_and_extend_lease(
        job,
        status="running",
        pending_steps=[*page.next_steps, *rest],
        stored_record_count=0,
        skipped=skipped_names,
        skipped_count=skipped_count,
    )


def _reconcile_or_complete(job: ResearchJob) -> ResearchJob:
    """Reconcile the next artefact of the library of a job, or complete the job. Return the updated job.

    Imports do not reconcile.
    """
    if job.work == "import":
        return _commit_end_with_audit_event(job, "completed")
    if next_job := reconciliation.reconcile_next(job):
        return next_job
    output_count, conflicts = merge_proposals.count_outputs_and_proposals(job.library_id)
    counts = {**job.counts, "conflicts": conflicts}
    if job.work == "reconcile":
        counts["unchanged"] = max(0, output_count - counts["created"] - counts["updated"])
    return _commit_end_with_audit_event(job, "completed", counts=counts)


def _release_job_for_later_run(job: ResearchJob, error: RetryLater) -> ResearchJob:
    """End this run of a job. The next run starts at the time that the source requested, or with increasing delays.

    Throttling by other workers does not count as a failure.
    """
    if error.seconds is None:
        jobs.release_with_growing_delay(job)
    elif isinstance(error.__cause__, Throttled):
        jobs.release(job, delay_seconds=max(1.0, error.seconds), stored_record_count=job.stored_record_count)
    else:
        jobs.release(job, delay_seconds=max(1.0, error.seconds))
    return job.replace(lease_until=None)


def _commit_failure_with_audit_event(job: ResearchJob, error: str, detail: str) -> ResearchJob:
    return _commit_end_with_audit_event(job, "failed", error=error, detail=detail)


def _commit_end_with_audit_event(job: ResearchJob, status: str, **result: Any) -> ResearchJob:
    changes = UnitOfWork(now())
    finished_job = changes.update(job, status=status, lease_until=None, pending_steps=[], **result)
    changes.event(finished_job, f"research.{job.work}.{status}", before=job.as_created)
    outbox.commit(changes, Origin.system(ResearchJob.task))
    return finished_job


@on_container_purge
def remove_organization_library(container_type: type[Container], container_id: str, deadline: float) -> bool:
    """Remove the library of a purged organization. Return False if time is up."""
    return container_type is not Organization or remove_artefacts_and_outputs(container_id, deadline)
