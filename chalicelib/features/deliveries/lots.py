"""Batches: deliveries to one subscriber in one queue message, in the order in which they are sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from chalicelib.features.deliveries.entities import QUEUE, Delivery, Subscriber
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.record_types import all_record_types
from chalicelib.kernel.work import queues

LARGEST: Final = 25
"""Maximum deliveries in a message, because each may take as long as the endpoint's time-out."""

Message = dict[str, Any]


def queue(lots: Iterable[tuple[ItemKey, Sequence[Delivery]]], requests: Mapping[str, str] | None = None) -> None:
    """Queue deliveries in batches, by the key of their subscriber. Raises Problem `unavailable`.

    `request_ids` maps event ids to request ids; without it, the messages carry the ids of the current request or task.
    """
    messages = [
        (batch[0].subscriber_id, message(subscriber, batch) | _request_ids_field(batch, requests))
        for subscriber, deliveries in lots
        for batch in (deliveries[start : start + LARGEST] for start in range(0, len(deliveries), LARGEST))
    ]
    queues.enqueue_deliveries(messages)


def requests_of(deliveries: Sequence[Delivery], requests: Mapping[str, str]) -> list[str]:
    """Return the distinct ids of the requests that caused the deliveries' events."""
    return [*dict.fromkeys(requests[delivery.id] for delivery in deliveries if delivery.id in requests)]


def _request_ids_field(batch: Sequence[Delivery], requests: Mapping[str, str] | None) -> Message:
    return {} if requests is None else {"requestIds": requests_of(batch, requests)}


def queue_later(delivery: Delivery) -> None:
    """Queue a delivery at the time of its next attempt, if there is one."""
    if delivery.next_attempt_at:
        queues.enqueue_at(QUEUE, delivery.item_key, delivery.next_attempt_at)


def message(subscriber: ItemKey, deliveries: Sequence[Delivery]) -> Message:
    """Return the queue message of a batch."""
    subscriber_type = kind_of(type(deliveries[0]))
    pk, sk = subscriber
    return {
        "task": subscriber_type.task,
        "pk": pk,
        "sk": sk,
        "subscriber": deliveries[0].subscriber_id,
        "ids": [delivery.id for delivery in deliveries],
    }


def subscriber_key(delivery: Delivery) -> ItemKey:
    """Return the item key of a delivery's subscriber."""
    return kind_of(type(delivery)).make_item_key(organization_id=delivery.organization_id, id=delivery.subscriber_id)


def kind_of(delivery: type[Delivery]) -> type[Subscriber]:
    """Return the subscriber type of a delivery type."""
    return next(kind for kind in all_record_types() if issubclass(kind, Subscriber) and kind.delivery is delivery)
