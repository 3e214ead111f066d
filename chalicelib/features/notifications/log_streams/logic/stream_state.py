"""The state of a log stream: its settings, its progress and the size of the log, read together."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from chalicelib.features.notifications.log_streams.entities import LogStream, StreamProgress
from chalicelib.features.notifications.log_streams.models.schemas import LogStreamDetailOut
from chalicelib.features.notifications.logic.stream_wakeups import StreamSet, streams_key
from chalicelib.kernel.audit_log.ledger import head_key, log_size_in_head_item, sequence_index_or_batch_key
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.ids import timestamp_ms_of_id
from chalicelib.kernel.operations.inputs import KnownValues, Measurement
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey, Partition
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate


@dataclass(frozen=True)
class StreamState:
    """What a worker knows about a stream. `is_listed`: whether the fan-out informs the stream of new entries."""

    stream: LogStream | None
    progress: StreamProgress
    log_size: int
    is_listed: bool

    @property
    def sends(self) -> bool:
        """Return whether the stream exists and sends entries."""
        return self.stream is not None and self.stream.status == "active" and not self.progress.pending_disable_reason


def load_state_or_none(log_id: str, stream_id: str) -> StreamState | None:
    """Return the current state of a stream of an organization with one read, or None if there is no such stream."""
    stream_key = LogStream.make_item_key(organization_id=log_id, id=stream_id)
    progress_key = StreamProgress.make_item_key(id=stream_id)
    items = table.get_all([progress_key, stream_key, head_key(log_id), streams_key(log_id)])
    if progress_key not in items or items[progress_key]["organization_id"] != log_id:
        return None
    progress = StreamProgress.from_item(items[progress_key])
    stream = LogStream.from_item(items[stream_key]) if stream_key in items else None
    listed = StreamSet.from_item(items.get(streams_key(log_id)))
    return StreamState(
        stream, progress, log_size_in_head_item(items.get(head_key(log_id))), progress.id in listed.stream_ids
    )


def store_progress(progress: StreamProgress, *, requires_same_fan_out: bool = False, **changed: Any) -> StreamProgress:
    """Store changed fields of the progress of a stream and return it.

    Raises ConcurrentModification if another worker or a request changed it, or, if `requires_same_fan_out`, if the
    fan-out has processed another entry.
    """
    updated = progress.replace(**changed)
    old, new = progress.item(), updated.item()
    update = ItemUpdate(
        progress.item_key,
        set={name: value for name, value in new.items() if old.get(name) != value},
        remove=[name for name in old if name not in new],
    )
    condition = "#position = :was_position AND " + (
        "#due_at = :was_due_at" if progress.due_at else "attribute_exists(#pk) AND attribute_not_exists(#due_at)"
    )
    values: dict[str, Any] = {"was_position": progress.position}
    values |= {"was_due_at": progress.due_at} if progress.due_at else {}
    if requires_same_fan_out:
        condition += " AND #fanned_out_sequence = :was_fanned_out"
        values["was_fanned_out"] = progress.fanned_out_sequence
    try:
        table.write_transaction([update.to_write(condition, **values)])
    except TransactionCancelled as cancelled:
        raise ConcurrentModification from cancelled
    return updated


class Progress(Measurement):
    """The progress of the stream in the path, and the head of the organization's log."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of both."""
        parameters = values.parameters
        return [
            StreamProgress.make_item_key(id=parameters["log_stream_id"]),
            head_key(parameters["organization_id"]),
        ]

    def of(self, stream: LogStream) -> StreamProgress:
        """Return the progress."""
        return _progress_or_initial(stream, self.items.get(self.keys[0]))

    @property
    def log_size(self) -> int:
        """Return the number of entries that have a sequence."""
        return log_size_in_head_item(self.items.get(self.keys[1]))

    def describe(self, record: LogStream) -> LogStreamDetailOut:
        """Return the stream with its progress. It takes a read if entries wait."""
        return describe_stream(record, self.of(record), self.log_size)


def describe_streams(streams: Sequence[LogStream], organization_id: str) -> list[LogStreamDetailOut]:
    """Return streams of an organization with their progress. It takes two round trips, the second one in parallel."""
    if not streams:
        return []
    head = head_key(organization_id)
    items = table.get_all([head, *(stream.progress_key for stream in streams)])
    log_size = log_size_in_head_item(items.get(head))
    describe: list[Callable[[], LogStreamDetailOut]] = [
        partial(describe_stream, stream, _progress_or_initial(stream, items.get(stream.progress_key)), log_size)
        for stream in streams
    ]
    return table.gather(operator.call, describe)


def _progress_or_initial(stream: LogStream, item: Item | None) -> StreamProgress:
    """Return the progress in an item. Without one, because the stream is deleted meanwhile, it is that of the start."""
    return StreamProgress.from_item(item) if item else StreamProgress.create(stream, due_at=None)


def describe_stream(
    stream: LogStream, progress: StreamProgress, log_size: int, **shown_once: str | None
) -> LogStreamDetailOut:
    """Return a stream with its progress. It takes a read if entries wait. `shown_once`: a new secret."""
    lag_entries = max(0, log_size - progress.position)
    is_failing = stream.status == "active" and progress.failing_since is not None
    fields = {
        **{name: getattr(stream, name) for name in LogStreamDetailOut.model_fields if hasattr(stream, name)},
        "status": "failing" if is_failing else stream.status,
        "position": progress.position,
        "lag_entries": lag_entries,
        "lag_seconds": _lag_seconds(stream.organization_id, progress.position) if lag_entries else 0,
        "failing_since": progress.failing_since,
        "last_error": progress.last_error,
        "secret": None,
    }
    return LogStreamDetailOut.model_validate(fields | shown_once)


def _lag_seconds(log_id: str, position: int) -> int:
    """Return the age of the first entry after a position. The index of sequences shows it after a moment."""
    pk, sk = sequence_index_or_batch_key(log_id, position + 1)
    items = table.query(Partition(pk, "index1"), since=sk, limit=1).items
    return max(0, now_ms() - timestamp_ms_of_id(items[0]["sk"])) // 1000 if items else 0
