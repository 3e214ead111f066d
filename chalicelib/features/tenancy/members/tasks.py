"""What a member's departure leaves to be done."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from chalicelib.features.tenancy.entities.memberships import Departure, Member
from chalicelib.features.tenancy.invitations.entities import Invitation, ended
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity, Item
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_LONGEST_LAG_SECONDS: Final = 60
"""After so long an index has shown all there is."""

_EMITS: Final[Mapping[str, type[Entity] | str]] = {
    "organization.invitation.revoked": Invitation,
    "platform.invitation.revoked": "platform.invitation",
    "platform.member.removed": "platform.member",
    "space.member.removed": "space.member",
}


@task(Departure.task, emits=_EMITS)
def end_what_stood_on_it(message: dict[str, Any]) -> None:
    """Remove what somebody was below a place that they left, and revoke what they had invited, each with its entry.

    The departure keeps them out until then, so it goes only once the index has shown for long enough that all is gone.
    """
    departure, ends_at = jobs.claim(Departure, message), jobs.slice_ends_at()
    if departure is None:
        return
    left = 0
    for record in _ending(departure):
        if time.monotonic() > ends_at:
            jobs.release(departure)
            return
        left += 1
        _end(record)
    if left or departure.created_at > after(now(), seconds=-_LONGEST_LAG_SECONDS):
        jobs.release(departure, seconds=_LONGEST_LAG_SECONDS)
    else:
        jobs.remove(departure)


def _ending(departure: Departure) -> Iterator[Entity]:
    """Yield what ends with a departure, as an index shows it."""
    for items in table.iter_pages(departure.below.partition(**departure.__dict__)):
        # Who invited is read after what they invited: whoever has come back since has memberships with other ids.
        present = _present(departure, items)
        for record in map(record_from_item, items):
            if isinstance(record, Invitation):
                if record.status == "pending" and record.invited_as not in present:
                    yield record
            elif record.created_at <= departure.created_at:
                yield record


def _present(departure: Departure, items: Iterable[Item]) -> set[str]:
    """Return the ids of the current memberships that vouch for invitations among these items."""
    invitations = [Invitation.from_item(item) for item in items if "invited_as" in item]
    user_id = departure.user_id
    keys = {each.membership_type.make_item_key(**each.container_ids, user_id=user_id) for each in invitations}
    member_key = Member.make_item_key(organization_id=departure.organization_id, user_id=user_id)
    found = table.get_all([member_key, *sorted(keys - {member_key})] if invitations else [])
    lasting = [
        item for item in found.values() if item["kind"] == Member.kind or item["created_at"] > departure.created_at
    ]
    return {item["id"] for item in lasting}


def _end(record: Entity) -> None:
    changes = UnitOfWork(now())
    if isinstance(record, Invitation):
        event = f"{record.kind}.revoked"
        changes.update(record, **ended("revoked"))
    else:
        event = f"{record.kind}.removed"
        changes.delete(record, ended=True)
    try:
        outbox.commit(changes, event, Origin.system(Departure.task))
    except ConcurrentModification:
        return  # The index is late: it looks again.
