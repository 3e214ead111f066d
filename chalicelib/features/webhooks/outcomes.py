"""Final outcomes of deliveries, which a task of the jobs function commits together with a log entry.

The functions that send requests to third-party servers have no key to authenticate log entries. They store what
happened together with a job that is due at once, and the task of that job writes the log entry.
"""

from collections.abc import Callable
from typing import Any, Final

from chalicelib.features.deliveries.entities import Delivery
from chalicelib.features.webhooks.entities import (
    PROBE,
    DisabledNotice,
    Disabling,
    Exhaustion,
    Webhook,
    WebhookDelivery,
)
from chalicelib.kernel.core.clock import backoff_seconds, now
from chalicelib.kernel.core.logs import best_effort
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, queues, tasks
from chalicelib.kernel.work.outbox import Origin

DISABLED: Final = "organization.webhook.disabled"
EXHAUSTED: Final = "organization.webhook.delivery_exhausted"
_MAX_ATTEMPTS: Final = 4


def disable(webhook: Webhook, reason: str, failing_since: str | None, tell: Callable[[UnitOfWork], object]) -> Webhook:
    """Stop all deliveries to a webhook and queue the job that disables it, unless the webhook changed meanwhile.

    `record_last_attempt` adds the last attempt to the unit of work. Returns the webhook as stored.
    """
    changes = UnitOfWork(now())
    changed = changes.update_untracked(webhook, disabling=reason)
    tell(changes)
    job = changes.create(Disabling.of(webhook, failing_since, changes.now))
    try:
        changes.commit()
    except ConcurrentModification:
        item = table.get(webhook.item_key)
        return Webhook.from_item(item) if item else changed
    with best_effort("start"):
        queues.enqueue(Disabling.task, job.item_key)
    return changed


def exhaust(changes: UnitOfWork, before: Delivery, failed: Delivery) -> Exhaustion:
    """Add the job that records a failed delivery in the log, and return it."""
    return changes.create(Exhaustion.of(before, failed, changes.now))


def commit_disabled(message: dict[str, Any]) -> None:
    """Disable a webhook that accepts no events, and notify the organization's admins.

    A webhook that was enabled again, or has another URL by now, stays as it is. Raises ConcurrentModification.
    """
    for attempt in range(_MAX_ATTEMPTS):
        disabling = tasks.load_record(Disabling, message)
        if disabling is None:
            return
        item = table.get(disabling.webhook_key)
        webhook = Webhook.from_item(item) if item else None
        try:
            if webhook is None or webhook.disabling is None:
                jobs.remove(disabling)
            else:
                _commit_disable(disabling, webhook)
        except ConcurrentModification:
            backoff_seconds(attempt)
        else:
            return
    raise ConcurrentModification


def _commit_disable(disabling: Disabling, webhook: Webhook) -> None:
    changes = UnitOfWork(now())
    probe_at = None if webhook.caught_up else changes.now
    disabled = changes.update(
        webhook,
        enabled=False,
        disabled_reason=webhook.disabling,
        disabling=None,
        failing_since=disabling.failing_since,
        parked_until=probe_at,
    )
    if probe_at:
        changes.enqueue_after_commit(PROBE, disabled)
    if settings().mail_from:
        changes.enqueue_after_commit(DisabledNotice.task, changes.create(DisabledNotice.of(disabled, changes.now)))
    changes.delete(disabling)
    outbox.commit(changes, DISABLED, Origin.system(Disabling.task))


def commit_exhausted(message: dict[str, Any]) -> None:
    """Commit the log entry for a failed delivery; without the delivery there is nothing to record.

    Raises ConcurrentModification if another worker committed first.
    """
    exhaustion = tasks.load_record(Exhaustion, message)
    if exhaustion is None:
        return
    item = table.get(exhaustion.delivery_key)
    if item is None:
        jobs.remove(exhaustion)
        return
    before, failed = exhaustion.told(WebhookDelivery.from_item(item))
    changes = UnitOfWork(now())
    changes.set_event_subject(failed)
    changes.set_diff_base(before)
    changes.delete(exhaustion)
    outbox.commit(changes, EXHAUSTED, Origin.system(Exhaustion.task))
