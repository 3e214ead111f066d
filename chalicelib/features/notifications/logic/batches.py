"""Batches: deliveries to one subscriber in one queue message, in the order in which they are sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from chalicelib.features.notifications.entities import QUEUE_TASK, Delivery, Subscriber
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.record_types import all_record_types
from chalicelib.kernel.work import queues

MAX_BATCH_SIZE: Final = 25
"""Maximum deliveries in a message, because each may take as long as the endpoint's time-out."""

QueueMessage = dict[str, Any]


def queue_delivery_batches(
    deliveries_by_subscriber: Iterable[tuple[ItemKey, Sequence[Delivery]]],
    request_ids_by_event: Mapping[str, str] | None = None,
) -> None:
    """Queue the deliveries of each subscriber, given by its item key, in batches. Raises Problem `unavailable`.

    `request_ids_by_event` maps event ids to request ids. Without it, the messages carry the ids of the current request
    or task.
    """
    messages = [
        (
            batch[0].subscriber_id,
            build_queue_message(subscriber, batch) | _request_ids_field(batch, request_ids_by_event),
        )
        for subscriber, deliveries in deliveries_by_subscriber
        for batch in (deliveries[start : start + MAX_BATCH_SIZE] for start in range(0, len(deliveries), MAX_BATCH_SIZE))
    ]
    queues.enqueue_deliveries(messages)


def list_request_ids(deliveries: Sequence[Delivery], request_ids_by_event: Mapping[str, str]) -> list[str]:
    """Return the distinct ids of the requests that caused the deliveries' events."""
    return [
        *dict.fromkeys(
            request_ids_by_event[delivery.id] for delivery in deliveries if delivery.id in request_ids_by_event
        )
    ]


def _request_ids_field(batch: Sequence[Delivery], request_ids_by_event: Mapping[str, str] | None) -> QueueMessage:
    return {} if request_ids_by_event is None else {"requestIds": list_request_ids(batch, request_ids_by_event)}


def queue_delivery_at_next_attempt(delivery: Delivery) -> None:
    """Queue a delivery at the time of its next attempt, if there is one."""
    if delivery.next_attempt_at:
        queues.enqueue_at_if_soon(QUEUE_TASK, delivery.item_key, delivery.next_attempt_at)


def build_queue_message(subscriber_item_key: ItemKey, deliveries: Sequence[Delivery]) -> QueueMessage:
    """Return the queue message of a batch."""
    subscriber_type = find_subscriber_type(type(deliveries[0]))
    pk, sk = subscriber_item_key
    return {
        "task": subscriber_type.send_task,
        "pk": pk,
        "sk": sk,
        "subscriber": deliveries[0].subscriber_id,
        "ids": [delivery.id for delivery in deliveries],
    }


def subscriber_key(delivery: Delivery) -> ItemKey:
    """Return the item key of a delivery's subscriber."""
    return find_subscriber_type(type(delivery)).make_item_key(
        organization_id=delivery.organization_id, id=delivery.subscriber_id
    )


def find_subscriber_type(delivery_type: type[Delivery]) -> type[Subscriber]:
    """Return the subscriber type of a delivery type."""
    return next(
        kind for kind in all_record_types() if issubclass(kind, Subscriber) and kind.delivery_type is delivery_type
    )
