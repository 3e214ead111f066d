"""Cleanup after a member has left a container, and mails about memberships."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from chalicelib.features.tenancy.entities.memberships import Member, RevocationMarker
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation, closing_fields
from chalicelib.features.tenancy.mails.logic import (
    AddressedEmail,
    is_established_organization,
    mail_safe_name_or_none,
    send_once,
)
from chalicelib.features.tenancy.members.entities import MembershipNotice
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity, Item
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_MAX_INDEX_LAG_SECONDS: Final = 60
"""Time after which an index is assumed to show all records."""

_MAX_NOTICE_AGE_DAYS: Final = 3
"""Age from which a notice is dropped if it was not sent: the mail service failed, or the recipient got many others."""

_EMITTED_EVENTS: Final[Mapping[str, type[Entity] | str]] = {
    "organization.invitation.revoked": Invitation,
    "platform.invitation.revoked": "platform.invitation",
    "platform.member.removed": "platform.member",
    "space.member.removed": "space.member",
}


@task(RevocationMarker.task, emits=_EMITTED_EVENTS)
def revoke_dependent_memberships(message: dict[str, Any]) -> None:
    """Remove the memberships below a container that a user left, and revoke their invitations. Each gets a log entry.

    The revocation marker denies access until then. It is removed only after the index has shown for long enough that
    nothing is left.
    """
    marker, ends_at = jobs.claim(RevocationMarker, message), jobs.slice_deadline_monotonic()
    if marker is None:
        return
    dependent_count = 0
    for record in _iter_dependent_records(marker):
        if time.monotonic() > ends_at:
            jobs.release(marker)
            return
        dependent_count += 1
        _revoke_or_remove(record)
    if dependent_count or marker.created_at > after(now(), seconds=-_MAX_INDEX_LAG_SECONDS):
        jobs.release(marker, delay_seconds=_MAX_INDEX_LAG_SECONDS)
    else:
        jobs.remove(marker)


def _iter_dependent_records(marker: RevocationMarker) -> Iterator[Entity]:
    """Yield the records that depend on the ended membership, as the index shows them."""
    for items in table.iter_item_pages(marker.dependents_index.partition(**marker.__dict__)):
        # The inviter's memberships are read after the invitations. A user who joined again has new membership ids.
        current_ids = _load_current_inviter_membership_ids(marker, items)
        for record in map(record_from_item, items):
            if isinstance(record, Invitation):
                if record.status == "pending" and record.inviter_membership_id not in current_ids:
                    yield record
            elif record.created_at <= marker.created_at:
                yield record


def _load_current_inviter_membership_ids(marker: RevocationMarker, dependent_items: Iterable[Item]) -> set[str]:
    """Return the ids of the current memberships on which the invitations among these items depend."""
    invitations = [Invitation.from_item(item) for item in dependent_items if "invited_as" in item]
    user_id = marker.user_id
    keys = {
        each.membership_type.make_item_key(**each.container_ids_by_parameter, user_id=user_id) for each in invitations
    }
    member_key = Member.make_item_key(organization_id=marker.organization_id, user_id=user_id)
    stored = table.get_all([member_key, *sorted(keys - {member_key})] if invitations else [])
    current = [
        item for item in stored.values() if item["kind"] == Member.kind or item["created_at"] > marker.created_at
    ]
    return {item["id"] for item in current}


def _revoke_or_remove(record: Entity) -> None:
    changes = UnitOfWork(now())
    if isinstance(record, Invitation):
        changes.event(record, f"{record.kind}.revoked")
        changes.update(record, **closing_fields("revoked"))
    else:
        changes.event(record, f"{record.kind}.removed")
        changes.delete(record, grants_no_access=True)
    try:
        outbox.commit(changes, Origin.system(RevocationMarker.task))
    except ConcurrentModification:
        return  # The index lags. The next run looks again.


@task(MembershipNotice.task)
def send_membership_notice(message: dict[str, Any]) -> None:
    """Tell a person by mail about a change of their membership.

    No mail is sent if the organization is deleted, or has turned these mails off since.
    """
    send_once(MembershipNotice, message, _render_notice_if_wanted)


def _render_notice_if_wanted(notice: MembershipNotice, unsubscribe_url: str | None) -> AddressedEmail | None:
    item = table.get(Organization.make_item_key(id=notice.organization_id))
    organization = Organization.from_item(item) if item else None
    is_outdated = notice.created_at < after(now(), days=-_MAX_NOTICE_AGE_DAYS)
    if organization is None or organization.is_deleted or not organization.notifications or is_outdated:
        return None
    is_established = is_established_organization(organization, now())
    email = mail.render_email(
        "features/tenancy/members/mail.jinja",
        place=organization.name if is_established else mail_safe_name_or_none(organization.name) or "an organization",
        change=notice.change,
        role=notice.role,
        former_role=notice.former_role,
        changed_at=notice.created_at,
        unsubscribe_url=unsubscribe_url,
    )
    return AddressedEmail(notice.email, email)
