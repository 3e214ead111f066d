"""Emails to the admins of an organization about a recipient of events that the service disabled."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from chalicelib.features.notifications.entities import AdminNotice, RecipientWithSecrets
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

N = TypeVar("N", bound=AdminNotice)
R = TypeVar("R", bound=RecipientWithSecrets)


def create_if_mail_is_sent(changes: UnitOfWork, notice: AdminNotice) -> None:
    """Create a notice together with `changes`, if the stage sends emails."""
    if settings().mail_from:
        jobs.create_and_enqueue_after_commit(changes, notice)


def send_to_admins(
    message: dict[str, Any],
    notice_type: type[N],
    recipient_type: type[R],
    render: Callable[[N, R, Organization], mail.Email],
) -> None:
    """Send the notice in a message to the admins of its organization who have a verified address.

    Nothing is sent if the recipient or the organization is deleted, or if the recipient is enabled again. If the worker
    dies between sending an email and storing that, the email is sent twice.
    """
    notice = jobs.claim(notice_type, message)
    if notice is None:
        return
    if loaded := _load_disabled_recipient_or_none(notice, recipient_type):
        email = render(notice, *loaded)
        for admin in _iter_admins_to_notify(notice):
            try:
                _send_notice_email(admin, email, notice.attempts)
            except Problem:
                jobs.release_with_growing_delay(notice)
                return
            notice = jobs.save_progress_and_extend_lease(notice, last_notified_id=admin.id)
    jobs.remove(notice)


def _load_disabled_recipient_or_none(notice: AdminNotice, recipient_type: type[R]) -> tuple[R, Organization] | None:
    recipient_key, organization_key = notice.recipient_key, Organization.make_item_key(id=notice.organization_id)
    items = table.get_all([recipient_key, organization_key])
    if recipient_key not in items or organization_key not in items:
        return None
    recipient = recipient_type.from_item(items[recipient_key])
    return None if recipient.disabled_reason is None else (recipient, Organization.from_item(items[organization_key]))


def _iter_admins_to_notify(notice: AdminNotice) -> Iterator[Member]:
    """Yield the organization's admins and owner who were not notified yet."""
    members = Member.in_organization.partition(organization_id=notice.organization_id)
    for items in table.iter_item_pages(members, since=notice.last_notified_id):
        # The index lags, so the current items decide who is an admin.
        for member in map(Member.from_item, table.read_current(items)):
            if member.id != notice.last_notified_id and Role(member.role).includes(Role.ADMIN):
                yield member


def _send_notice_email(admin: Member, email: mail.Email, attempts: int) -> None:
    """Send the email to the admin's verified address. An unverified one may be a stranger's."""
    if recipient := admin.verified_email_or_none:
        try:
            mail.send_email(recipient, email, attempts=attempts)
        except mail.EmailRejected as rejected:
            add_fields(mail=f"given up: {rejected}")
