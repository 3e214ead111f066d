"""Tasks that queue due or lost deliveries, and delete those of deleted subscribers."""

import time
from typing import Any, Final

from chalicelib.features.notifications.entities import QUEUE_TASK, SubscriberCleanup
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.logic.delivery_attempts import is_delivery_due, load_delivery_or_none
from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import head_key, log_size_in_head_item
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_FAN_OUT_WAIT_SECONDS: Final = 60
"""Pause until the job checks again whether the fan-out has passed the last entry."""


@task(QUEUE_TASK)
def queue_delivery_if_due(message: dict[str, Any]) -> None:
    """Queue a due delivery after the messages that are queued for its subscriber."""
    delivery = load_delivery_or_none((message["pk"], message["sk"]))
    if delivery and is_delivery_due(delivery):
        batches.queue_delivery_batches([(batches.subscriber_key(delivery), [delivery])])


@task(SubscriberCleanup.task)
def delete_subscriber_deliveries(message: dict[str, Any]) -> None:
    """Delete the deliveries of a deleted subscriber, until the fan-out creates no more of them.

    If the fan-out stays blocked for long, deliveries that it creates later remain until they expire.
    """
    job, ends_at = jobs.claim(SubscriberCleanup, message), jobs.slice_deadline_monotonic()
    if job is None:
        return
    is_finished = job.failures > jobs.MAX_FAILURES
    if not is_finished:
        job = job if job.last_sequence else _append_pending_entries_and_store_log_size(job)
        is_finished = ConsumerOffset.from_head_item(table.get(head_key(job.organization_id))).sequence >= (
            job.last_sequence or 0
        )
    while table.delete_batch(job.partition):
        if time.monotonic() > ends_at:
            jobs.release(job)
            return
    if is_finished:
        jobs.remove(job)
    else:
        jobs.release(job, delay_seconds=_FAN_OUT_WAIT_SECONDS)


def _append_pending_entries_and_store_log_size(job: SubscriberCleanup) -> SubscriberCleanup:
    """Return the job with the size of the log, once the log contains the entry of the deletion."""
    ledger.append_pending_and_return_longest_wait_ms(job.organization_id)
    head = table.get(head_key(job.organization_id))
    return jobs.save_progress_and_extend_lease(job, last_sequence=log_size_in_head_item(head))
