"""What comes of deliveries for good, which a task of the jobs function commits with its entry.

Functions that send have no key to authenticate entries with: they talk to anybody's servers. They store what happened,
with a job that is due at once, and the job's task makes it the organization's to see.
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
_TRIES: Final = 4


def disable(webhook: Webhook, reason: str, failing_since: str | None, tell: Callable[[UnitOfWork], object]) -> Webhook:
    """Let nothing be sent to a webhook any more, and let it be disabled; unless somebody has changed it meanwhile.

    `tell` adds what came of the attempt that was the last one. Returns the webhook as it is then.
    """
    changes = UnitOfWork(now())
    ending = changes.update_untracked(webhook, disabling=reason)
    tell(changes)
    job = changes.create(Disabling.of(webhook, failing_since, changes.now))
    try:
        changes.commit()
    except ConcurrentModification:
        item = table.get(webhook.item_key)
        return Webhook.from_item(item) if item else ending
    with best_effort("start"):
        queues.enqueue(Disabling.task, job.item_key)
    return ending


def exhaust(changes: UnitOfWork, before: Delivery, failed: Delivery) -> Exhaustion:
    """Let changes that say that a delivery has failed for good have this told as well. Returns the job that does so."""
    return changes.create(Exhaustion.of(before, failed, changes.now))


def commit_disabled(message: dict[str, Any]) -> None:
    """Disable a webhook that takes no events, and let its organization's admins know.

    One that leads elsewhere by now, or was enabled again, stays as it is. Raises ConcurrentModification if others
    keep changing it.
    """
    for attempt in range(_TRIES):
        disabling = tasks.load_record(Disabling, message)
        if disabling is None:
            return
        item = table.get(disabling.webhook_key)
        webhook = Webhook.from_item(item) if item else None
        try:
            if webhook is None or webhook.disabling is None:
                jobs.remove(disabling)
            else:
                _commit(disabling, webhook)
        except ConcurrentModification:
            backoff_seconds(attempt)
        else:
            return
    raise ConcurrentModification


def _commit(disabling: Disabling, webhook: Webhook) -> None:
    changes = UnitOfWork(now())
    waiting = None if webhook.caught_up else changes.now
    disabled = changes.update(
        webhook,
        enabled=False,
        disabled_reason=webhook.disabling,
        disabling=None,
        failing_since=disabling.failing_since,
        parked_until=waiting,
    )
    if waiting:
        changes.enqueue_after_commit(PROBE, disabled)
    if settings().mail_from:
        changes.enqueue_after_commit(DisabledNotice.task, changes.create(DisabledNotice.of(disabled, changes.now)))
    changes.delete(disabling)
    outbox.commit(changes, DISABLED, Origin.system(Disabling.task))


def commit_exhausted(message: dict[str, Any]) -> None:
    """Commit the entry that says that a delivery has failed for good; one that is gone meanwhile is told of no more.

    Raises ConcurrentModification if another worker was there first.
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
