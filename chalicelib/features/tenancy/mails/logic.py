"""Sending the mails of jobs: once, within the limits of the recipient, and not to suppressed addresses."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from chalicelib.features.tenancy.email_suppressions.entities import EmailSuppression
from chalicelib.features.tenancy.email_suppressions.logic import build_unsubscribe_url
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.mails.entities import MailJob
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.rate_limits.buckets import RateLimit, RateLimitBucket, RateLimitState
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

M = TypeVar("M", bound=MailJob)

_RECIPIENT_MAIL_LIMITS: Final = (
    RateLimit("mails-an-hour", limit=5, seconds=3600, per="recipient"),
    RateLimit("mails-a-day", limit=20, seconds=86_400, per="recipient"),
)
"""How many mails an address receives from all organizations together."""

_NEW_ORGANIZATION_DAYS: Final = 1
"""Time for which an organization counts as new, unless somebody accepts one of its invitations."""

_MAX_PLAIN_NAME_CHARACTERS: Final = 60
_LINK_PATTERN: Final = re.compile(r"://|@|www[.\u3002\uff0e\uff61]|\w[.\u3002\uff0e\uff61][^\W\d_]{2}", re.IGNORECASE)


class _RecipientLimitReached(Exception):
    """The recipient has received so many mails that this one has to wait."""


@dataclass(frozen=True)
class AddressedEmail:
    """A mail and the address of its recipient."""

    recipient: str
    email: mail.Email


def send_once(kind: type[M], message: dict[str, Any], render: Callable[[M, str | None], AddressedEmail | None]) -> None:
    """Send the mail of a job once, however often its queue message is delivered.

    `render` returns the mail of a job with an unsubscribe link, or None if it should not be sent any more. A recipient
    who has unsubscribed gets none, and one who has received too many mails gets it later. The task retries until SES
    accepts or permanently rejects the mail. If the worker dies after SES accepted the mail and before that is stored,
    the mail is sent twice.
    """
    job = jobs.claim(kind, message)
    if job is None:
        return
    unsubscribe_url = build_unsubscribe_url(job.recipient_hash) if job.recipient_hash else None
    try:
        addressed = render(job, unsubscribe_url)
        states = _limit_states_or_none_if_suppressed(job) if addressed else None
        if addressed and states is not None:
            job = _count(job, states) if states else job
            mail.send_email(
                addressed.recipient, addressed.email, attempts=job.attempts, unsubscribe_url=unsubscribe_url
            )
    except mail.EmailRejected as rejected:
        add_fields(mail=f"given up: {rejected}")
    except (Problem, _RecipientLimitReached):
        jobs.release_with_growing_delay(job)
        return
    jobs.remove(job)


def recipient_mail_buckets(recipient_hash: str) -> list[RateLimitBucket]:
    """Return the rate limit buckets that count the mails to the address with a keyed hash."""
    return [rate_limit.bucket_for(recipient_hash) for rate_limit in _RECIPIENT_MAIL_LIMITS]


def recipient_item_keys(recipient_hash: str) -> list[ItemKey]:
    """Return the keys of the items that decide whether the address with a keyed hash may receive a mail."""
    buckets = recipient_mail_buckets(recipient_hash)
    return [EmailSuppression.make_item_key(address_hash=recipient_hash), *(bucket.key for bucket in buckets)]


def mail_limit_states_or_none_if_withheld(
    recipient_hash: str, items: Mapping[ItemKey, Item], timestamp: str
) -> list[RateLimitState] | None:
    """Return the states of the limits that a mail counts towards, or None if the address may receive none now.

    `items`: those at `recipient_item_keys`. A suppressed address receives no mail.
    """
    if EmailSuppression.make_item_key(address_hash=recipient_hash) in items:
        return None
    buckets = recipient_mail_buckets(recipient_hash)
    try:
        return [bucket.state_or_raise_if_exhausted(items.get(bucket.key), timestamp) for bucket in buckets]
    except Problem:
        return None


def is_established_organization(organization: Organization, timestamp: str) -> bool:
    """Return whether mails may contain text by members. Anybody can create an organization, so new ones may not."""
    return (
        bool(organization.invitation_accepted_at)
        or after(organization.created_at, days=_NEW_ORGANIZATION_DAYS) <= timestamp
    )


def mail_safe_name_or_none(name: str | None) -> str | None:
    """Return a name, or None if it is as long as a message or if a mail program could show a part of it as a link."""
    return name if name and len(name) <= _MAX_PLAIN_NAME_CHARACTERS and not _LINK_PATTERN.search(name) else None


def _limit_states_or_none_if_suppressed(job: MailJob) -> list[RateLimitState] | None:
    """Return the states of the limits that the mail still has to count towards, or None if it must not be sent.

    Raises _RecipientLimitReached.
    """
    if job.recipient_hash is None:
        return []
    suppression_key = EmailSuppression.make_item_key(address_hash=job.recipient_hash)
    if job.is_counted:
        return None if table.get(suppression_key) else []
    items = table.get_all(recipient_item_keys(job.recipient_hash))
    states = mail_limit_states_or_none_if_withheld(job.recipient_hash, items, now())
    if states is None and suppression_key not in items:
        add_fields(mail="postponed: the recipient has received too many mails")
        raise _RecipientLimitReached
    return states


def _count(job: M, states: Sequence[RateLimitState]) -> M:
    """Count a mail towards limits. Raises ConcurrentModification if another mail was counted meanwhile."""
    changes = UnitOfWork(now())
    for state in states:
        changes.add_write(state.count_request_write())
    return jobs.save_progress_and_extend_lease(job, changes, is_counted=True)
