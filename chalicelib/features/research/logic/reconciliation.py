"""Making the works of a library of its artefacts, a transaction at a time: only of those that changed, and their kin.

What stands in an output is a function of the artefacts that share a key, whoever came when. So whatever is lost, done
twice or at once, the next step sees what is left to be done: artefacts that are stale.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from chalicelib.features.research.entities import (
    COMMON,
    KEYS,
    STALE,
    Artefact,
    ResearchJob,
    ResearchOutput,
    counted,
)
from chalicelib.features.research.logic import record_rules
from chalicelib.features.research.logic.importing import still_mine
from chalicelib.features.research.models.identifiers import keys_of
from chalicelib.kernel.core.clock import backoff_seconds, now
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

MOST_ALIKE: Final = 1000
"""So many artefacts may hang together by their keys."""

_AT_ONCE: Final = 20
_MOST_WRITES: Final = table.MAX_TRANSACT_ITEMS - 2
"""The job's own progress is one, and there is one to spare."""

_TRIES: Final = 8


class TooManyAlike(Exception):
    """More artefacts share keys than can be one work; names one of them."""


@dataclass
class _Kin:
    """Artefacts that hang together by keys, or did so when their outputs were made, and those outputs."""

    artefacts: dict[str, Artefact] = field(default_factory=dict)
    outputs: dict[str, ResearchOutput] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)


def advanced(job: ResearchJob) -> ResearchJob | None:
    """Return the job with the next stale artefact reconciled, or None if there is none.

    Raises ConcurrentModification if the job is another worker's by now; TooManyAlike.
    """
    for attempt in range(_TRIES):
        stale = table.query(STALE.format(library_id=job.library_id), limit=1).items
        if not stale:
            return None
        try:
            return _step(job, stale[0]["id"])
        except ConcurrentModification:
            job = still_mine(job)
            backoff_seconds(attempt)
    raise ConcurrentModification


def _step(job: ResearchJob, stale_id: str) -> ResearchJob:
    kin = _kin(job.library_id, stale_id)
    targets = _targets(kin)
    moving = [each for each in kin.artefacts.values() if each.stale or each.output_id != targets[each.id]]
    # The one that it began with goes last: as long as it is stale somebody comes back.
    moving.sort(key=lambda each: (each.id == stale_id, each.id))
    lot = moving[:_AT_ONCE]
    while True:
        changes, counts = _changes(job, kin, targets, lot)
        if changes.size <= _MOST_WRITES or len(lot) == 1:
            break
        lot = lot[: len(lot) // 2]
    more = counts if job.work == "reconcile" else {}
    return jobs.checkpoint(job, changes, status="running", counts=job.counting(**more))


def _kin(library_id: str, artefact_id: str) -> _Kin:
    """Return all that hangs together with an artefact. Raises TooManyAlike."""
    kin, wanted = _Kin(), {artefact_id}
    while wanted:
        read = table.get_all(Artefact.make_item_key(id=each) for each in sorted(wanted))
        found = [Artefact.from_item(item) for item in read.values()]
        kin.artefacts |= {each.id: each for each in found}
        if len(kin.artefacts) > MOST_ALIKE:
            raise TooManyAlike(f"{found[0].source} {found[0].source_id}")
        near = {*_with_keys(library_id, kin, found), *_in_outputs(kin, found)}
        wanted = near - kin.artefacts.keys()
    return kin


def _with_keys(library_id: str, kin: _Kin, artefacts: Iterable[Artefact]) -> set[str]:
    """Return the ids of the artefacts that share a key with some, by keys that nobody looked for yet."""
    keys = {key for each in artefacts for key in keys_of(each.identifiers)} - kin.keys
    kin.keys |= keys
    ask: Callable[[str], list[Item]] = partial(_rows, KEYS.format(library_id=library_id))
    return {str(row["id"]) for rows in table.gather(ask, sorted(keys)) for row in rows}


def _rows(pk: str, key: str) -> list[Item]:
    rows: list[Item] = []
    for items in table.iter_pages(pk, prefix=f"{key}#", limit=MOST_ALIKE + 1):
        rows += items
        if len(rows) > MOST_ALIKE:
            break
    return rows


def _in_outputs(kin: _Kin, artefacts: Iterable[Artefact]) -> set[str]:
    """Return the ids of the artefacts that are in one output with some."""
    ids = {each.output_id for each in artefacts if each.output_id} - kin.outputs.keys()
    read = table.get_all(ResearchOutput.make_item_key(id=each) for each in sorted(ids))
    found = [ResearchOutput.from_item(item) for item in read.values()]
    kin.outputs |= {each.id: each for each in found}
    return {artefact_id for each in found for artefact_id in each.artefact_ids}


def _targets(kin: _Kin) -> dict[str, str]:
    """Return the output of each artefact: of those that were of one work before, the earliest; else a new one.

    Where a work falls apart, its output stays with the artefact that came first.
    """
    works = record_rules.works(kin.artefacts.values())
    of_artefact = {each.id: number for number, work in enumerate(works) for each in work}
    claims: dict[int, list[str]] = {}
    for output_id in sorted(kin.outputs):
        members = sorted(each.id for each in kin.artefacts.values() if each.output_id == output_id)
        if members:
            claims.setdefault(of_artefact[members[0]], []).append(output_id)
    ids = {n: claims[n][0] if n in claims else str(new_record_fields(now())["id"]) for n in range(len(works))}
    return {artefact_id: ids[number] for artefact_id, number in of_artefact.items()}


def _changes(
    job: ResearchJob, kin: _Kin, targets: Mapping[str, str], lot: Sequence[Artefact]
) -> tuple[UnitOfWork, Mapping[str, int]]:
    """Return what lets a lot be where it belongs, and how many outputs that creates and changes."""
    changes, counts = UnitOfWork(now()), {"created": 0, "updated": 0}
    moved = {each.id: targets[each.id] for each in lot}
    place = {each.id: moved.get(each.id, each.output_id) for each in kin.artefacts.values()}
    for artefact in lot:
        changes.bump_version(artefact, output_id=targets[artefact.id], stale=False)
    touched = {*moved.values(), *(each.output_id for each in lot if each.output_id)}
    editions: dict[str, int] = {}
    for output_id in sorted(touched):
        members = [each for each in kin.artefacts.values() if place[each.id] == output_id]
        present = kin.outputs.get(output_id)
        output = _put(changes, job, output_id, present, members, _heir(kin, targets, output_id))
        counts["created"] += present is None
        counts["updated"] += present is not None and output is not present
        _count(editions, present, output)
    for edition_id, delta in editions.items():
        if delta and job.library_id == COMMON:
            changes.add_write(counted(COMMON, edition_id, delta))
    return changes, counts


def _heir(kin: _Kin, targets: Mapping[str, str], output_id: str) -> str:
    """Return the output that goes on as one of which nothing is left."""
    former = sorted(each.id for each in kin.artefacts.values() if each.output_id == output_id)
    return targets[former[0]] if former else output_id


def _put(
    changes: UnitOfWork,
    job: ResearchJob,
    output_id: str,
    present: ResearchOutput | None,
    members: Sequence[Artefact],
    heir: str,
) -> ResearchOutput:
    """Let an output say what its artefacts say; without any it leads to the one that it went up in."""
    if present is None:
        begun = {**new_record_fields(changes.now), "id": output_id}
        return changes.create(ResearchOutput(**begun, **job.place, **record_rules.told(members)))
    said = record_rules.told(members) if members else present.went_into(heir)
    output = changes.update(present, **said)
    if output is present:
        changes.require_unchanged(present)
    return output


def _count(editions: dict[str, int], before: ResearchOutput | None, now_: ResearchOutput) -> None:
    for output, delta in ((before, -1), (now_, 1)):
        if output and output.edition_id:
            editions[output.edition_id] = editions.get(output.edition_id, 0) + delta
