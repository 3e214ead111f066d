"""Fan-out: each sealed entry becomes one delivery to each subscriber that wants it, in the order of the log."""

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

_BATCH: Final = 50
_MOST_DELIVERIES: Final = table.MAX_TRANSACT_ITEMS - 2
_TRIES: Final = 5


class MissingEntry(Exception):
    """A sealed entry is gone: nothing behind it is delivered before somebody has looked why."""


@dataclass(frozen=True)
class Step:
    """What one transaction does: so many deliveries, where the cursor is then, and who is subscribed.

    `requests`: the request that led to an event, by the event's id.
    """

    deliveries: Sequence[Delivery]
    requests: Mapping[str, str]
    cursor: Cursor
    subscribers: Subscribers


def fan_out(log: str, until: int) -> None:
    """Deliver a log's sealed entries that are not yet; what is not done `until` a moment (ms since 1970) is due.

    Raises MissingEntry, Problem `unavailable`, and ConcurrentModification if other workers keep moving the cursor.
    """
    tries = 0
    while now_ms() < until:
        items = table.get_all([head_key(log), subscribers_key(log)])
        head = items.get(head_key(log), {})
        cursor, size = Cursor.of(head), int(head.get("size", 0))
        if cursor.sequence == size:
            return
        entries = _entries(log, cursor, size)
        try:
            _follow(log, cursor, size, Subscribers.stored(items.get(subscribers_key(log))), entries)
            if cursor.sequence + len(entries) == size:
                return  # Whoever lets it grow meanwhile wakes it again.
            tries = 0
        except TransactionCancelled as cancelled:
            tries += 1
            if tries == _TRIES:
                raise ConcurrentModification from cancelled
            backoff_seconds(tries)


def _entries(log: str, cursor: Cursor, size: int) -> list[StoredEntry]:
    """Return the next entries, without a gap."""
    portion = next(logs.sealed(log, cursor.sequence, min(size, cursor.sequence + _BATCH)), [])
    if not portion or portion[0].item["index1sk"] != sequence_key(log, cursor.sequence + 1)[1]:
        raise MissingEntry(f"log {log}: the entry with sequence {cursor.sequence + 1} is not there")
    return portion


def _follow(log: str, cursor: Cursor, size: int, known: Subscribers, entries: Iterable[StoredEntry]) -> None:
    planned, requests = list[Delivery](), dict[str, str]()
    try:
        for step in _steps(cursor, known, entries):
            table.write_transaction(
                [
                    cursor.moved(log, step.cursor, size),
                    *([_put(step.subscribers.item(log))] if step.subscribers != known else []),
                    *(table.put_new(delivery.item()) for delivery in step.deliveries),
                ]
            )
            cursor, known = step.cursor, step.subscribers
            planned += step.deliveries
            requests |= step.requests
    finally:
        with best_effort("deliver"):
            _queue(planned, requests)


def _steps(cursor: Cursor, known: Subscribers, entries: Iterable[StoredEntry]) -> Iterator[Step]:
    moment, batch, requests = now(), list[Delivery](), dict[str, str]()
    for sequence, entry in enumerate(entries, cursor.sequence + 1):
        said = _said(entry)
        known = known.after(said) if said else known
        wanting = known.wanting(said) if said else []
        if said and (request_id := said["context"]["requestId"]):
            requests[said["id"]] = request_id
        for part in range(cursor.part, len(wanting)):
            delivery, known = known.planned(wanting[part], said, sequence, moment)
            batch.append(delivery)
            if len(batch) == _MOST_DELIVERIES:
                cursor = Cursor(sequence - 1, part + 1)
                yield Step(batch, requests, cursor, known)
                batch = []
        cursor = Cursor(sequence)
    yield Step(batch, requests, cursor, known)


def _said(entry: StoredEntry) -> dict[str, Any]:
    """Return what an entry says; nothing, if a person was erased from it or somebody took its text away."""
    if isinstance(entry.body, bytes):
        said: dict[str, Any] = from_json(entry.body)
        return said
    add_fields(undelivered=entry.item["sk"])
    return {}


def _queue(planned: Sequence[Delivery], requests: Mapping[str, str]) -> None:
    """Queue what can be sent now, by subscriber, and let SQS delay what can be sent soon."""
    add_request_ids(requests.values())
    moment, ready = now(), dict[ItemKey, list[Delivery]]()
    for delivery in planned:
        if delivery.next_attempt_at and delivery.next_attempt_at <= moment:
            ready.setdefault(lots.subscriber_key(delivery), []).append(delivery)
        else:
            with correlate(*lots.requests_of([delivery], requests)):
                lots.queue_later(delivery)
    lots.queue(ready.items(), requests)


def _put(item: Item) -> Write:
    return Write("Put", (item["pk"], item["sk"]), item=item)
