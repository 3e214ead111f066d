"""Queueing a delivery whose time has come, or whose message was lost."""

from typing import Any

from chalicelib.features.deliveries import lots
from chalicelib.features.deliveries.entities import QUEUE
from chalicelib.features.deliveries.sending import delivery_at, is_due
from chalicelib.kernel.tasks import task


@task(QUEUE)
def queue_delivery(message: dict[str, Any]) -> None:
    """Queue a delivery that is due behind what else waits for its subscriber."""
    delivery = delivery_at((message["pk"], message["sk"]))
    if delivery and is_due(delivery):
        lots.queue([(lots.subscriber_key(delivery), [delivery])])
