"""Sending a lot: the deliveries of a message one after the other, each as its subscriber takes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic_core import from_json, to_json

from chalicelib.features.audit import log as logs
from chalicelib.features.deliveries import lots
from chalicelib.features.deliveries.entities import Delivery, Subscriber, looked_after
from chalicelib.features.deliveries.models import Status
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.core.clock import after, backoff_seconds, now, now_ms, timestamp_ms
from chalicelib.kernel.core.logs import add_fields, best_effort, correlate, log_event
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.record_types import find_record_type
from chalicelib.kernel.storage.table import TransactionCancelled, Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks
from chalicelib.kernel.work.jobs import Job

S = TypeVar("S", bound=Subscriber)

MOST_ATTEMPTS: Final = 50
"""Attempts that a delivery remembers: people can ask for more than the service makes by itself."""

_WAITING: Final = "!"
"""What the sort keys of the list begin with that says which deliveries wait for a subscriber: before every id."""

_TRIES: Final = 4
_EARLY_SECONDS: Final = 1
"""Clocks differ: what is due so soon is due."""


@dataclass(frozen=True)
class Told:
    """An event as its subscribers are told: the entry, and its place in the log."""

    said: Mapping[str, Any]
    sequence: int

    @property
    def request_id(self) -> str | None:
        """The request that led to it; of what the service did by itself there is none."""
        asked_by: str | None = self.said["context"]["requestId"]
        return asked_by

    def body(self) -> bytes:
        """Return the event as a webhook is sent it: the same bytes at each attempt."""
        return to_json(
            {
                "type": self.said["type"],
                "timestamp": self.said["occurredAt"],
                "data": self.said["data"],
                "organizationId": self.said["organizationId"],
                "sequence": self.sequence,
            }
        )


def send(
    kind: type[S],
    message: dict[str, Any],
    attempt: Callable[[S, Delivery, Told], S],
    begin: Callable[[int], None] = lambda _number: None,
) -> S | None:
    """Let `attempt` send what a message names and is due; it returns the subscriber as it is afterwards, as this does.

    A message without ids means the first of what waits for its subscriber. What is not sent `until` the message's
    moment (ms since 1970) is queued again, or goes on waiting. What goes to a subscriber that is gone is removed, and
    an event that a person was erased from before it was sent is skipped, and one that the subscriber may not hear of
    any more. `begin` is told first how many there are.
    """
    subscriber, deliveries = _named(kind, message)
    if subscriber is None:
        _drop(deliveries)
        return None
    ready = sorted((d for d in deliveries if is_due(d)), key=lambda delivery: delivery.sequence)
    begin(len(ready))
    events = _events(ready)
    for position, delivery in enumerate(ready):
        if now_ms() > message.get("until", now_ms()):
            if "ids" in message:
                lots.queue([(subscriber.item_key, ready[position:])])
            break
        try:
            event = events.get(delivery.id)
            if event and subscriber.hears(delivery.event_type):
                with correlate(event.request_id):
                    subscriber = attempt(subscriber, delivery, event)
            else:
                skip(delivery)
        except ConcurrentModification:
            add_fields(contended=True)  # Whoever changed it has queued it, or it is due.
    return subscriber


def waiting(subscriber: Subscriber) -> list[Delivery]:
    """Return the first deliveries that wait for a subscriber, as many as a lot holds, in the order of the log.

    The list of them is read from the table itself, so nothing is missing from it. What was sent or skipped since it was
    put off leaves the list, and so does what is tried later: it is put off again then, if it has to be.

    Raises ConcurrentModification if others keep changing the list.
    """
    kind, conflicts = subscriber.delivery, 0
    while conflicts < _TRIES:
        marks = table.query(str(subscriber.child_partition_key), prefix=_WAITING, limit=lots.LARGEST).items
        keys = {
            mark["sk"]: kind.make_item_key(**{kind.subscriber: subscriber.id}, id=mark["delivery_id"]) for mark in marks
        }
        found = table.get_all(keys.values())
        present = {key: kind.from_item(item) for key, item in found.items()}
        due = {key: delivery for key, delivery in present.items() if is_due(delivery)}
        over = [mark for mark in marks if keys[mark["sk"]] not in due]
        if over:
            try:
                table.write_transaction([_forget(mark) for mark in over])
            except TransactionCancelled:  # One of them was put off again just now.
                backoff_seconds(conflicts)
                conflicts += 1
        if due or not marks:
            return sorted(due.values(), key=lambda delivery: delivery.sequence)
    raise ConcurrentModification


def _forget(mark: Item) -> Write:
    return Write(
        "Delete",
        (mark["pk"], mark["sk"]),
        condition="attribute_not_exists(#pk) OR #put_at = :seen",
        names=["pk", "put_at"],
        values={"seen": mark["put_at"]},
    )


def settle(subscriber: S, tell: Callable[[UnitOfWork, S], S]) -> S:
    """Store what `tell` makes of a subscriber after an attempt, and return it as it is then.

    Of one that is gone or leads elsewhere by now it told nothing. Raises ConcurrentModification if others keep
    changing it.
    """
    for attempt in range(_TRIES):
        changes = UnitOfWork(now())
        told = tell(changes, subscriber)
        try:
            if not changes.is_empty:
                changes.commit()
        except ConcurrentModification:
            backoff_seconds(attempt)
            item = table.get(subscriber.item_key)
            present = type(subscriber).from_item(item) if item else None
            if present is None or present.target != subscriber.target:
                return present or subscriber
            subscriber = present
        else:
            return told
    raise ConcurrentModification


def skip(delivery: Delivery) -> None:
    """Let a delivery be skipped: it can be replayed. Raises ConcurrentModification if it changed meanwhile."""
    changes = UnitOfWork(now())
    changes.update(delivery, status="skipped", next_attempt_at=None, due_at=None, completed_at=changes.now)
    changes.commit()


def put_off(subscriber: Subscriber, delivery: Delivery, seconds: int) -> None:
    """Let a delivery wait for its subscriber: nobody else looks after it for so long.

    Raises ConcurrentModification if it changed meanwhile.
    """
    changes = UnitOfWork(now())
    changes.update_untracked(delivery, due_at=after(changes.now, seconds=seconds))
    pk, sk = waiting_key(subscriber, delivery.sequence, delivery.id)
    mark = {"pk": pk, "sk": sk, "delivery_id": delivery.id, "put_at": changes.now, "ttl": delivery.ttl}
    changes.add_write(Write("Put", (pk, sk), item=mark))
    changes.commit()


def waiting_key(subscriber: Subscriber, sequence: int, delivery_id: str) -> ItemKey:
    """Return where it stands that a delivery waits for its subscriber."""
    return str(subscriber.child_partition_key), f"{_WAITING}{sequence:012d}#{delivery_id}"


def record(
    delivery: Delivery,
    answer: WebhookResponse,
    next_at: str | None,
    exhaust: Callable[[UnitOfWork, Delivery, Delivery], Job] | None = None,
) -> Delivery:
    """Store what came of an attempt, and let the next one come at its time, if there is any.

    Of a delivery that failed for good `exhaust` makes the job that tells of it, if one is given: it gets what is
    changed, and the delivery before and after. Raises ConcurrentModification if the delivery changed meanwhile.
    """
    changes = UnitOfWork(now())
    changed = tried(changes, delivery, answer, next_at)
    job = exhaust(changes, delivery, changed) if exhaust and changed.status == "failed" else None
    changes.commit()
    if job:
        with best_effort("start"):
            queues.enqueue(job.task, job.item_key)
    lots.queue_later(changed)
    return changed


def tried(changes: UnitOfWork, delivery: Delivery, answer: WebhookResponse, next_at: str | None) -> Delivery:
    """Let changes say what came of an attempt, and return the delivery as it is then."""
    next_at = None if answer.succeeded else next_at
    status: Status = "succeeded" if answer.succeeded else "pending" if next_at else "failed"
    attempts = _attempts(delivery, answer, changes.now)
    log_event(
        "attempt",
        tenant=delivery.organization_id,
        subscriberId=delivery.subscriber_id,
        eventId=delivery.id,
        event=delivery.event_type,
        attempt=attempts[-1]["number"],
        outcome=status,
        status=answer.status,
        failure=answer.error,
        durationMs=answer.duration_ms,
        ageMs=now_ms() - timestamp_ms(delivery.created_at),
    )
    return changes.update(
        delivery,
        status=status,
        attempts=attempts,
        tries=delivery.tries + 1,
        next_attempt_at=next_at,
        due_at=next_at and looked_after(next_at, changes.now),
        completed_at=None if next_at else changes.now,
    )


def _attempts(delivery: Delivery, answer: WebhookResponse, moment: str) -> list[dict[str, Any]]:
    """Return the attempts of a delivery, those behind which an answer is at the end: each request that was sent."""
    last, made = delivery.attempts[-1]["number"] if delivery.attempts else 0, list[dict[str, Any]]()
    answers = [*answer.earlier, answer]
    ms_ago = sum(each.duration_ms for each in answers)
    for number, each in enumerate(answers, last + 1):
        made.append(
            {
                "number": number,
                "at": after(moment, seconds=-ms_ago / 1000),
                "duration_ms": each.duration_ms,
                "status_code": each.status,
                "error": each.error,
                "response_body": each.body or None,
            }
        )
        ms_ago -= each.duration_ms
    return [*delivery.attempts, *made][-MOST_ATTEMPTS:]


def _drop(deliveries: Sequence[Delivery]) -> None:
    if deliveries:
        changes = UnitOfWork(now())
        for delivery in deliveries:
            changes.delete(delivery)
        changes.commit()


def _named(kind: type[S], message: dict[str, Any]) -> tuple[S | None, Sequence[Delivery]]:
    if "ids" not in message:
        found = tasks.load_record(kind, message)
        return found, waiting(found) if found else []
    where = (message["pk"], message["sk"])
    fields = {kind.delivery.subscriber: message["subscriber"]}
    keys = [kind.delivery.make_item_key(**fields, id=name) for name in message["ids"]]
    items = table.get_all([where, *keys])
    there = [kind.delivery.from_item(items[key]) for key in keys if key in items]
    return kind.from_item(items[where]) if where in items else None, there


def is_due(delivery: Delivery) -> bool:
    """Return whether an attempt should be made now."""
    soon = after(now(), seconds=_EARLY_SECONDS)
    return delivery.status == "pending" and delivery.next_attempt_at is not None and delivery.next_attempt_at <= soon


def _events(deliveries: Sequence[Delivery]) -> dict[str, Told]:
    """Return the events of deliveries, by their ids, as far as they still say something."""
    keys = {EntryItem.make_item_key(log_id=d.organization_id, id=d.id): d for d in deliveries}
    items = table.get_all(keys)
    found = [(keys[key], item) for key, item in items.items()]
    bodies = logs.with_bodies(deliveries[0].organization_id, [item for _, item in found]) if found else []
    return {
        delivery.id: Told(from_json(entry.body), delivery.sequence)
        for (delivery, _), entry in zip(found, bodies, strict=True)
        if isinstance(entry.body, bytes)
    }


def delivery_at(key: ItemKey) -> Delivery | None:
    """Return the delivery at a place, of whatever kind."""
    item = table.get(key)
    kind = find_record_type(item["kind"]) if item else None
    return kind.from_item(item) if item and kind and issubclass(kind, Delivery) else None
