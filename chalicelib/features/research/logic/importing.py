"""Store the records of a source in a library: create artefacts, and update changed ones."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from chalicelib.features.research.entities import Artefact, ResearchJob
from chalicelib.features.research.logic.record_rules import content_hash, sorted_limited_researcher_ids
from chalicelib.features.research.logic.sources import SourceRecord
from chalicelib.kernel.core.clock import now, sleep_with_jittered_backoff
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

_WINDOW_SIZE: Final = 100
_TARGET_WRITES: Final = 50
"""Number of writes after which a transaction is committed. The next artefact can take 47 more, the job takes one."""

_MAX_ATTEMPTS: Final = 5

_ArtefactsBySourceId = dict[tuple[str, str], Artefact]


def store_records(job: ResearchJob, records: Sequence[SourceRecord]) -> ResearchJob:
    """Store the records of a page that are not stored yet, and return the updated job.

    Raises ConcurrentModification if another worker has taken over the job.
    """
    attempt = 0
    while job.stored_record_count < len(records):
        try:
            job = _store_next_batch_and_update_job(job, records)
        except ConcurrentModification:
            job = reload_held_job(job)
            if (attempt := attempt + 1) == _MAX_ATTEMPTS:
                raise
            sleep_with_jittered_backoff(attempt)
    return job


def reload_held_job(job: ResearchJob) -> ResearchJob:
    """Return the current state of a job. Raises ConcurrentModification if this worker no longer holds its lease."""
    item = table.get(job.item_key)
    if item is None or item.get("turn_at") != job.lease_until:
        raise ConcurrentModification
    return ResearchJob.from_item(item)


def _store_next_batch_and_update_job(job: ResearchJob, records: Sequence[SourceRecord]) -> ResearchJob:
    """Store the next records in one transaction, and return the updated job."""
    window = records[job.stored_record_count : job.stored_record_count + _WINDOW_SIZE]
    artefacts = _load_artefacts_by_source_id(job.library_id, window)
    changes, counts, stored_count = (
        UnitOfWork(now()),
        dict.fromkeys(("created", "updated", "unchanged"), 0),
        job.stored_record_count,
    )
    # New ids sort in the order of the source, although they have the same timestamp.
    record_fields = iter(
        sorted((new_id_and_time_fields(changes.now) for _ in window), key=lambda fields: str(fields["id"]))
    )
    for record in window:
        counts[_upsert_artefact_and_return_outcome(changes, job, record, artefacts, record_fields)] += 1
        stored_count += 1
        if changes.write_count_without_pipeline_writes > _TARGET_WRITES:
            break
    return jobs.save_progress_and_extend_lease(
        job, changes, status="running", counts=job.counts_increased_by(**counts), stored_record_count=stored_count
    )


def _load_artefacts_by_source_id(library_id: str, records: Sequence[SourceRecord]) -> _ArtefactsBySourceId:
    """Return the existing artefacts of some records, by source and id at the source. Takes two reads."""
    unique = Artefact.by_source_id
    key_values = [{"library_id": library_id, "source": each.source, "source_id": each.source_id} for each in records]
    guards = table.get_all(guard_key(unique, values) for values in key_values)
    items = table.get_all(Artefact.make_item_key(id=guard["ref"]) for guard in guards.values())
    artefacts = [Artefact.from_item(item) for item in items.values()]
    return {(each.source, each.source_id): each for each in artefacts}


def _upsert_artefact_and_return_outcome(
    changes: UnitOfWork,
    job: ResearchJob,
    record: SourceRecord,
    artefacts: _ArtefactsBySourceId,
    record_fields: Iterator[dict[str, Any]],
) -> str:
    """Create or update the artefact of a record. Return `created`, `updated` or `unchanged`, a name of a count."""
    key, existing = (record.source, record.source_id), artefacts.get((record.source, record.source_id))
    digest = content_hash(record.content)
    researchers = sorted_limited_researcher_ids(
        [*(existing.researcher_ids if existing else ()), *record.researcher_ids]
    )
    edition_id = record.edition_id or (existing.edition_id if existing else None)
    assignments: dict[str, Any] = {"researcher_ids": researchers, "edition_id": edition_id}
    if existing is None:
        artefacts[key] = changes.create(
            Artefact(
                **next(record_fields),
                **job.library_and_organization_ids,
                source=record.source,
                source_id=record.source_id,
                fetched_at=changes.now,
                content_hash=digest,
                **record.content,
                **assignments,
            )
        )
        return "created"
    if digest == existing.content_hash and all(
        getattr(existing, field) == value for field, value in assignments.items()
    ):
        return "unchanged"
    content = {**record.content, "fetched_at": changes.now} if digest != existing.content_hash else {}
    artefacts[key] = changes.update(existing, **content, **assignments, content_hash=digest, is_stale=True)
    return "updated"
