"""Fan-out: creates one delivery for each sequenced entry and each matching subscriber, in the order of the log."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry
from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.features.notifications.logic.subscriptions import SubscriptionSet, subscriptions_key
from chalicelib.kernel.audit_log.ledger import head_key, sequence_index_or_batch_key
from chalicelib.kernel.core.clock import now, now_ms, sleep_with_jittered_backoff
from chalicelib.kernel.core.logs import (
    add_fields,
    add_request_ids,
    log_and_ignore_aws_errors,
    originating_request_ids_scope,
)
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

_BATCH_SIZE: Final = 50
_MAX_DELIVERIES: Final = table.MAX_TRANSACT_ITEMS - 2
_MAX_ATTEMPTS: Final = 5


class MissingEntry(Exception):
    """A sequenced entry is missing. Nothing after it is delivered until somebody investigates."""


@dataclass(frozen=True)
class FanOutStep:
    """The contents of one transaction: new deliveries, the consumer's new offset, and the new subscriptions.

    `request_ids` maps event ids to the ids of the requests that caused them.
    """

    deliveries: Sequence[Delivery]
    request_ids: Mapping[str, str]
    offset: ConsumerOffset
    subscriptions: SubscriptionSet


def fan_out(log_id: str, deadline_ms: int) -> None:
    """Create the deliveries for all new entries of a log, until a deadline in ms since 1970.

    The scheduler continues with the rest. Raises MissingEntry, Problem `unavailable`, and ConcurrentModification if
    other workers keep moving the offset.
    """
    tries = 0
    while now_ms() < deadline_ms:
        items = table.get_all([head_key(log_id), subscriptions_key(log_id)])
        head = items.get(head_key(log_id), {})
        offset, size = ConsumerOffset.from_head_item(head), int(head.get("size", 0))
        if offset.sequence == size:
            return
        entries = _load_next_entries_without_gap(log_id, offset, size)
        try:
            _commit_steps_and_queue_deliveries(
                log_id, offset, size, SubscriptionSet.from_item(items.get(subscriptions_key(log_id))), entries
            )
            if offset.sequence + len(entries) == size:
                return  # An entry appended meanwhile starts the fan-out again.
            tries = 0
        except TransactionCancelled as cancelled:
            tries += 1
            if tries == _MAX_ATTEMPTS:
                raise ConcurrentModification from cancelled
            sleep_with_jittered_backoff(tries)


def _load_next_entries_without_gap(log_id: str, offset: ConsumerOffset, log_size: int) -> list[StoredEntry]:
    """Return the next entries without a gap. Raises MissingEntry."""
    entries = next(
        logs.iter_sequenced_entry_chunks(log_id, offset.sequence, min(log_size, offset.sequence + _BATCH_SIZE)), []
    )
    if not entries or entries[0].item["index1sk"] != sequence_index_or_batch_key(log_id, offset.sequence + 1)[1]:
        raise MissingEntry(f"log {log_id}: the entry with sequence {offset.sequence + 1} is not there")
    return entries


def _commit_steps_and_queue_deliveries(
    log_id: str, offset: ConsumerOffset, log_size: int, subscriptions: SubscriptionSet, entries: Iterable[StoredEntry]
) -> None:
    planned, request_ids = list[Delivery](), dict[str, str]()
    try:
        for step in _iter_transaction_sized_steps(offset, subscriptions, entries):
            table.write_transaction(
                [
                    offset.advance_write(log_id, step.offset, log_size),
                    *([_put_write(step.subscriptions.to_item(log_id))] if step.subscriptions != subscriptions else []),
                    *(writes.put_if_absent_write(delivery.item()) for delivery in step.deliveries),
                ]
            )
            offset, subscriptions = step.offset, step.subscriptions
            planned += step.deliveries
            request_ids |= step.request_ids
    finally:
        with log_and_ignore_aws_errors("deliver"):
            _queue_due_and_delay_later_deliveries(planned, request_ids)


def _iter_transaction_sized_steps(
    offset: ConsumerOffset, subscriptions: SubscriptionSet, entries: Iterable[StoredEntry]
) -> Iterator[FanOutStep]:
    timestamp, batch, request_ids = now(), list[Delivery](), dict[str, str]()
    for sequence, entry in enumerate(entries, offset.sequence + 1):
        event = _decode_entry_or_empty_if_erased(entry)
        subscriptions = subscriptions.with_entry(event) if event else subscriptions
        recipient_ids = subscriptions.recipient_ids(event) if event else []
        if event and (request_id := event["context"]["requestId"]):
            request_ids[event["id"]] = request_id
        for part in range(offset.part, len(recipient_ids)):
            delivery, subscriptions = subscriptions.planned_delivery_and_updated_set(
                recipient_ids[part], event, sequence, timestamp
            )
            batch.append(delivery)
            if len(batch) == _MAX_DELIVERIES:
                offset = ConsumerOffset(sequence - 1, part + 1)
                yield FanOutStep(batch, request_ids, offset, subscriptions)
                batch = []
        offset = ConsumerOffset(sequence)
    yield FanOutStep(batch, request_ids, offset, subscriptions)


def _decode_entry_or_empty_if_erased(entry: StoredEntry) -> dict[str, Any]:
    """Return the entry's JSON, or an empty dict if its body was erased or removed."""
    if isinstance(entry.body, bytes):
        decoded: dict[str, Any] = from_json(entry.body)
        return decoded
    add_fields(undelivered=entry.item["sk"])
    return {}


def _queue_due_and_delay_later_deliveries(
    deliveries: Sequence[Delivery], request_ids_by_event: Mapping[str, str]
) -> None:
    """Queue due deliveries by subscriber, and let SQS delay those that are due soon."""
    add_request_ids(request_ids_by_event.values())
    timestamp, ready = now(), dict[ItemKey, list[Delivery]]()
    for delivery in deliveries:
        if delivery.next_attempt_at and delivery.next_attempt_at <= timestamp:
            ready.setdefault(batches.subscriber_key(delivery), []).append(delivery)
        else:
            with originating_request_ids_scope(*batches.list_request_ids([delivery], request_ids_by_event)):
                batches.queue_delivery_at_next_attempt(delivery)
    batches.queue_delivery_batches(ready.items(), request_ids_by_event)


def _put_write(item: Item) -> Write:
    return Write("Put", (item["pk"], item["sk"]), item=item)
