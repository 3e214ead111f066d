"""Putting what a source says into a library: what is new is created, what changed is updated, all else left alone."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from chalicelib.features.research.entities import Artefact, ResearchJob
from chalicelib.features.research.logic.record_rules import first_researchers, hash_of
from chalicelib.features.research.logic.sources import Record
from chalicelib.kernel.core.clock import backoff_seconds, now
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

_AT_ONCE: Final = 100
_ENOUGH_WRITES: Final = 50
"""A transaction is committed that has so many: the next artefact may take 47 more, and the job takes one."""

_TRIES: Final = 5

_Known = dict[tuple[str, str], Artefact]


def stored(job: ResearchJob, records: Sequence[Record]) -> ResearchJob:
    """Store a page's records from where the job is on; return the job as it is then.

    Raises ConcurrentModification if the job is another worker's by now.
    """
    attempt = 0
    while job.done < len(records):
        try:
            job = _lot(job, records)
        except ConcurrentModification:
            job = still_mine(job)
            if (attempt := attempt + 1) == _TRIES:
                raise
            backoff_seconds(attempt)
    return job


def still_mine(job: ResearchJob) -> ResearchJob:
    """Return the job as it is now, if this worker holds it still. Raises ConcurrentModification."""
    item = table.get(job.item_key)
    if item is None or item.get("turn_at") != job.turn_at:
        raise ConcurrentModification
    return ResearchJob.from_item(item)


def _lot(job: ResearchJob, records: Sequence[Record]) -> ResearchJob:
    """Store the next records in one transaction: as many as one read tells of and it can hold."""
    window = records[job.done : job.done + _AT_ONCE]
    known = _known(job.library_id, window)
    changes, counts, done = UnitOfWork(now()), dict.fromkeys(("created", "updated", "unchanged"), 0), job.done
    # In the order of the source, be they of one moment.
    begun = iter(sorted((new_record_fields(changes.now) for _ in window), key=lambda new: str(new["id"])))
    for record in window:
        counts[_put(changes, job, record, known, begun)] += 1
        done += 1
        if changes.size > _ENOUGH_WRITES:
            break
    return jobs.checkpoint(job, changes, status="running", counts=job.counting(**counts), done=done)


def _known(library_id: str, records: Sequence[Record]) -> _Known:
    """Return the artefacts that there are of some records: two reads."""
    unique = Artefact.by_source_id
    named = [{"library_id": library_id, "source": each.source, "source_id": each.source_id} for each in records]
    guards = table.get_all(guard_key(unique, names) for names in named)
    items = table.get_all(Artefact.make_item_key(id=guard["ref"]) for guard in guards.values())
    found = [Artefact.from_item(item) for item in items.values()]
    return {(each.source, each.source_id): each for each in found}


def _put(changes: UnitOfWork, job: ResearchJob, record: Record, known: _Known, begun: Iterator[dict[str, Any]]) -> str:
    """Let an artefact say what a record says; return what that takes. `begun`: what new ones begin with."""
    name, present = (record.source, record.source_id), known.get((record.source, record.source_id))
    digest = hash_of(record.said)
    researchers = first_researchers([*(present.researcher_ids if present else ()), *record.researcher_ids])
    edition_id = record.edition_id or (present.edition_id if present else None)
    beside: dict[str, Any] = {"researcher_ids": researchers, "edition_id": edition_id}
    if present is None:
        known[name] = changes.create(
            Artefact(
                **next(begun),
                **job.place,
                source=record.source,
                source_id=record.source_id,
                fetched_at=changes.now,
                content_hash=digest,
                **record.said,
                **beside,
            )
        )
        return "created"
    if digest == present.content_hash and all(getattr(present, field) == value for field, value in beside.items()):
        return "unchanged"
    content = {**record.said, "fetched_at": changes.now} if digest != present.content_hash else {}
    known[name] = changes.update(present, **content, **beside, content_hash=digest, stale=True)
    return "updated"
