"""Fan-out: creates one delivery for each sequenced entry and each matching subscriber, in the order of the log.

It also informs the log streams of the entries (`stream_wakeups`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry
from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.features.notifications.logic.stream_wakeups import StreamSet, streams_key
from chalicelib.features.notifications.logic.subscriptions import SubscriptionSet, subscriptions_key
from chalicelib.kernel.audit_log.application_events import is_application_event
from chalicelib.kernel.audit_log.ledger import head_key, log_size_in_head_item, sequence_index_or_batch_key
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
_MAX_STREAMS: Final = 20
"""At least the number of log streams of an organization, and of those that were deleted a moment ago."""

_MAX_DELIVERIES: Final = table.MAX_TRANSACT_ITEMS - 3 - _MAX_STREAMS
_MAX_ATTEMPTS: Final = 5


class StreamsDeleted(Exception):
    """Log streams were deleted, although the fan-out has not processed the entries of the deletions."""

    def __init__(self, progress_keys: Iterable[ItemKey]) -> None:
        super().__init__()
        self.progress_keys = {*progress_keys}


class MissingEntry(Exception):
    """A sequenced entry is missing. Nothing after it is delivered until somebody investigates."""


@dataclass(frozen=True)
class FanOutStep:
    """The contents of one transaction: new deliveries, the consumer's new offset, and the new recipients.

    `request_ids` maps event ids to the ids of the requests that caused them.
    """

    deliveries: Sequence[Delivery]
    request_ids: Mapping[str, str]
    offset: ConsumerOffset
    recipients: "Recipients"


@dataclass(frozen=True)
class Recipients:
    """Who receives the entries of a log: the subscriptions and the log streams as of an entry.

    `deleted_streams`: the keys of the progress of streams that were deleted, although the fan-out has not processed the
    entries of the deletions yet.
    """

    subscriptions: SubscriptionSet
    streams: StreamSet
    deleted_streams: set[ItemKey] = field(default_factory=set, compare=False)

    @classmethod
    def from_items(cls, log_id: str, items: Mapping[ItemKey, Item], deleted_streams: set[ItemKey]) -> "Recipients":
        """Return the recipients in the items of a log."""
        subscriptions = SubscriptionSet.from_item(items.get(subscriptions_key(log_id)))
        return cls(subscriptions, StreamSet.from_item(items.get(streams_key(log_id))), deleted_streams)

    def with_entry(self, entry: Mapping[str, Any]) -> "Recipients":
        """Return the recipients after an entry, which may be about one of them.

        An application event changes nothing, whatever target and data the application gives it.
        """
        if is_application_event(entry):
            return self
        return replace(self, subscriptions=self.subscriptions.with_entry(entry), streams=self.streams.with_entry(entry))

    def with_notified_streams(self, sequence: int, timestamp: str) -> "Recipients":
        """Return the recipients with streams whose workers are notified of an entry now, unless that is not due."""
        return replace(self, streams=self.streams.notified(sequence, timestamp))

    def planned_delivery_and_update(
        self, subscriber_id: str, entry: Mapping[str, Any], sequence: int, timestamp: str
    ) -> tuple[Delivery, "Recipients"]:
        """Return the delivery of an entry to a subscriber at the next free time, and the updated recipients."""
        delivery, updated = self.subscriptions.planned_delivery_and_updated_set(
            subscriber_id, entry, sequence, timestamp
        )
        return delivery, replace(self, subscriptions=updated)

    def change_writes(self, log_id: str, previous: "Recipients") -> list[Write]:
        """Return the writes of the items that differ from those of the previous recipients."""
        items = [
            *([self.subscriptions.to_item(log_id)] if self.subscriptions != previous.subscriptions else []),
            *([self.streams.to_item(log_id)] if self.streams != previous.streams else []),
        ]
        return [Write("Put", (item["pk"], item["sk"]), item=item) for item in items]


def fan_out(log_id: str, deadline_ms: int) -> None:
    """Create the deliveries for all new entries of a log, until a deadline in ms since 1970.

    The scheduler continues with the rest. Raises MissingEntry, Problem `unavailable`, and ConcurrentModification if
    other workers keep moving the offset.
    """
    tries, deleted_streams = 0, set[ItemKey]()
    while now_ms() < deadline_ms:
        items = table.get_all([head_key(log_id), subscriptions_key(log_id), streams_key(log_id)])
        head = items.get(head_key(log_id), {})
        offset, size = ConsumerOffset.from_head_item(head), log_size_in_head_item(head)
        if offset.sequence == size:
            return
        entries = _load_next_entries_without_gap(log_id, offset, size)
        recipients = Recipients.from_items(log_id, items, deleted_streams)
        try:
            _commit_steps_and_queue_messages(log_id, offset, size, recipients, entries)
            if offset.sequence + len(entries) == size:
                return  # An entry appended meanwhile starts the fan-out again.
            tries = 0
        except StreamsDeleted as deleted:
            deleted_streams |= deleted.progress_keys
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


def _commit_steps_and_queue_messages(
    log_id: str, offset: ConsumerOffset, log_size: int, recipients: Recipients, entries: Iterable[StoredEntry]
) -> None:
    planned, request_ids, initial_streams = list[Delivery](), dict[str, str](), recipients.streams
    try:
        for step in _iter_transaction_sized_steps(offset, recipients, entries):
            _commit_step(log_id, offset, log_size, recipients, step)
            offset, recipients = step.offset, step.recipients
            planned += step.deliveries
            request_ids |= step.request_ids
    finally:
        with log_and_ignore_aws_errors("deliver"):
            _queue_due_and_delay_later_deliveries(planned, request_ids)
        with log_and_ignore_aws_errors("start"):
            recipients.streams.queue_starts(initial_streams)


def _commit_step(log_id: str, offset: ConsumerOffset, log_size: int, previous: Recipients, step: FanOutStep) -> None:
    """Commit one transaction. Raises StreamsDeleted, and TransactionCancelled."""
    recipients = step.recipients
    wakes = recipients.streams.wake_writes(step.offset.sequence, now(), recipients.deleted_streams)
    others = [
        offset.advance_write(log_id, step.offset, log_size),
        *recipients.change_writes(log_id, previous),
        *(writes.put_if_absent_write(delivery.item()) for delivery in step.deliveries),
    ]
    try:
        table.write_transaction([*others, *wakes])
    except TransactionCancelled as cancelled:
        failed = [position - len(others) for position in cancelled.failed_items]
        if failed and min(failed) >= 0:
            raise StreamsDeleted({wakes[each].key for each in failed}) from cancelled
        raise


def _iter_transaction_sized_steps(
    offset: ConsumerOffset, recipients: Recipients, entries: Iterable[StoredEntry]
) -> Iterator[FanOutStep]:
    timestamp, batch, request_ids = now(), list[Delivery](), dict[str, str]()
    for sequence, entry in enumerate(entries, offset.sequence + 1):
        event = _decode_entry_or_empty_if_erased(entry)
        recipients = recipients.with_entry(event) if event else recipients
        recipient_ids = recipients.subscriptions.recipient_ids(event) if event else []
        if event and (request_id := event["context"]["requestId"]):
            request_ids[event["id"]] = request_id
        for part in range(offset.part, len(recipient_ids)):
            delivery, recipients = recipients.planned_delivery_and_update(
                recipient_ids[part], event, sequence, timestamp
            )
            batch.append(delivery)
            if len(batch) == _MAX_DELIVERIES:
                offset = ConsumerOffset(sequence - 1, part + 1)
                yield FanOutStep(batch, request_ids, offset, recipients)
                batch = []
        offset = ConsumerOffset(sequence)
    yield FanOutStep(batch, request_ids, offset, recipients.with_notified_streams(offset.sequence, timestamp))


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
