"""Making deliveries once more, a lot at a time; each goes on where the one before was kept."""

import time
from collections.abc import Sequence
from typing import Any, Final

from chalicelib.features.deliveries import lots
from chalicelib.features.deliveries.entities import asked_for
from chalicelib.features.replays.entities import Replay
from chalicelib.features.webhooks.entities import Webhook, WebhookDelivery
from chalicelib.kernel.core import ids
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import best_effort
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_PAGE: Final = 100
_DELETED: Final = "The webhook was deleted."
_INACTIVE: Final = "The webhook is {}: nothing is sent to it any more."
_GIVEN_UP: Final = "It could not be finished. What it has queued is sent; start it again for the rest."


@task(Replay.task)
def replay_deliveries(message: dict[str, Any]) -> None:
    """Go through the deliveries of a time, the oldest first, and queue those anew that have a wanted status."""
    replay, ends_at = jobs.claim(Replay, message), jobs.slice_ends_at()
    while replay and replay.turn_at:
        given_up = replay.failures > jobs.MAX_FAILURES
        replay = _end(replay, _GIVEN_UP) if given_up else _advance(replay)
        if replay.turn_at and time.monotonic() > ends_at:
            jobs.release(replay)
            return


def _advance(replay: Replay) -> Replay:
    """Return the replay a page further."""
    item = table.get(Webhook.make_item_key(organization_id=replay.organization_id, id=replay.webhook_id))
    webhook = Webhook.from_item(item) if item else None
    if webhook is None or webhook.status != "active":
        return _end(replay, _INACTIVE.format(webhook.status) if webhook else _DELETED)
    pk = WebhookDelivery.pk.format(webhook_id=replay.webhook_id)
    found = table.query(pk, after=replay.position, limit=_PAGE, **ids.id_range(replay.since, replay.until))
    deliveries = [WebhookDelivery.from_item(item) for item in found.items]
    meant = [each for each in deliveries if _is_meant(replay, each) and webhook.hears(each.event_type)]
    for start in range(0, len(meant), lots.LARGEST):
        replay = _ask(replay, meant[start : start + lots.LARGEST])
    return (
        jobs.checkpoint(replay, status="running", position=found.last_evaluated_key)
        if found.last_evaluated_key
        else _end(replay)
    )


def _is_meant(replay: Replay, delivery: WebhookDelivery) -> bool:
    return delivery.status in replay.wanted and not delivery.expired


def _ask(replay: Replay, lot: Sequence[WebhookDelivery]) -> Replay:
    """Ask for a lot once more, but for what changed meanwhile. Raises what `jobs.keep` raises."""
    position = {"pk": lot[-1].item_key[0], "sk": lot[-1].item_key[1]}
    try:
        return _asked(replay, lot, position)
    except ConcurrentModification:
        items = table.get_all(delivery.item_key for delivery in lot)
        versions = {key: item["version"] for key, item in items.items()}
        unchanged = [delivery for delivery in lot if versions.get(delivery.item_key) == delivery.version]
        return _asked(replay, unchanged, position)


def _asked(replay: Replay, lot: Sequence[WebhookDelivery], position: Item) -> Replay:
    changes = UnitOfWork(now())
    asked = [changes.update(delivery, **asked_for(changes.now)) for delivery in lot]
    kept = jobs.checkpoint(replay, changes, status="running", position=position, done=replay.done + len(lot))
    with best_effort("replay"):
        lots.queue([(lots.subscriber_key(delivery), asked) for delivery in asked[:1]])
    return kept


def _end(replay: Replay, error: str | None = None) -> Replay:
    status = "failed" if error else "completed"
    return jobs.finish(replay, status=status, error=error, requeued=replay.done, position=None)
