"""Informs the log streams of an organization of new entries.

The transaction that advances the offset of the fan-out also schedules each active stream, unless it is scheduled
already. So a stream learns of each entry even if a message is lost. Which streams are active follows from the log, like
the subscriptions of webhooks.

Messages make the workers faster. One in 30 seconds starts the workers once entries have waited for so long. One after
each 250 entries starts those for which a full batch waits already.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.features.notifications.entities import MAX_BATCH_WAIT_SECONDS, START_STREAM_TASK
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage.entity import Item, ItemKey, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.record_types import get_record_type
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from chalicelib.kernel.work import queues

STREAM_KIND: Final = "organization.log_stream"
"""The kind of log streams."""

_NOTIFY_ENTRIES: Final = 250
"""New entries after which the fan-out starts the tasks that check whether a full batch waits for a stream."""

_PROGRESS_KIND: Final = "organization.log_stream.progress"
_DELETED_EVENT: Final = "organization.log_stream.deleted"


@dataclass(frozen=True)
class StreamSet:
    """The active log streams of a log as of an entry.

    `notified_at`: when messages were last sent that start their workers 30 seconds later. `notified_sequence`: the
    entry at which messages were last sent that start the workers with a full batch.
    """

    stream_ids: Sequence[str] = ()
    notified_at: str = ""
    notified_sequence: int = 0

    @classmethod
    def from_item(cls, item: Item | None) -> "StreamSet":
        """Return the streams in an item."""
        return cls(tuple(item["ids"]), item["notified_at"], int(item.get("notified_sequence", 0))) if item else cls()

    def with_entry(self, entry: Mapping[str, Any]) -> "StreamSet":
        """Return the streams after a built-in entry, which may be about one of them."""
        target, data = entry["target"], entry["data"]
        if target["type"] != STREAM_KIND:
            return self
        others = [each for each in self.stream_ids if each != target["id"]]
        is_active = entry["type"] != _DELETED_EVENT and data["enabled"] and data["status"] == "active"
        return replace(self, stream_ids=tuple(sorted([*others, target["id"]] if is_active else others)))

    def notified(self, sequence: int, timestamp: str) -> "StreamSet":
        """Return the streams with workers that are notified of an entry now, unless none of the messages is due."""
        if not self.stream_ids:
            return self
        is_due = not self.notified_at or after(self.notified_at, seconds=MAX_BATCH_WAIT_SECONDS) <= timestamp
        has_many = sequence - self.notified_sequence >= _NOTIFY_ENTRIES
        return replace(
            self,
            notified_at=timestamp if is_due else self.notified_at,
            notified_sequence=sequence if has_many else self.notified_sequence,
        )

    def wake_writes(self, sequence: int, timestamp: str, deleted: Collection[ItemKey]) -> list[Write]:
        """Return the writes that inform the streams of the entries up to a sequence. A write fails without a stream.

        `deleted`: the keys of the progress of streams that are known to be deleted.
        """
        due_at = after(timestamp, seconds=MAX_BATCH_WAIT_SECONDS)
        return [
            ItemUpdate(
                key,
                set={"fanned_out_sequence": sequence},
                set_missing={**schedule_attributes(ScheduledTask(START_STREAM_TASK, due_at), key), "due_at": due_at},
            ).to_write("attribute_exists(#pk)")
            for key in map(progress_key, self.stream_ids)
            if key not in deleted
        ]

    def queue_starts(self, previous: "StreamSet") -> None:
        """Send the messages of which the streams say that they were sent since a previous state.

        Raises Problem `unavailable`.
        """
        tasks = [(START_STREAM_TASK, progress_key(stream_id)) for stream_id in self.stream_ids]
        if self.notified_at != previous.notified_at:
            queues.enqueue_batch(tasks, delay_seconds=MAX_BATCH_WAIT_SECONDS)
        if self.notified_sequence != previous.notified_sequence:
            queues.enqueue_batch(tasks)

    def to_item(self, log_id: str) -> Item:
        """Return the streams as an item."""
        pk, sk = streams_key(log_id)
        return {
            "pk": pk,
            "sk": sk,
            "ids": [*self.stream_ids],
            "notified_at": self.notified_at,
            "notified_sequence": self.notified_sequence,
        }


def progress_key(stream_id: str) -> ItemKey:
    """Return the item key of the progress of a stream."""
    return get_record_type(_PROGRESS_KIND).make_item_key(id=stream_id)


def streams_key(log_id: str) -> ItemKey:
    """Return the item key of a log's active streams."""
    return f"F#{log_id}", "LOG-STREAMS"
