"""Imports, reconciles and backfills in the background, page by page and turn by turn; and the end of a library."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from chalicelib.features.research.entities import ResearchJob
from chalicelib.features.research.logic import dblp, merge_proposals, openalex, orcid, reconciliation
from chalicelib.features.research.logic.importing import stored
from chalicelib.features.research.logic.library_removal import clear_library
from chalicelib.features.research.logic.source_client import Later, Malformed, Missing, Refused
from chalicelib.features.research.logic.sources import Page
from chalicelib.features.research.logic.throttle import TooSoon
from chalicelib.features.research.models.identifiers import is_openalex_author, is_orcid
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.purges.logic import on_container_purge
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Container, Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_STEPS: Final[Mapping[str, Callable[[Item], Page]]] = {
    "author": openalex.resolved,
    "openalex": openalex.works,
    "orcid": orcid.works,
    "dblp": dblp.contents,
}
_MOST_NAMED: Final = 20
_EVENTS: Final = [
    f"research.{work}.{end}" for work in ("import", "reconcile", "backfill") for end in ("completed", "failed")
]

_UNKNOWN: Final = "No source knows this researcher: it takes an ORCID iD, or the id of an author at OpenAlex."
_GIVEN_UP: Final = (
    "A source, or the database, gave no answer again and again. What it has stored stays; start it again."
)
_ALIKE: Final = "More than {} artefacts share identifiers with {}: that can't be one work."

_FAILURES: Final[Mapping[type[Exception], Callable[[Exception], tuple[str, str]]]] = {
    Missing: lambda _: ("unknown_researcher", _UNKNOWN),
    Refused: lambda refused: ("refused_by_source", str(refused)),
    Malformed: lambda malformed: ("malformed_answer", str(malformed)),
    reconciliation.TooManyAlike: lambda alike: ("too_many_alike", _ALIKE.format(reconciliation.MOST_ALIKE, alike)),
}
"""How a job fails by what it met: a word for programs, and a sentence."""


@task(ResearchJob.task, emits=dict.fromkeys(_EVENTS, ResearchJob))
def work_on_research(message: dict[str, Any]) -> None:
    """Do what a job was asked for, and say how it ended.

    Whatever ends a turn, the next goes on behind what was kept.
    """
    job, ends_at = jobs.claim(ResearchJob, message), jobs.slice_ends_at()
    while job and job.turn_at:
        try:
            if time.monotonic() > ends_at:
                jobs.release(job)
                return
            job = _advanced(job)
        except ConcurrentModification:  # It is another worker's by now.
            return


def _advanced(job: ResearchJob) -> ResearchJob:
    """Return the job a page further, or at its end, or at the end of its turn: then nobody holds it."""
    if job.failures > jobs.MAX_FAILURES:
        return _fail(job, "source_unavailable", _GIVEN_UP)
    if job.work == "import" and not (is_orcid(job.researcher_id or "") or is_openalex_author(job.researcher_id or "")):
        return _fail(job, "unknown_researcher", _UNKNOWN)
    try:
        return _fetched(job) if job.steps else _reconciled(job)
    except Later as later:
        return _put_off(job, later)
    except tuple(_FAILURES) as failure:
        return _fail(job, *_FAILURES[type(failure)](failure))


def _fetched(job: ResearchJob) -> ResearchJob:
    """Return the job with its next page fetched and stored. Raises what `Source.get` raises."""
    step, *rest = job.steps
    try:
        page = _STEPS[step["of"]](step)
    except Missing:
        if not step.get("optional"):
            raise
        page = Page([], [], [])
    job = stored(job, page.records)
    named = [*job.skipped, *page.unreadable][:_MOST_NAMED]
    skipped = job.skipped_count + len(page.unreadable)
    return jobs.checkpoint(
        job, status="running", steps=[*page.then, *rest], done=0, skipped=named, skipped_count=skipped
    )


def _reconciled(job: ResearchJob) -> ResearchJob:
    """Return the job a step further in reconciling its library, or completed. An import does not reconcile."""
    if job.work == "import":
        return _end(job, "completed")
    if advanced := reconciliation.advanced(job):
        return advanced
    outputs, conflicts = merge_proposals.proposals(job.library_id)
    counts = {**job.counts, "conflicts": conflicts}
    if job.work == "reconcile":
        counts["unchanged"] = max(0, outputs - counts["created"] - counts["updated"])
    return _end(job, "completed", counts=counts)


def _put_off(job: ResearchJob, later: Later) -> ResearchJob:
    """Return the job with its turn ended: until the source has said, or for longer each time.

    That others were asking just now is no failure.
    """
    if later.seconds is None:
        jobs.retry_later(job)
    elif isinstance(later.__cause__, TooSoon):
        jobs.release(job, seconds=max(1.0, later.seconds), done=job.done)
    else:
        jobs.release(job, seconds=max(1.0, later.seconds))
    return job.replace(turn_at=None)


def _fail(job: ResearchJob, error: str, detail: str) -> ResearchJob:
    return _end(job, "failed", error=error, detail=detail)


def _end(job: ResearchJob, status: str, **result: Any) -> ResearchJob:
    changes = UnitOfWork(now())
    ended = changes.update(job, status=status, turn_at=None, steps=[], **result)
    changes.set_diff_base(job.as_requested)
    outbox.commit(changes, f"research.{job.work}.{status}", Origin.system(ResearchJob.task))
    return ended


@on_container_purge
def clear_research(place: type[Container], place_id: str, until: float) -> bool:
    """Remove the library of an organization that is gone; False if the time is over."""
    return place is not Organization or clear_library(place_id, until)
