"""The task that replays deliveries in batches, and resumes after the last stored batch."""

import time
from collections.abc import Sequence
from typing import Any, Final

from chalicelib.features.notifications.entities import requeue_fields
from chalicelib.features.notifications.logic import batches, delivery_attempts
from chalicelib.features.notifications.replays.entities import Replay
from chalicelib.features.notifications.webhooks.entities import Webhook, WebhookDelivery
from chalicelib.features.notifications.webhooks.logic.backlog import probe_or_send_backlog_now
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
    """Queue the deliveries of a time range that have a selected status again, oldest first.

    Pending deliveries, and all those to a webhook that does not respond, join the webhook's backlog. It is sent in the
    order of the log once they are complete and the webhook responds.
    """
    replay, ends_at = jobs.claim(Replay, message), jobs.slice_deadline_monotonic()
    while replay and replay.lease_until:
        webhook = _load_webhook_or_none(replay)
        if replay.failures > jobs.MAX_FAILURES:
            replay = _end_replay(replay, webhook, _GIVEN_UP_ERROR)
        elif webhook is None or webhook.status != "active":
            error = _INACTIVE_ERROR.format(webhook.status) if webhook else _DELETED_ERROR
            replay = _end_replay(replay, webhook, error)
        else:
            replay = _process_next_page(replay, webhook)
        if replay.lease_until and time.monotonic() > ends_at:
            jobs.release(replay)
            return


def _process_next_page(replay: Replay, webhook: Webhook) -> Replay:
    """Process one page of deliveries and return the updated replay."""
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
        batch = selected[start : start + batches.MAX_BATCH_SIZE]
        replay = _requeue_unchanged_and_update_replay(replay, webhook, batch)
    return (
        jobs.save_progress_and_extend_lease(replay, status="running", position=result.last_evaluated_key)
        if result.last_evaluated_key
        else _end_replay(replay, webhook)
    )


def _load_webhook_or_none(replay: Replay) -> Webhook | None:
    item = table.get(Webhook.make_item_key(organization_id=replay.organization_id, id=replay.webhook_id))
    return Webhook.from_item(item) if item else None


def _is_unexpired_with_selected_status(replay: Replay, delivery: WebhookDelivery) -> bool:
    return delivery.status in replay.selected_statuses and not delivery.is_expired


def _requeue_unchanged_and_update_replay(replay: Replay, webhook: Webhook, batch: Sequence[WebhookDelivery]) -> Replay:
    """Queue a batch again, except for deliveries that changed meanwhile.

    Raises as `jobs.save_progress_and_extend_lease` does.
    """
    position = {"pk": batch[-1].item_key[0], "sk": batch[-1].item_key[1]}
    try:
        return _requeue_batch_and_save_position(replay, webhook, batch, position)
    except ConcurrentModification:
        items = table.get_all(delivery.item_key for delivery in batch)
        versions = {key: item["version"] for key, item in items.items()}
        unchanged = [delivery for delivery in batch if versions.get(delivery.item_key) == delivery.version]
        return _requeue_batch_and_save_position(replay, webhook, unchanged, position)


def _requeue_batch_and_save_position(
    replay: Replay, webhook: Webhook, batch: Sequence[WebhookDelivery], position: Item
) -> Replay:
    changes = UnitOfWork(now())
    # Pending deliveries always wait for all of them, although an earlier backlog may have been drained meanwhile.
    defers = replay.delivery_status == "pending" or not webhook.circuit.is_closed
    if defers:
        requeued = [_defer(changes, webhook, delivery) for delivery in batch]
    else:
        requeued = [_requeue_unless_due(changes, delivery) for delivery in batch]
    stored = jobs.save_progress_and_extend_lease(
        replay,
        changes,
        status="running",
        position=position,
        done=replay.done + len(batch),
        has_deferred=replay.has_deferred or defers,
    )
    if not defers:
        with log_and_ignore_aws_errors("replay"):
            batches.queue_delivery_batches([(webhook.item_key, requeued)] if requeued else [])
    return stored


def _requeue_unless_due(changes: UnitOfWork, delivery: WebhookDelivery, **fields: Any) -> WebhookDelivery:
    """Return a delivery that is attempted now, with some fields.

    One that is due keeps its version, because another worker may be about to store an attempt of it.
    """
    if delivery_attempts.is_delivery_due(delivery):
        return changes.update_untracked(delivery, **fields)
    return changes.update(delivery, **requeue_fields(changes.now) | fields)


def _defer(changes: UnitOfWork, webhook: Webhook, delivery: WebhookDelivery) -> WebhookDelivery:
    """Return a delivery that is attempted as soon as the webhook responds."""
    delivery_attempts.add_deferral(changes, webhook, delivery)
    return _requeue_unless_due(changes, delivery, **delivery_attempts.deferral_fields(changes.now))


def _end_replay(replay: Replay, webhook: Webhook | None, error: str | None = None) -> Replay:
    if webhook and (replay.has_deferred or not webhook.circuit.is_closed):
        probe_or_send_backlog_now(webhook)  # First, so that it is repeated if the worker dies.
    status = "failed" if error else "completed"
    return jobs.finish(replay, status=status, error=error, requeued=replay.done, position=None)
