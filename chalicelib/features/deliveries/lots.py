"""Lots: deliveries to one subscriber that a message of the queue names, in the order they are sent in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from chalicelib.features.deliveries.entities import QUEUE, Delivery, Subscriber
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.record_types import all_record_types
from chalicelib.kernel.work import queues

LARGEST: Final = 25
"""Deliveries of one message: each may take as long as its endpoint has to answer."""

Message = dict[str, Any]


def queue(lots: Iterable[tuple[ItemKey, Sequence[Delivery]]], requests: Mapping[str, str] | None = None) -> None:
    """Queue lots, each of one subscriber, named by where it is stored. Raises Problem `unavailable`.

    `requests`: the requests that led to the events, by the events' ids; else it is those that the work at hand is for.
    """
    messages = [
        (lot[0].subscriber_id, message(subscriber, lot) | _asked_by(lot, requests))
        for subscriber, deliveries in lots
        for lot in (deliveries[start : start + LARGEST] for start in range(0, len(deliveries), LARGEST))
    ]
    queues.enqueue_deliveries(messages)


def requests_of(deliveries: Sequence[Delivery], requests: Mapping[str, str]) -> list[str]:
    """Return the requests that led to some deliveries' events, each once."""
    return [*dict.fromkeys(requests[delivery.id] for delivery in deliveries if delivery.id in requests)]


def _asked_by(lot: Sequence[Delivery], requests: Mapping[str, str] | None) -> Message:
    return {} if requests is None else {"requestIds": requests_of(lot, requests)}


def queue_later(delivery: Delivery) -> None:
    """Let a delivery be queued at the time of its next attempt, if there is one."""
    if delivery.next_attempt_at:
        queues.enqueue_at(QUEUE, delivery.item_key, delivery.next_attempt_at)


def message(subscriber: ItemKey, deliveries: Sequence[Delivery]) -> Message:
    """Return the message that lets a lot be sent."""
    kind = kind_of(type(deliveries[0]))
    pk, sk = subscriber
    return {
        "task": kind.task,
        "pk": pk,
        "sk": sk,
        "subscriber": deliveries[0].subscriber_id,
        "ids": [delivery.id for delivery in deliveries],
    }


def subscriber_key(delivery: Delivery) -> ItemKey:
    """Return where the subscriber of a delivery is stored."""
    return kind_of(type(delivery)).make_item_key(organization_id=delivery.organization_id, id=delivery.subscriber_id)


def kind_of(delivery: type[Delivery]) -> type[Subscriber]:
    """Return the kind of subscriber that a kind of delivery goes to."""
    return next(kind for kind in all_record_types() if issubclass(kind, Subscriber) and kind.delivery is delivery)
