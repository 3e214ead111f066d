"""Fan-out: creates one delivery for each sequenced entry and each matching subscriber, in the order of the log."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.rules import StoredEntry
from chalicelib.features.deliveries import lots
from chalicelib.features.deliveries.entities import Delivery
from chalicelib.features.deliveries.log_consumer import Cursor
from chalicelib.features.deliveries.subscribers import Subscribers, subscribers_key
from chalicelib.kernel.audit_log.ledger import head_key, sequence_key
from chalicelib.kernel.core.clock import backoff_seconds, now, now_ms
from chalicelib.kernel.core.logs import add_fields, add_request_ids, best_effort, correlate
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled, Write

_BATCH_SIZE: Final = 50
_MAX_DELIVERIES: Final = table.MAX_TRANSACT_ITEMS - 2
_MAX_ATTEMPTS: Final = 5


class MissingEntry(Exception):
    """A sequenced entry is missing. Nothing after it is delivered until somebody investigates."""


@dataclass(frozen=True)
class Step:
    """The contents of one transaction: new deliveries, the consumer's new offset, and the new subscriptions.

    `request_ids` maps event ids to the ids of the requests that caused them.
    """

    deliveries: Sequence[Delivery]
    requests: Mapping[str, str]
    cursor: Cursor
    subscribers: Subscribers


def fan_out(log: str, until: int) -> None:
    """Create the deliveries for all new entries of a log, until a deadline in ms since 1970.

    The scheduler continues with the rest. Raises MissingEntry, Problem `unavailable`, and ConcurrentModification if
    other workers keep moving the offset.
    """
    tries = 0
    while now_ms() < until:
        items = table.get_all([head_key(log), subscribers_key(log)])
        head = items.get(head_key(log), {})
        cursor, size = Cursor.of(head), int(head.get("size", 0))
        if cursor.sequence == size:
            return
        entries = _next_entries(log, cursor, size)
        try:
            _commit_steps(log, cursor, size, Subscribers.stored(items.get(subscribers_key(log))), entries)
            if cursor.sequence + len(entries) == size:
                return  # An entry appended meanwhile starts the fan-out again.
            tries = 0
        except TransactionCancelled as cancelled:
            tries += 1
            if tries == _MAX_ATTEMPTS:
                raise ConcurrentModification from cancelled
            backoff_seconds(tries)


def _next_entries(log: str, cursor: Cursor, size: int) -> list[StoredEntry]:
    """Return the next entries without a gap. Raises MissingEntry."""
    entries = next(logs.sealed(log, cursor.sequence, min(size, cursor.sequence + _BATCH_SIZE)), [])
    if not entries or entries[0].item["index1sk"] != sequence_key(log, cursor.sequence + 1)[1]:
        raise MissingEntry(f"log {log}: the entry with sequence {cursor.sequence + 1} is not there")
    return entries


def _commit_steps(
    log: str, cursor: Cursor, size: int, subscriptions: Subscribers, entries: Iterable[StoredEntry]
) -> None:
    planned, requests = list[Delivery](), dict[str, str]()
    try:
        for step in _plan_steps(cursor, subscriptions, entries):
            table.write_transaction(
                [
                    cursor.moved(log, step.cursor, size),
                    *([_put(step.subscribers.item(log))] if step.subscribers != subscriptions else []),
                    *(table.put_new(delivery.item()) for delivery in step.deliveries),
                ]
            )
            cursor, subscriptions = step.cursor, step.subscribers
            planned += step.deliveries
            requests |= step.requests
    finally:
        with best_effort("deliver"):
            _queue_planned(planned, requests)


def _plan_steps(cursor: Cursor, subscriptions: Subscribers, entries: Iterable[StoredEntry]) -> Iterator[Step]:
    timestamp, batch, requests = now(), list[Delivery](), dict[str, str]()
    for sequence, entry in enumerate(entries, cursor.sequence + 1):
        event = _decode_entry(entry)
        subscriptions = subscriptions.after(event) if event else subscriptions
        recipient_ids = subscriptions.wanting(event) if event else []
        if event and (request_id := event["context"]["requestId"]):
            requests[event["id"]] = request_id
        for part in range(cursor.part, len(recipient_ids)):
            delivery, subscriptions = subscriptions.planned(recipient_ids[part], event, sequence, timestamp)
            batch.append(delivery)
            if len(batch) == _MAX_DELIVERIES:
                cursor = Cursor(sequence - 1, part + 1)
                yield Step(batch, requests, cursor, subscriptions)
                batch = []
        cursor = Cursor(sequence)
    yield Step(batch, requests, cursor, subscriptions)


def _decode_entry(entry: StoredEntry) -> dict[str, Any]:
    """Return the entry's JSON; an empty dict if its body was erased or removed."""
    if isinstance(entry.body, bytes):
        decoded: dict[str, Any] = from_json(entry.body)
        return decoded
    add_fields(undelivered=entry.item["sk"])
    return {}


def _queue_planned(planned: Sequence[Delivery], requests: Mapping[str, str]) -> None:
    """Queue due deliveries by subscriber, and let SQS delay those that are due soon."""
    add_request_ids(requests.values())
    timestamp, ready = now(), dict[ItemKey, list[Delivery]]()
    for delivery in planned:
        if delivery.next_attempt_at and delivery.next_attempt_at <= timestamp:
            ready.setdefault(lots.subscriber_key(delivery), []).append(delivery)
        else:
            with correlate(*lots.requests_of([delivery], requests)):
                lots.queue_later(delivery)
    lots.queue(ready.items(), requests)


def _put(item: Item) -> Write:
    return Write("Put", (item["pk"], item["sk"]), item=item)
