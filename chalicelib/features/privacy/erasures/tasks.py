"""The erasure of a person, step by step; each step goes on where the one before was kept."""

import time
from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import has_valid_entry_mac
from chalicelib.features.privacy.erasures.entities import Account, Erasure, Step
from chalicelib.features.privacy.erasures.logic import accounts_in, names, rooms_of
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, Partition
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_PAGE: Final = 200
_PLACES: Final = 25
_AT_ONCE: Final = 45
"""Entries erased in one transaction: each is two writes, and the job's progress is one."""

_PAUSE_SECONDS: Final = 60
"""Longer than a request takes that began while the person was a member, and than an entry waits for its place."""

_THEN: Final[dict[Step, Step]] = {"accounts": "addresses", "addresses": "records", "records": "entries"}
_OWNER: Final = "This person owns the organization. Transfer the ownership to another member, then start it again."
_GIVEN_UP: Final = "It could not be finished; what was erased stays erased. Verify the log, then start it again."
_NOT_AGAIN: Final = (
    "It could not look once more for what was under way when it was completed. Verify the log, then start it again."
)


@task(Erasure.task)
def erase_everywhere(message: dict[str, Any]) -> None:
    """Find out who is meant, then let the person leave the records and the entries: with that it is completed.

    Both are gone through once more after a pause, for what the person had begun as a member: it is done by then. Nobody
    else can have named them meanwhile, but by inviting them anew.
    """
    erasure, ends_at = jobs.claim(Erasure, message), jobs.slice_ends_at()
    while erasure and not erasure.over:
        if erasure.failures > jobs.MAX_FAILURES:
            erasure = _end(erasure, _NOT_AGAIN if erasure.completed_at else _GIVEN_UP)
        elif time.monotonic() > ends_at:
            jobs.release(erasure)
            erasure = None
        else:
            erasure = _advance(erasure)


def _advance(erasure: Erasure) -> Erasure | None:
    """Return the erasure a page further, or None if its turn is over."""
    if erasure.step == "records":
        return _leave_records(erasure)
    if erasure.position is None:
        ledger.append_pending(erasure.organization_id)
    return _leave_entries(erasure) if erasure.step == "entries" else _search(erasure)


def _search(erasure: Erasure) -> Erasure:
    """Look through a page of the log for who it is: whose the given addresses were, then all addresses of those users.

    Not who else had one of the latter: addresses pass from hand to hand.
    """
    entries, last = logs.list_stored(erasure.organization_id, erasure.position, _PAGE)
    person = erasure.person
    accounts = [*accounts_in(entries, erasure.organization_id, person)]
    if erasure.position is None:
        accounts += [*_accounts_of_members(erasure), *_accounts_of_erasures(erasure.organization_id)]
    if erasure.step == "accounts":
        theirs = {account for account in accounts if account[1] in erasure.emails}
    else:
        theirs = {account for account in accounts if account[0] in person.user_ids}
    known = sorted([*account] for account in erasure.known | theirs)
    return _kept(erasure, last, status="running", accounts=known)


def _accounts_of_members(erasure: Erasure) -> list[Account]:
    """Return the accounts of those who are members: the log does not tell the address of the organization's founder."""
    person, place = erasure.person, {"organization_id": erasure.organization_id}
    found = [*table.get_all(Member.make_item_key(**place, user_id=user_id) for user_id in person.user_ids).values()]
    # Of all members, from the table: an index may not show yet who has come just now.
    pk, begins = Member.make_item_key(**place, user_id="")
    found += [
        item for page in table.iter_pages(pk, prefix=begins) for item in page if item.get("email") in person.emails
    ]
    return [(item["user_id"], item["email"]) for item in found if "email" in item]


def _accounts_of_erasures(organization_id: str) -> Iterator[Account]:
    """Yield what erasures found out that ended with an error or run still: nothing else may tell it any more."""
    pk, begins = Erasure.make_item_key(organization_id=organization_id, id="")
    for items in table.iter_pages(pk, prefix=begins):
        for item in items:
            yield from Erasure.from_item(item).known


def _leave_records(erasure: Erasure) -> Erasure:
    """Let the person leave a page of the organization's records, of what these hold, and of the places in it."""
    if not erasure.rooms and not erasure.completed_at and _owned_by(erasure):
        return _end(erasure, _OWNER)
    room, *rooms = erasure.rooms or rooms_of(Organization, erasure.organization_id)
    index, person = room.get("index"), erasure.person
    found = table.query(Partition(room["pk"], index), after=room.get("after"), limit=_PLACES if index else _PAGE)
    rooms = [{**room, "after": found.last_evaluated_key}, *rooms] if found.last_evaluated_key else rooms
    for record in _read(found.items) if index else map(record_from_item, (i for i in found.items if "kind" in i)):
        if index and isinstance(record, Container):  # It says itself what it is, and where all stands that is in it.
            rooms = [*rooms_of(type(record), record.id), *rooms]
            continue
        rooms = [*rooms, {"pk": record.child_partition_key}] if record.child_partition_key else rooms
        erasure = _leave_record(erasure, record, person)
        if erasure.over:
            return erasure
    return jobs.checkpoint(erasure, rooms=rooms) if rooms else _kept(erasure, None, rooms=[])


def _read(listed: list[Item]) -> list[Entity]:
    """Return the records of a list as they are in the table: an index may show them as they were."""
    items = table.get_all((item["pk"], item["sk"]) for item in listed)
    return [record_from_item(item) for item in items.values()]


def _leave_record(erasure: Erasure, record: Entity, person: PersonalData) -> Erasure:
    """Let the person leave a record; the erasure is over if they own the organization."""
    changed = record.redact(person) if _is_meant(erasure, record.created_at) else {}
    if changed == {}:
        return erasure
    changes = UnitOfWork(now())
    if changed:
        changes.update(record, **changed)
        _release(changes, record)
    elif isinstance(record, Member) and record.role == Role.OWNER:
        return _end(erasure, _OWNER)
    else:
        changes.delete(record)
        _release(changes, record)
    return jobs.checkpoint(erasure, changes, erased_records=erasure.erased_records + 1)


def _is_meant(erasure: Erasure, created_at: str) -> bool:
    """Return whether a record or an entry was there when the erasure was completed, or was about to be."""
    return erasure.completed_at is None or created_at <= erasure.completed_at


def _owned_by(erasure: Erasure) -> bool:
    organization = table.get(Organization.make_item_key(id=erasure.organization_id)) or {}
    return organization.get("owner_id") in erasure.person.user_ids


def _release(changes: UnitOfWork, record: Entity) -> None:
    """Let the guards of a record's values go that have lapsed: they hold nothing, but say the value for days still."""
    lapsing = [unique for unique in record.uniques.values() if unique.expires_at_field]
    free = [unique for unique in lapsing if getattr(record, unique.expires_at_field) <= changes.now]
    mine = {guard_key(unique, record): getattr(record, unique.ref_field) for unique in free}
    for key, guard in table.get_all(mine).items():
        if guard["ref"] == mine[key]:
            changes.add_write(Write("Delete", key, condition="#ref = :me", names=["ref"], values={"me": mine[key]}))


def _leave_entries(erasure: Erasure) -> Erasure | None:
    """Let the person leave a page of the log; the turn is over while an entry that names them waits for its place."""
    log, person = erasure.organization_id, erasure.person
    entries, last = logs.list_stored(log, erasure.position, _PAGE)
    named = [
        entry for entry in entries if _is_meant(erasure, entry.item.get("created_at", "")) and names(entry, person)
    ]
    ready = [entry for entry in named if not logs.is_pending(log, entry.item)]
    for start in range(0, len(ready), _AT_ONCE):
        batch = ready[start : start + _AT_ONCE]
        changes = UnitOfWork(now())
        for write in (
            w
            for entry in batch
            for w in redaction.redact_entry(log, entry.item, proven=has_valid_entry_mac(log, entry))
        ):
            changes.add_write(write)
        erasure = jobs.checkpoint(erasure, changes, erased_entries=erasure.erased_entries + len(batch))
    if len(ready) < len(named):
        jobs.release(erasure, seconds=_PAUSE_SECONDS)
    elif last:
        return jobs.checkpoint(erasure, position=last)
    elif erasure.completed_at:
        return _end(erasure)
    else:
        moment = now()
        jobs.release(
            erasure, seconds=_PAUSE_SECONDS, status="completed", completed_at=moment, step="records", position=None
        )
    return None


def _kept(erasure: Erasure, last: Item | None, **progress: Any) -> Erasure:
    """Keep an erasure that is a page further; the next step begins when there is none left."""
    return jobs.checkpoint(erasure, position=last, step=erasure.step if last else _THEN[erasure.step], **progress)


def _end(erasure: Erasure, error: str | None = None) -> Erasure:
    """End an erasure, which forgets whom it was about; with an error it keeps what it found out, for the next.

    One that is completed stays so: nobody asks any more whether it is.
    """
    return jobs.finish(
        erasure,
        status="failed" if error and not erasure.completed_at else "completed",
        error=error,
        user_ids=[],
        emails=[],
        accounts=erasure.accounts if error else [],
        position=None,
    )
