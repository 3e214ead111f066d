"""Build works from the artefacts of a library, one transaction at a time, for changed artefacts only.

An output is a function of the artefacts that share match keys, whatever their order. After a crash, a repetition or
concurrent runs, the next step continues with the artefacts that are still stale.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from chalicelib.features.research.entities import (
    MATCH_KEYS_PARTITION,
    PUBLIC_LIBRARY_ID,
    STALE_ARTEFACTS_PARTITION,
    Artefact,
    ResearchJob,
    ResearchOutput,
    edition_count_write,
)
from chalicelib.features.research.logic import record_rules
from chalicelib.features.research.logic.importing import reload_held_job
from chalicelib.features.research.models.identifiers import match_keys
from chalicelib.kernel.core.clock import now, sleep_with_jittered_backoff
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

MAX_CLUSTER_SIZE: Final = 1000
"""Maximum number of artefacts that are connected by match keys."""

_BATCH_SIZE: Final = 20
_MAX_WRITES: Final = table.MAX_TRANSACT_ITEMS - 2
"""Maximum number of writes of a batch. The progress of the job takes one more write, and one is spare."""

_MAX_ATTEMPTS: Final = 8


class ClusterTooLarge(Exception):
    """Too many artefacts are connected by match keys to be one work. The message names one of them."""


@dataclass
class _Cluster:
    """Artefacts connected by match keys or by their current outputs, and those outputs."""

    artefacts: dict[str, Artefact] = field(default_factory=dict)
    outputs: dict[str, ResearchOutput] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)


def reconcile_next(job: ResearchJob) -> ResearchJob | None:
    """Reconcile the next stale artefact, and return the updated job, or None if no artefact is stale.

    Raises ConcurrentModification if another worker has taken over the job, and ClusterTooLarge.
    """
    for attempt in range(_MAX_ATTEMPTS):
        stale_rows = table.query(STALE_ARTEFACTS_PARTITION.format(library_id=job.library_id), limit=1).items
        if not stale_rows:
            return None
        try:
            return _reconcile_cluster_batch(job, stale_rows[0]["id"])
        except ConcurrentModification:
            job = reload_held_job(job)
            sleep_with_jittered_backoff(attempt)
    raise ConcurrentModification


def _reconcile_cluster_batch(job: ResearchJob, stale_id: str) -> ResearchJob:
    cluster = _load_cluster(job.library_id, stale_id)
    targets = _target_output_ids_by_artefact_id(cluster)
    artefacts_to_assign = [
        each for each in cluster.artefacts.values() if each.is_stale or each.output_id != targets[each.id]
    ]
    # The stale artefact that selected the cluster goes last, so an interrupted run finds the cluster again.
    artefacts_to_assign.sort(key=lambda each: (each.id == stale_id, each.id))
    batch = artefacts_to_assign[:_BATCH_SIZE]
    while True:
        changes, counts = _build_unit_of_work_and_counts(job, cluster, targets, batch)
        if changes.write_count_without_pipeline_writes <= _MAX_WRITES or len(batch) == 1:
            break
        batch = batch[: len(batch) // 2]
    added_counts = counts if job.work == "reconcile" else {}
    return jobs.save_progress_and_extend_lease(
        job, changes, status="running", counts=job.counts_increased_by(**added_counts)
    )


def _load_cluster(library_id: str, artefact_id: str) -> _Cluster:
    """Return the cluster of an artefact. Raises ClusterTooLarge."""
    cluster, pending_ids = _Cluster(), {artefact_id}
    while pending_ids:
        items = table.get_all(Artefact.make_item_key(id=each) for each in sorted(pending_ids))
        artefacts = [Artefact.from_item(item) for item in items.values()]
        cluster.artefacts |= {each.id: each for each in artefacts}
        if len(cluster.artefacts) > MAX_CLUSTER_SIZE:
            raise ClusterTooLarge(f"{artefacts[0].source} {artefacts[0].source_id}")
        connected_ids = {
            *_add_keys_and_load_sharing_artefact_ids(library_id, cluster, artefacts),
            *_add_outputs_and_load_their_artefact_ids(cluster, artefacts),
        }
        pending_ids = connected_ids - cluster.artefacts.keys()
    return cluster


def _add_keys_and_load_sharing_artefact_ids(
    library_id: str, cluster: _Cluster, artefacts: Iterable[Artefact]
) -> set[str]:
    """Return the ids of the artefacts that share a match key with some others. Keys are searched once per cluster."""
    keys = {key for each in artefacts for key in match_keys(each.identifiers)} - cluster.keys
    cluster.keys |= keys
    query_rows: Callable[[str], list[Item]] = partial(
        _load_match_key_rows, MATCH_KEYS_PARTITION.format(library_id=library_id)
    )
    return {str(row["id"]) for rows in table.gather(query_rows, sorted(keys)) for row in rows}


def _load_match_key_rows(pk: str, key: str) -> list[Item]:
    rows: list[Item] = []
    for items in table.iter_item_pages(pk, prefix=f"{key}#", limit=MAX_CLUSTER_SIZE + 1):
        rows += items
        if len(rows) > MAX_CLUSTER_SIZE:
            break
    return rows


def _add_outputs_and_load_their_artefact_ids(cluster: _Cluster, artefacts: Iterable[Artefact]) -> set[str]:
    """Return the ids of the artefacts in the current outputs of some artefacts."""
    ids = {each.output_id for each in artefacts if each.output_id} - cluster.outputs.keys()
    items = table.get_all(ResearchOutput.make_item_key(id=each) for each in sorted(ids))
    outputs = [ResearchOutput.from_item(item) for item in items.values()]
    cluster.outputs |= {each.id: each for each in outputs}
    return {artefact_id for each in outputs for artefact_id in each.artefact_ids}


def _target_output_ids_by_artefact_id(cluster: _Cluster) -> dict[str, str]:
    """Return the output id of each artefact by its id: the oldest current output of its work, or a new one.

    If the artefacts of an output are several works now, the work of its first artefact keeps the output.
    """
    works = record_rules.group_by_work(cluster.artefacts.values())
    work_numbers = {each.id: number for number, work in enumerate(works) for each in work}
    claims: dict[int, list[str]] = {}
    for output_id in sorted(cluster.outputs):
        members = sorted(each.id for each in cluster.artefacts.values() if each.output_id == output_id)
        if members:
            claims.setdefault(work_numbers[members[0]], []).append(output_id)
    ids = {n: claims[n][0] if n in claims else str(new_id_and_time_fields(now())["id"]) for n in range(len(works))}
    return {artefact_id: ids[number] for artefact_id, number in work_numbers.items()}


def _build_unit_of_work_and_counts(
    job: ResearchJob, cluster: _Cluster, targets: Mapping[str, str], batch: Sequence[Artefact]
) -> tuple[UnitOfWork, Mapping[str, int]]:
    """Return the changes that assign a batch of artefacts to their outputs, and the numbers of changed outputs."""
    changes, counts = UnitOfWork(now()), {"created": 0, "updated": 0}
    new_output_ids = {each.id: targets[each.id] for each in batch}
    output_ids = {each.id: new_output_ids.get(each.id, each.output_id) for each in cluster.artefacts.values()}
    for artefact in batch:
        changes.update(artefact, touch=True, output_id=targets[artefact.id], is_stale=False)
    changed_outputs = {*new_output_ids.values(), *(each.output_id for each in batch if each.output_id)}
    editions: dict[str, int] = {}
    for output_id in sorted(changed_outputs):
        members = [each for each in cluster.artefacts.values() if output_ids[each.id] == output_id]
        existing = cluster.outputs.get(output_id)
        output = _write_output(
            changes, job, output_id, existing, members, _successor_id_or_own(cluster, targets, output_id)
        )
        counts["created"] += existing is None
        counts["updated"] += existing is not None and output is not existing
        _add_to_edition_counts(editions, existing, output)
    for edition_id, delta in editions.items():
        if delta and job.library_id == PUBLIC_LIBRARY_ID:
            changes.add_write(edition_count_write(PUBLIC_LIBRARY_ID, edition_id, delta))
    return changes, counts


def _successor_id_or_own(cluster: _Cluster, targets: Mapping[str, str], output_id: str) -> str:
    """Return the id of the output into which an output without artefacts is merged."""
    former_members = sorted(each.id for each in cluster.artefacts.values() if each.output_id == output_id)
    return targets[former_members[0]] if former_members else output_id


def _write_output(
    changes: UnitOfWork,
    job: ResearchJob,
    output_id: str,
    existing: ResearchOutput | None,
    members: Sequence[Artefact],
    successor_id: str,
) -> ResearchOutput:
    """Build an output from its artefacts. An output without artefacts is merged into its successor."""
    if existing is None:
        record_fields = {**new_id_and_time_fields(changes.now), "id": output_id}
        return changes.create(
            ResearchOutput(
                **record_fields, **job.library_and_organization_ids, **record_rules.merged_work_fields(members)
            )
        )
    fields = (
        record_rules.merged_work_fields(members) if members else existing.changed_fields_when_merged_into(successor_id)
    )
    output = changes.update(existing, **fields)
    if output is existing:
        changes.require_unchanged(existing)
    return output


def _add_to_edition_counts(editions: dict[str, int], before: ResearchOutput | None, after: ResearchOutput) -> None:
    for output, delta in ((before, -1), (after, 1)):
        if output and output.edition_id:
            editions[output.edition_id] = editions.get(output.edition_id, 0) + delta
