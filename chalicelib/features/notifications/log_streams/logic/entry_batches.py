"""Batches: successive entries of a log that a stream sends in one request."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, has_entry_display_attributes
from chalicelib.features.notifications.log_streams.entities import LogStream
from chalicelib.features.notifications.log_streams.logic.destination_formats import entry_formatter
from chalicelib.features.notifications.models.event_areas import accepts_event_type
from chalicelib.kernel.audit_log.entries import EntryItem

MAX_BATCH_ENTRIES: Final = 1_000
"""Maximum entries in a batch of a log stream."""

MAX_BATCH_BYTES: Final = 1_000_000
"""Maximum size of a request of a log stream, in the format of the destination and before any compression.

The request with a single entry may be larger.
"""


@dataclass(frozen=True)
class EntryBatch:
    """The entries to send from `first_sequence` to `last_sequence`, in the format of the destination.

    Entries that the stream does not send are left out. If all are left out, there is nothing to send.
    `first_occurred_at`: the time of the first entry.
    """

    first_sequence: int
    last_sequence: int
    entries: Sequence[bytes] = ()
    first_occurred_at: str | None = None

    @property
    def is_test(self) -> bool:
        """Return whether the entry is that of a test, which has no sequence."""
        return self.last_sequence == 0


class UnreadableNextEntry(Exception):
    """The next entry of a log is missing, or somebody has altered it. The message is for users."""

    def __init__(self, sequence: int) -> None:
        super().__init__(
            f"The entry with sequence {sequence} is missing from the log, or was altered. Verify the log, and ask the "
            f"operator of the service to restore it. A restart with `startAt` {sequence + 1} skips the entry."
        )


def load_next_batch(stream: LogStream, position: int, until_sequence: int) -> EntryBatch:
    """Return the batch after a position, which ends with `until_sequence` at the latest. An entry has this sequence.

    Erased entries are read from the table, because an index lags. The batch ends before an entry that cannot be read.
    Raises UnreadableNextEntry if that is the first one.
    """
    format_entry = entry_formatter(stream)
    formatted, size_bytes, last_sequence = list[bytes](), 1, position
    first_occurred_at: str | None = None
    chunks = logs.iter_sequenced_entry_chunks(stream.organization_id, position, until_sequence, reread_from_table=True)
    for stored in chain.from_iterable(chunks):
        if not _is_readable(stored, last_sequence + 1):
            break
        entry = EntryItem.from_item(stored.item)
        if accepts_event_type(stream.events, stream.areas, entry.type):
            value = format_entry(logs.entry_to_json_bytes(entry, stored.body_bytes_or_none), entry.created_at)
            size_bytes += len(value) + 1  # A separator follows each entry. An array begins with one more byte.
            if formatted and size_bytes > MAX_BATCH_BYTES:
                break
            formatted.append(value)
            first_occurred_at = first_occurred_at or entry.created_at
        last_sequence += 1
    if last_sequence == position:
        raise UnreadableNextEntry(position + 1)
    return EntryBatch(position + 1, last_sequence, formatted, first_occurred_at)


def _is_readable(stored: StoredEntry, sequence: int) -> bool:
    """Return whether an entry has this sequence, and everything that a stream sends of it."""
    return (
        stored.item.get("sequence") == sequence
        and stored.has_body_or_is_erased
        and has_entry_display_attributes(stored.item)
    )
