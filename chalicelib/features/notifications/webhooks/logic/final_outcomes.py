"""Disabled webhooks and failed deliveries, which tasks of the jobs function commit together with a log entry.

The functions that send requests to third-party servers have no key to authenticate log entries. They store the outcome
together with a job that is due at once, and the task of that job writes the log entry.
"""

from collections.abc import Callable
from typing import Any, Final

from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic import admin_notices
from chalicelib.features.notifications.webhooks.entities import (
    PROBE_TASK,
    DisabledNotice,
    DisableJob,
    ExhaustionJob,
    Webhook,
    WebhookDelivery,
)
from chalicelib.kernel.core.clock import now, sleep_with_jittered_backoff
from chalicelib.kernel.core.logs import log_and_ignore_aws_errors
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, queues, tasks
from chalicelib.kernel.work.outbox import Origin

DISABLED_EVENT: Final = "organization.webhook.disabled"
EXHAUSTED_EVENT: Final = "organization.webhook.delivery_exhausted"
_MAX_ATTEMPTS: Final = 4


def stop_deliveries_and_queue_disabling(
    webhook: Webhook, reason: str, failing_since: str | None, record_last_attempt: Callable[[UnitOfWork], object]
) -> Webhook:
    """Stop all deliveries to a webhook and queue the job that disables it, unless the webhook changed meanwhile.

    `record_last_attempt` adds the last attempt to the unit of work. Returns the webhook as stored.
    """
    changes = UnitOfWork(now())
    changed = changes.update_untracked(webhook, **webhook.circuit.disabling(reason).to_fields())
    record_last_attempt(changes)
    job = changes.create(DisableJob.create(webhook, failing_since, changes.now))
    try:
        changes.commit()
    except ConcurrentModification:
        item = table.get(webhook.item_key)
        return Webhook.from_item(item) if item else changed
    with log_and_ignore_aws_errors("start"):
        queues.enqueue(DisableJob.task, job.item_key)
    return changed


def add_exhaustion_job(changes: UnitOfWork, delivery_before: Delivery, failed_delivery: Delivery) -> ExhaustionJob:
    """Add the job that records a failed delivery in the log, and return it."""
    return changes.create(ExhaustionJob.create(delivery_before, failed_delivery, changes.now))


def commit_disabling_if_still_pending(message: dict[str, Any]) -> None:
    """Disable a webhook that accepts no events, and notify the organization's admins.

    A webhook that was enabled again, or has another URL by now, stays as it is. Raises ConcurrentModification.
    """
    for attempt in range(_MAX_ATTEMPTS):
        job = tasks.load_record_or_none(DisableJob, message)
        if job is None:
            return
        item = table.get(job.webhook_key)
        webhook = Webhook.from_item(item) if item else None
        try:
            if webhook is None or not webhook.circuit.is_being_disabled:
                jobs.remove(job)
            else:
                _disable_webhook_and_delete_job(job, webhook)
        except ConcurrentModification:
            sleep_with_jittered_backoff(attempt)
        else:
            return
    raise ConcurrentModification


def _disable_webhook_and_delete_job(job: DisableJob, webhook: Webhook) -> None:
    changes = UnitOfWork(now())
    circuit = webhook.circuit.disabled(job.failing_since, changes.now)
    disabled = changes.update(
        webhook, enabled=False, disabled_reason=webhook.pending_disable_reason, **circuit.to_fields()
    )
    if not circuit.is_closed:
        changes.enqueue_after_commit(PROBE_TASK, disabled)
    admin_notices.create_if_mail_is_sent(changes, DisabledNotice.create(disabled, changes.now))
    changes.delete(job)
    changes.event(disabled)
    outbox.commit(changes, Origin.system(DisableJob.task))


def commit_exhaustion_entry(message: dict[str, Any]) -> None:
    """Commit the log entry for a failed delivery, unless the delivery is deleted.

    Raises ConcurrentModification if another worker committed first.
    """
    job = tasks.load_record_or_none(ExhaustionJob, message)
    if job is None:
        return
    item = table.get(job.delivery_key)
    if item is None:
        jobs.remove(job)
        return
    before, failed = job.deliveries_around_failure(WebhookDelivery.from_item(item))
    changes = UnitOfWork(now())
    changes.event(failed, before=before)
    changes.delete(job)
    outbox.commit(changes, Origin.system(ExhaustionJob.task))
