"""The task that replays deliveries in batches, and resumes after the last stored batch."""

import time
from collections.abc import Sequence
from typing import Any, Final

from chalicelib.features.notifications.entities import requeue_fields
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.replays.entities import Replay
from chalicelib.features.notifications.webhooks.entities import Webhook, WebhookDelivery
from chalicelib.kernel.core import ids
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import log_and_ignore_aws_errors
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_PAGE_SIZE: Final = 100
_DELETED_ERROR: Final = "The webhook was deleted."
_INACTIVE_ERROR: Final = "The webhook is {}: nothing is sent to it any more."
_GIVEN_UP_ERROR: Final = "It could not be finished. What it has queued is sent; start it again for the rest."


@task(Replay.task)
def replay_deliveries(message: dict[str, Any]) -> None:
    """Queue the deliveries of a time range that have a selected status again, oldest first."""
    replay, ends_at = jobs.claim(Replay, message), jobs.slice_deadline_monotonic()
    while replay and replay.lease_until:
        has_failed = replay.failures > jobs.MAX_FAILURES
        replay = _end_replay(replay, _GIVEN_UP_ERROR) if has_failed else _process_next_page(replay)
        if replay.lease_until and time.monotonic() > ends_at:
            jobs.release(replay)
            return


def _process_next_page(replay: Replay) -> Replay:
    """Process one page of deliveries and return the updated replay."""
    item = table.get(Webhook.make_item_key(organization_id=replay.organization_id, id=replay.webhook_id))
    webhook = Webhook.from_item(item) if item else None
    if webhook is None or webhook.status != "active":
        return _end_replay(replay, _INACTIVE_ERROR.format(webhook.status) if webhook else _DELETED_ERROR)
    pk = WebhookDelivery.pk.format(webhook_id=replay.webhook_id)
    result = table.query(
        pk, after=replay.position, limit=_PAGE_SIZE, **ids.id_range_query_arguments(replay.since, replay.until)
    )
    deliveries = [WebhookDelivery.from_item(item) for item in result.items]
    selected = [
        delivery
        for delivery in deliveries
        if _is_unexpired_with_selected_status(replay, delivery)
        and webhook.has_scope_for_event_type(delivery.event_type)
    ]
    for start in range(0, len(selected), batches.MAX_BATCH_SIZE):
        replay = _requeue_unchanged_and_update_replay(replay, selected[start : start + batches.MAX_BATCH_SIZE])
    return (
        jobs.save_progress_and_extend_lease(replay, status="running", position=result.last_evaluated_key)
        if result.last_evaluated_key
        else _end_replay(replay)
    )


def _is_unexpired_with_selected_status(replay: Replay, delivery: WebhookDelivery) -> bool:
    return delivery.status in replay.selected_statuses and not delivery.is_expired


def _requeue_unchanged_and_update_replay(replay: Replay, batch: Sequence[WebhookDelivery]) -> Replay:
    """Queue a batch again, except for deliveries that changed meanwhile.

    Raises as `jobs.save_progress_and_extend_lease` does.
    """
    position = {"pk": batch[-1].item_key[0], "sk": batch[-1].item_key[1]}
    try:
        return _requeue_batch_and_save_position(replay, batch, position)
    except ConcurrentModification:
        items = table.get_all(delivery.item_key for delivery in batch)
        versions = {key: item["version"] for key, item in items.items()}
        unchanged = [delivery for delivery in batch if versions.get(delivery.item_key) == delivery.version]
        return _requeue_batch_and_save_position(replay, unchanged, position)


def _requeue_batch_and_save_position(replay: Replay, batch: Sequence[WebhookDelivery], position: Item) -> Replay:
    changes = UnitOfWork(now())
    requeued = [changes.update(delivery, **requeue_fields(changes.now)) for delivery in batch]
    stored = jobs.save_progress_and_extend_lease(
        replay, changes, status="running", position=position, done=replay.done + len(batch)
    )
    with log_and_ignore_aws_errors("replay"):
        batches.queue_delivery_batches([(batches.subscriber_key(delivery), requeued) for delivery in requeued[:1]])
    return stored


def _end_replay(replay: Replay, error: str | None = None) -> Replay:
    status = "failed" if error else "completed"
    return jobs.finish(replay, status=status, error=error, requeued=replay.done, position=None)
