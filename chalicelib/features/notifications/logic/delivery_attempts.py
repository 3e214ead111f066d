"""Sends batches of deliveries one after the other, with a function of the subscriber's type."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from chalicelib.features.notifications.entities import Delivery, Subscriber, scheduler_due_at
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.logic.delivery_events import DeliveryEvent, load_events_by_id
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.kernel.core.clock import after, now, now_ms, sleep_with_jittered_backoff, timestamp_ms
from chalicelib.kernel.core.logs import add_fields, log_and_ignore_aws_errors, log_event, originating_request_ids_scope
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.record_types import find_record_type
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks
from chalicelib.kernel.work.jobs import Job

S = TypeVar("S", bound=Subscriber)

MAX_STORED_ATTEMPTS: Final = 50
"""Maximum number of recorded attempts of a delivery. Requested retries can exceed the retry schedule."""

_DEFERRAL_PREFIX: Final = "!"
"""Sort key prefix of the items that list a subscriber's deferred deliveries. It sorts before every id."""

_DEFERRAL_SECONDS: Final = 3600
"""How long the scheduler ignores a deferred delivery. Normally the subscriber is ready earlier."""

_MAX_CONFLICTS: Final = 4
_CLOCK_SKEW_SECONDS: Final = 1
"""Tolerance for differing clocks: a delivery that is due this soon counts as due."""


def send_due_deliveries(
    subscriber_type: type[S],
    message: dict[str, Any],
    attempt_delivery: Callable[[S, Delivery, DeliveryEvent], S],
    on_due_count: Callable[[int], None] = lambda _number: None,
) -> S | None:
    """Send the due deliveries of a queue message, and return the subscriber as it is afterwards.

    `attempt_delivery` sends one, and returns the changed subscriber. `on_due_count` is called with the number of
    deliveries before the first one. A message without ids stands for the first deferred deliveries. Deliveries that are
    not sent by the message's `until` (ms since 1970) are queued again, or stay deferred. Deliveries to a deleted
    subscriber are deleted. Erased events, and events that the subscriber may no longer receive, are skipped.
    """
    subscriber, deliveries = _load_subscriber_and_listed_or_deferred(subscriber_type, message)
    if subscriber is None:
        _delete_deliveries(deliveries)
        return None
    ready = sorted((d for d in deliveries if is_delivery_due(d)), key=lambda delivery: delivery.sequence)
    on_due_count(len(ready))
    events = load_events_by_id(ready, with_sentences=subscriber_type.shows_sentences)
    for position, delivery in enumerate(ready):
        if now_ms() > message.get("until", now_ms()):
            if "ids" in message:
                batches.queue_delivery_batches([(subscriber.item_key, ready[position:])])
            break
        try:
            event = events.get(delivery.id)
            if event and subscriber.has_scope_for_event_type(delivery.event_type):
                with originating_request_ids_scope(event.request_id):
                    subscriber = attempt_delivery(subscriber, delivery, event)
            else:
                skip_delivery(delivery)
        except ConcurrentModification:
            add_fields(contended=True)  # The other worker queued it, or the scheduler will.
    return subscriber


def prune_and_load_first_deferred_deliveries(subscriber: Subscriber) -> list[Delivery]:
    """Return the first deferred deliveries of a subscriber, at most one batch, in the order of the log.

    Reads the list of deferred deliveries from the table, so none is missing. Deliveries that were sent or skipped
    since, or are due later, leave the list. They are deferred again when necessary.

    Raises ConcurrentModification if other workers keep changing the list.
    """
    delivery_type, conflicts = subscriber.delivery_type, 0
    while conflicts < _MAX_CONFLICTS:
        deferrals = table.query(
            str(subscriber.child_partition_key), prefix=_DEFERRAL_PREFIX, limit=batches.MAX_BATCH_SIZE
        ).items
        keys = {
            deferral["sk"]: delivery_type.make_item_key(
                **{delivery_type.subscriber_field: subscriber.id}, id=deferral["delivery_id"]
            )
            for deferral in deferrals
        }
        items = table.get_all(keys.values())
        deliveries = {key: delivery_type.from_item(item) for key, item in items.items()}
        due = {key: delivery for key, delivery in deliveries.items() if is_delivery_due(delivery)}
        obsolete = [deferral for deferral in deferrals if keys[deferral["sk"]] not in due]
        if obsolete:
            try:
                table.write_transaction([_delete_unchanged_deferral_write(deferral) for deferral in obsolete])
            except TransactionCancelled:  # One of them was deferred again meanwhile.
                sleep_with_jittered_backoff(conflicts)
                conflicts += 1
        if due or not deferrals:
            return sorted(due.values(), key=lambda delivery: delivery.sequence)
    raise ConcurrentModification


def _delete_unchanged_deferral_write(deferral_item: Item) -> Write:
    return Write(
        "Delete",
        (deferral_item["pk"], deferral_item["sk"]),
        condition="attribute_not_exists(#pk) OR #put_at = :seen",
        names=["pk", "put_at"],
        values={"seen": deferral_item["put_at"]},
    )


def update_subscriber_unless_endpoint_changed(subscriber: S, apply_change: Callable[[UnitOfWork, S], S]) -> S:
    """Store the change that `apply_change` makes to a subscriber after an attempt, and return the subscriber.

    Nothing is stored if the subscriber is deleted or has another endpoint by now. Raises ConcurrentModification if
    other workers keep changing it.
    """
    for attempt in range(_MAX_CONFLICTS):
        changes = UnitOfWork(now())
        changed = apply_change(changes, subscriber)
        try:
            if not changes.is_empty:
                changes.commit()
        except ConcurrentModification:
            sleep_with_jittered_backoff(attempt)
            item = table.get(subscriber.item_key)
            current = type(subscriber).from_item(item) if item else None
            if current is None or current.stored_url != subscriber.stored_url:
                return current or subscriber
            subscriber = current
        else:
            return changed
    raise ConcurrentModification


def skip_delivery(delivery: Delivery) -> None:
    """Mark a delivery as skipped, so that it can be replayed. Raises ConcurrentModification."""
    changes = UnitOfWork(now())
    changes.update(delivery, status="skipped", next_attempt_at=None, due_at=None, completed_at=changes.now)
    changes.commit()


def defer_until_subscriber_ready(subscriber: Subscriber, delivery: Delivery) -> None:
    """Defer a delivery until its subscriber is ready.

    Raises ConcurrentModification if the delivery changed meanwhile.
    """
    changes = UnitOfWork(now())
    add_deferral(changes, subscriber, delivery)
    changes.update_untracked(delivery, **deferral_fields(changes.now))
    changes.commit()


def add_deferral(changes: UnitOfWork, subscriber: Subscriber, delivery: Delivery) -> None:
    """Add a delivery to the list of its subscriber's deferred deliveries, with the unit of work."""
    pk, sk = deferral_key(subscriber, delivery.sequence, delivery.id)
    deferral = {"pk": pk, "sk": sk, "delivery_id": delivery.id, "put_at": changes.now, "ttl": delivery.ttl}
    changes.add_write(Write("Put", (pk, sk), item=deferral))


def deferral_fields(timestamp: str) -> dict[str, Any]:
    """Return the fields of a delivery that is deferred at a time. The scheduler ignores it for an hour."""
    return {"due_at": after(timestamp, seconds=_DEFERRAL_SECONDS)}


def deferral_key(subscriber: Subscriber, sequence: int, delivery_id: str) -> ItemKey:
    """Return the item key of a deferred delivery in the list of its subscriber."""
    return str(subscriber.child_partition_key), f"{_DEFERRAL_PREFIX}{sequence:012d}#{delivery_id}"


def store_attempt_and_queue_retry(
    delivery: Delivery,
    response: WebhookResponse,
    next_at: str | None,
    add_exhaustion_job: Callable[[UnitOfWork, Delivery, Delivery], Job] | None = None,
) -> Delivery:
    """Store the result of an attempt, and schedule the next one if there is any.

    For a delivery that failed for good, `add_exhaustion_job` adds a job that records this in the log. It gets the
    unit of work and the delivery before and after. Raises ConcurrentModification if the delivery changed meanwhile.
    """
    changes = UnitOfWork(now())
    changed = log_attempt_and_update_delivery(changes, delivery, response, next_at)
    job = add_exhaustion_job(changes, delivery, changed) if add_exhaustion_job and changed.status == "failed" else None
    changes.commit()
    if job:
        with log_and_ignore_aws_errors("start"):
            queues.enqueue(job.task, job.item_key)
    batches.queue_delivery_at_next_attempt(changed)
    return changed


def log_attempt_and_update_delivery(
    changes: UnitOfWork, delivery: Delivery, response: WebhookResponse, next_at: str | None
) -> Delivery:
    """Add the result of an attempt to the unit of work, and return the changed delivery."""
    next_at = None if response.succeeded else next_at
    status: DeliveryStatus = "succeeded" if response.succeeded else "pending" if next_at else "failed"
    responses = [*response.earlier_attempts, response]
    attempts = _stored_and_new_attempts(delivery, responses, changes.now)
    for write in delivery.attempt_writes(responses, changes.now):
        changes.add_write(write)
    log_event(
        "attempt",
        tenant=delivery.organization_id,
        subscriberId=delivery.subscriber_id,
        eventId=delivery.id,
        event=delivery.event_type,
        attempt=attempts[-1]["number"],
        outcome=status,
        status=response.status,
        failure=response.error,
        durationMs=response.duration_ms,
        ageMs=now_ms() - timestamp_ms(delivery.created_at),
    )
    return changes.update(
        delivery,
        status=status,
        attempts=attempts,
        tries=delivery.tries + 1,
        next_attempt_at=next_at,
        due_at=next_at and scheduler_due_at(next_at, changes.now),
        completed_at=None if next_at else changes.now,
    )


def _stored_and_new_attempts(
    delivery: Delivery, responses: Sequence[WebhookResponse], now: str
) -> list[dict[str, Any]]:
    """Return the attempts of a delivery with one added for each request that was sent."""
    last_number, attempts = delivery.attempts[-1]["number"] if delivery.attempts else 0, list[dict[str, Any]]()
    ms_ago = sum(response.duration_ms for response in responses)
    signed_at = responses[-1].signed_at  # All are attempts to send one signed request.
    signing_time = {"signed_at": signed_at} if signed_at else {}
    for number, response in enumerate(responses, last_number + 1):
        attempts.append(
            {
                "number": number,
                "at": after(now, seconds=-ms_ago / 1000),
                "duration_ms": response.duration_ms,
                "status_code": response.status,
                "error": response.error,
                "response_body": response.body or None,
                **signing_time,
            }
        )
        ms_ago -= response.duration_ms
    return [*delivery.attempts, *attempts][-MAX_STORED_ATTEMPTS:]


def _delete_deliveries(deliveries: Sequence[Delivery]) -> None:
    if deliveries:
        changes = UnitOfWork(now())
        for delivery in deliveries:
            changes.delete(delivery)
        changes.commit()


def _load_subscriber_and_listed_or_deferred(
    subscriber_type: type[S], message: dict[str, Any]
) -> tuple[S | None, Sequence[Delivery]]:
    if "ids" not in message:
        subscriber = tasks.load_record_or_none(subscriber_type, message)
        return subscriber, prune_and_load_first_deferred_deliveries(subscriber) if subscriber else []
    subscriber_item_key = (message["pk"], message["sk"])
    fields = {subscriber_type.delivery_type.subscriber_field: message["subscriber"]}
    keys = [subscriber_type.delivery_type.make_item_key(**fields, id=delivery_id) for delivery_id in message["ids"]]
    items = table.get_all([subscriber_item_key, *keys])
    deliveries = [subscriber_type.delivery_type.from_item(items[key]) for key in keys if key in items]
    return subscriber_type.from_item(items[subscriber_item_key]) if subscriber_item_key in items else None, deliveries


def is_delivery_due(delivery: Delivery) -> bool:
    """Return whether an attempt should be made now."""
    latest = after(now(), seconds=_CLOCK_SKEW_SECONDS)
    return delivery.status == "pending" and delivery.next_attempt_at is not None and delivery.next_attempt_at <= latest


def load_delivery_or_none(item_key: ItemKey) -> Delivery | None:
    """Return the delivery with an item key, of any type, or None if there is none."""
    item = table.get(item_key)
    kind = find_record_type(item["kind"]) if item else None
    return kind.from_item(item) if item and kind and issubclass(kind, Delivery) else None
