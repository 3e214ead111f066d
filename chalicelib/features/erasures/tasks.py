"""The erasure of a person, step by step; each step goes on where the one before was kept."""

import time
from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.rules import Sealed, is_entry
from chalicelib.features.erasures.entities import Erasure
from chalicelib.features.erasures.rules import Traces
from chalicelib.features.organizations.entities import Organization
from chalicelib.kernel import jobs, ledger, table
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now
from chalicelib.kernel.entity import KINDS
from chalicelib.kernel.events import EntryItem
from chalicelib.kernel.tasks import task

_PAGE: Final = 50
_AT_ONCE: Final = 45
"""Entries erased in one transaction: each is two writes, and the job's progress is one."""

_OWNER: Final = "This person owns the organization. Transfer the ownership to another member, then start it again."
_GIVEN_UP: Final = "It could not be finished. What was erased stays erased; start it again."


@task(Erasure.task)
def erase_everywhere(message: dict[str, Any]) -> None:
    """Find out by the log who is meant, then let the person leave the records, then the entries.

    Records go first: whoever is no member any more makes no further entries.
    """
    erasure = jobs.take(Erasure, message)
    if erasure is None:
        return
    ends_at = jobs.ends_at()
    while not erasure.over:
        if erasure.failures > jobs.MOST_FAILURES:
            erasure = _end(erasure, "failed", _GIVEN_UP)
        elif time.monotonic() > ends_at:
            jobs.pass_on(erasure)
            return
        else:
            erasure = {"search": _search, "records": _leave_records, "entries": _leave_entries}[erasure.step](erasure)


def _search(erasure: Erasure) -> Erasure:
    """Look through one page of the log for who else the person is; at its end go on with the records."""
    if not erasure.sequence:
        ledger.append(erasure.organization_id)
    for page in _pages(erasure):
        person = erasure.person
        for entry in page:
            if isinstance(entry.body, bytes) and Traces(person).in_entry(entry.body):
                person = Traces(person).widened(entry.body)
        user_ids, emails = sorted(person.user_ids), sorted(person.emails)
        return jobs.keep(erasure, status="running", sequence=_last(page), user_ids=user_ids, emails=emails)
    organization = table.get(Organization.key_of(id=erasure.organization_id))
    if organization is None or organization["owner_id"] in erasure.user_ids:
        return _end(erasure, "failed", _OWNER)
    return jobs.keep(erasure, status="running", step="records", sequence=0)


def _leave_records(erasure: Erasure) -> Erasure:
    """Let the person leave one page of the organization's records; at their end go on with the entries."""
    pk, _ = Organization.key_of(id=erasure.organization_id)
    found = table.query(pk, after=erasure.position, limit=_PAGE)
    for item in found.items:
        record = KINDS[item["kind"]].from_item(item) if "kind" in item else None
        changed = record.without(erasure.person) if record else {}
        if record and changed != {}:
            changes = Changes(now())
            if changed is None:
                changes.delete(record)
            else:
                changes.update(record, **changed)
            erasure = jobs.keep(erasure, changes, erased_records=erasure.erased_records + 1)
    if found.last:
        return jobs.keep(erasure, position=found.last)
    # What the person did until now gets its place, so that it is found.
    ledger.append(erasure.organization_id)
    return jobs.keep(erasure, step="entries", position=None, sequence=0)


def _leave_entries(erasure: Erasure) -> Erasure:
    """Let the person leave one page of the log; at its end the erasure is done."""
    log, traces = erasure.organization_id, Traces(erasure.person)
    for page in _pages(erasure):
        named = [EntryItem.from_item(e.item) for e in page if traces.in_entry(e.body) and is_entry(e.item)]
        for start in range(0, len(named), _AT_ONCE):
            batch = named[start : start + _AT_ONCE]
            changes = Changes(now())
            for write in (write for entry in batch for write in ledger.erase(log, entry)):
                changes.also(write)
            erasure = jobs.keep(
                erasure, changes, sequence=batch[-1].sequence, erased_entries=erasure.erased_entries + len(batch)
            )
        return jobs.keep(erasure, sequence=_last(page))
    return _end(erasure, "completed", None)


def _pages(erasure: Erasure) -> Iterator[list[Sealed]]:
    """Yield the next page of the log. At a gap, which verification reports, it goes on with what stands behind."""
    head = ledger.Head.of(table.get(ledger.head_key(erasure.organization_id)))
    return (page for page in logs.sealed(erasure.organization_id, erasure.sequence, head.tree.size) if page)


def _last(page: list[Sealed]) -> int:
    return int(page[-1].item["index1sk"])


def _end(erasure: Erasure, status: str, error: str | None) -> Erasure:
    return jobs.end(erasure, status=status, error=error, user_ids=[], emails=[])
