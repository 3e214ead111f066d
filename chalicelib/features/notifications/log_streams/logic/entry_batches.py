"""Batches: successive entries of a log that a stream sends in one request."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, has_entry_display_attributes
from chalicelib.features.notifications.log_streams.entities import LogStream
from chalicelib.features.notifications.log_streams.logic.destination_formats import entry_formatter
from chalicelib.features.notifications.models.event_areas import is_in_scope_areas
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.core.event_patterns import matches_any_pattern

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

    log_id: str
    first_sequence: int
    last_sequence: int
    entries: Sequence[bytes] = ()
    first_occurred_at: str | None = None

    @property
    def is_test(self) -> bool:
        """Return whether the entry is that of a test, which has no sequence."""
        return self.last_sequence == 0


class UnreadableEntry(Exception):
    """The next entry of a log is missing, or somebody has altered it. The message is for users."""

    def __init__(self, sequence: int) -> None:
        super().__init__(
            f"The entry with sequence {sequence} is missing from the log, or was altered. Verify the log, and ask the "
            f"operator of the service to restore it. A restart with `startAt` {sequence + 1} skips the entry."
        )


def load_next_batch(stream: LogStream, position: int, until_sequence: int) -> EntryBatch:
    """Return the batch after a position, which ends with `until_sequence` at the latest. An entry has this sequence.

    Erased entries are read from the table, because an index lags. The batch ends before an entry that cannot be read.
    Raises UnreadableEntry if that is the first one.
    """
    format_entry, log_id = entry_formatter(stream), stream.organization_id
    formatted, size_bytes, last_sequence = list[bytes](), 1, position
    first_occurred_at: str | None = None
    chunks = logs.iter_sequenced_entry_chunks(log_id, position, until_sequence, reread_from_table=True)
    for stored in chain.from_iterable(chunks):
        if not _is_readable(stored, last_sequence + 1):
            break
        entry = EntryItem.from_item(stored.item)
        if _sends(stream, entry.type):
            body = stored.body if isinstance(stored.body, bytes) else None
            value = format_entry(logs.entry_to_json_bytes(entry, body), entry.created_at)
            size_bytes += len(value) + 1  # A separator follows each entry. An array begins with one more byte.
            if formatted and size_bytes > MAX_BATCH_BYTES:
                break
            formatted.append(value)
            first_occurred_at = first_occurred_at or entry.created_at
        last_sequence += 1
    if last_sequence == position:
        raise UnreadableEntry(position + 1)
    return EntryBatch(log_id, position + 1, last_sequence, formatted, first_occurred_at)


def _is_readable(stored: StoredEntry, sequence: int) -> bool:
    """Return whether an entry has this sequence, and everything that a stream sends of it."""
    item = stored.item
    has_body = isinstance(stored.body, bytes) or "erased" in item
    return item.get("sequence") == sequence and has_body and has_entry_display_attributes(item)


def _sends(stream: LogStream, event_type: str) -> bool:
    return matches_any_pattern(stream.events, event_type) and is_in_scope_areas(event_type, stream.areas)
