"""The erasure of a person, in steps. Each step continues from the stored progress."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, is_valid_at_claimed_sequence
from chalicelib.features.privacy.erasures.entities import Erasure, Identity, Step
from chalicelib.features.privacy.erasures.logic.named_actors import NamedActor
from chalicelib.features.privacy.erasures.logic.named_people import (
    container_scan_ranges,
    iter_identities_in_mentioning_entries,
    mentions_person,
)
from chalicelib.features.privacy.erasures.logic.personal_data import load_personal_values
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, Partition
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_PAGE_SIZE: Final = 200
_CONTAINER_PAGE_SIZE: Final = 25
_MAX_ENTRIES_PER_TRANSACTION: Final = 45
"""Entries erased in one transaction. Each takes two writes, and the erasure's progress takes one."""

_PAUSE_SECONDS: Final = 60
"""Time before the second search: longer than a request in flight takes, and longer than an entry is pending."""

_NEXT_STEP: Final[dict[Step, Step]] = {"accounts": "addresses", "addresses": "records", "records": "entries"}
_OWNER_ERROR: Final = (
    "This person owns the organization. Transfer the ownership to another member, then create the erasure again."
)
_GAVE_UP_ERROR: Final = "The erasure could not be finished. Verify the log, then create the erasure again."
_RECHECK_ERROR: Final = (
    "The second search, for records in flight at the completion, failed. Verify the log, then create the erasure again."
)


@task(Erasure.task)
def run_erasure(message: dict[str, Any]) -> None:
    """Determine the person's identities, then redact records and log entries. That completes the erasure.

    Both are searched once more after a pause, for records that were in flight. Later records can name the person only
    if somebody invites them again.
    """
    erasure, ends_at = jobs.claim(Erasure, message), jobs.slice_deadline_monotonic()
    while erasure and not erasure.is_job_finished:
        if erasure.failures > jobs.MAX_FAILURES:
            erasure = _end_erasure(erasure, _RECHECK_ERROR if erasure.completed_at else _GAVE_UP_ERROR)
        elif time.monotonic() > ends_at:
            jobs.release(erasure)
            erasure = None
        else:
            erasure = _process_next_page(erasure, ends_at)


def _process_next_page(erasure: Erasure, ends_at: float) -> Erasure | None:
    """Return the erasure after its next page, or None if this run is over. `ends_at`: by `time.monotonic`."""
    if erasure.step == "records":
        return _redact_record_page(erasure)
    if erasure.log_cursor is None:
        ledger.append_pending_and_return_longest_wait_ms(erasure.organization_id)
    if erasure.step == "entries":
        return _redact_entry_page(erasure, ends_at)
    return _search_log_page_for_identities(erasure)


def _search_log_page_for_identities(erasure: Erasure) -> Erasure:
    """Search a page of the log for identities: the users of the given addresses, then all addresses of those users.

    Other users of the latter addresses are not included, because addresses change hands.
    """
    entries, cursor = logs.list_stored_entries(erasure.organization_id, erasure.log_cursor, _PAGE_SIZE)
    person = erasure.person
    identities = [*iter_identities_in_mentioning_entries(entries, erasure.organization_id, person)]
    if erasure.log_cursor is None:
        identities += [*_load_member_identities(erasure), *_iter_erasure_identities(erasure.organization_id)]
    if erasure.step == "accounts":
        matching = {identity for identity in identities if identity[1] in erasure.emails}
    else:
        matching = {identity for identity in identities if identity[0] in person.user_ids}
    all_identities = sorted([*identity] for identity in erasure.known_identities | matching)
    return _save_cursor_or_advance_step(erasure, cursor, status="running", identities=all_identities)


def _load_member_identities(erasure: Erasure) -> list[Identity]:
    """Return the identities of current members. The log does not contain the address of the organization's founder."""
    person, container_ids = erasure.person, {"organization_id": erasure.organization_id}
    items = [
        *table.get_all(Member.make_item_key(**container_ids, user_id=user_id) for user_id in person.user_ids).values()
    ]
    # Read from the table, because an index may not show new members yet.
    pk, prefix = Member.make_item_key(**container_ids, user_id="")
    items += [
        item for page in table.iter_item_pages(pk, prefix=prefix) for item in page if item.get("email") in person.emails
    ]
    return [(item["user_id"], item["email"]) for item in items if "email" in item]


def _iter_erasure_identities(organization_id: str) -> Iterator[Identity]:
    """Yield the identities of erasures that failed or are running. The log may not contain them any more."""
    pk, prefix = Erasure.make_item_key(organization_id=organization_id, id="")
    for items in table.iter_item_pages(pk, prefix=prefix):
        for item in items:
            yield from Erasure.from_item(item).known_identities


def _redact_record_page(erasure: Erasure) -> Erasure:
    """Redact a page of the organization's records, their children, and the containers in it."""
    if not erasure.pending_ranges and not erasure.completed_at and _owns_organization(erasure):
        return _end_erasure(erasure, _OWNER_ERROR)
    scan_range, *pending = erasure.pending_ranges or container_scan_ranges(Organization, erasure.organization_id)
    index, person = scan_range.get("index"), erasure.person
    page = table.query(
        Partition(scan_range["pk"], index),
        after=scan_range.get("after"),
        limit=_CONTAINER_PAGE_SIZE if index else _PAGE_SIZE,
    )
    pending = [{**scan_range, "after": page.last_evaluated_key}, *pending] if page.last_evaluated_key else pending
    for record in (
        _load_current_records(page.items) if index else map(record_from_item, (i for i in page.items if "kind" in i))
    ):
        if index and isinstance(record, Container):  # Its partitions are searched next.
            pending = [*container_scan_ranges(type(record), record.id), *pending]
            continue
        pending = [*pending, {"pk": record.child_partition_key}] if record.child_partition_key else pending
        erasure = _redact_or_remove_record(erasure, record, person)
        if erasure.is_job_finished:
            return erasure
    return (
        jobs.save_progress_and_extend_lease(erasure, pending_ranges=pending)
        if pending
        else _save_cursor_or_advance_step(erasure, None, pending_ranges=[])
    )


def _load_current_records(index_items: list[Item]) -> list[Entity]:
    """Return the current records of a list that an index provided."""
    items = table.get_all((item["pk"], item["sk"]) for item in index_items)
    return [record_from_item(item) for item in items.values()]


def _redact_or_remove_record(erasure: Erasure, record: Entity, person: PersonIdentifiers) -> Erasure:
    """Redact or remove a record. The erasure ends if the person owns the organization."""
    changed = (
        record.redaction_changes_or_none_to_delete(person) if _is_before_completion(erasure, record.created_at) else {}
    )
    if changed == {}:
        return erasure
    changes = UnitOfWork(now())
    if changed:
        changes.update(record, **changed)
        _add_expired_guard_deletes(changes, record)
    elif isinstance(record, Member) and record.role == Role.OWNER:
        return _end_erasure(erasure, _OWNER_ERROR)
    else:
        changes.delete(record)
        _add_expired_guard_deletes(changes, record)
    return jobs.save_progress_and_extend_lease(erasure, changes, erased_records=erasure.erased_records + 1)


def _is_before_completion(erasure: Erasure, created_at: str) -> bool:
    """Return whether a record or entry existed, or was in flight, when the erasure was completed."""
    return erasure.completed_at is None or created_at <= erasure.completed_at


def _owns_organization(erasure: Erasure) -> bool:
    organization = table.get(Organization.make_item_key(id=erasure.organization_id)) or {}
    return organization.get("owner_id") in erasure.person.user_ids


def _add_expired_guard_deletes(changes: UnitOfWork, record: Entity) -> None:
    """Remove the expired items that reserve the record's unique values. They reserve nothing but contain the values."""
    expiring = [unique for unique in record.uniques.values() if unique.expires_at_field]
    expired = [unique for unique in expiring if getattr(record, unique.expires_at_field) <= changes.now]
    expected_refs = {guard_key(unique, record): getattr(record, unique.ref_field) for unique in expired}
    for key, guard in table.get_all(expected_refs).items():
        if guard["ref"] == expected_refs[key]:
            changes.add_write(
                Write("Delete", key, condition="#ref = :me", names=["ref"], values={"me": expected_refs[key]})
            )


def _redact_entry_page(erasure: Erasure, ends_at: float) -> Erasure | None:
    """Redact a page of the log, or as much of it as the time allows.

    The run ends while an entry that names the person is pending.
    """
    log = erasure.organization_id
    entries, cursor = logs.list_stored_entries(log, erasure.log_cursor, _PAGE_SIZE)
    entries = [each for each in entries if _is_before_completion(erasure, each.item.get("created_at", ""))]
    matching, count = _list_entries_naming_person(erasure, entries, ends_at)
    if count < len(entries):
        cursor = {name: entries[count - 1].item[name] for name in ("pk", "sk")}
    ready = [entry for entry in matching if not logs.is_authentic_pending_entry(log, entry.item)]
    for start in range(0, len(ready), _MAX_ENTRIES_PER_TRANSACTION):
        batch = ready[start : start + _MAX_ENTRIES_PER_TRANSACTION]
        changes = UnitOfWork(now())
        for write in (
            w
            for entry in batch
            for w in redaction.redaction_writes(log, entry.item, should_sign=is_valid_at_claimed_sequence(log, entry))
        ):
            changes.add_write(write)
        erasure = jobs.save_progress_and_extend_lease(
            erasure, changes, erased_entries=erasure.erased_entries + len(batch)
        )
    if len(ready) < len(matching):
        jobs.release(erasure, delay_seconds=_PAUSE_SECONDS)
    elif cursor:
        return jobs.save_progress_and_extend_lease(erasure, log_cursor=cursor)
    elif erasure.completed_at:
        return _end_erasure(erasure)
    else:
        timestamp = now()
        jobs.release(
            erasure,
            delay_seconds=_PAUSE_SECONDS,
            status="completed",
            completed_at=timestamp,
            step="records",
            log_cursor=None,
        )
    return None


def _list_entries_naming_person(
    erasure: Erasure, entries: Sequence[StoredEntry], ends_at: float
) -> tuple[list[StoredEntry], int]:
    """Return the entries that name the person, and how many were checked until the time is over, at least one."""
    person, named, count = erasure.person, list[StoredEntry](), 0
    actor = NamedActor(erasure.organization_id, **erasure.actor) if erasure.actor else None
    decisions = actor.iter_decisions(entries, load_personal_values) if actor else (False for _ in entries)
    for entry, is_named in zip(entries, decisions, strict=True):
        if is_named or mentions_person(entry, person):
            named.append(entry)
        count += 1
        if time.monotonic() > ends_at:
            break
    return named, count


def _save_cursor_or_advance_step(erasure: Erasure, last_evaluated_key: Item | None, **progress: Any) -> Erasure:
    """Store the progress after a page. Without a further page the next step begins."""
    return jobs.save_progress_and_extend_lease(
        erasure,
        log_cursor=last_evaluated_key,
        step=erasure.step if last_evaluated_key else _NEXT_STEP[erasure.step],
        **progress,
    )


def _end_erasure(erasure: Erasure, error: str | None = None) -> Erasure:
    """End an erasure, and clear the person. With an error it keeps the identities for the next erasure.

    A completed erasure stays completed.
    """
    return jobs.finish(
        erasure,
        status="failed" if error and not erasure.completed_at else "completed",
        error=error,
        user_ids=[],
        emails=[],
        actor=None,
        identities=erasure.identities if error else [],
        log_cursor=None,
    )
