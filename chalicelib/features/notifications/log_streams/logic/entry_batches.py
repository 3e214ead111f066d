"""Batches: successive entries of a log that a stream sends in one request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry
from chalicelib.features.notifications.log_streams.entities import LogStream, StreamProgress
from chalicelib.features.notifications.logic.fan_out import MissingEntry
from chalicelib.features.notifications.models.event_areas import is_in_scope_areas
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.core.event_patterns import matches_any_pattern
from chalicelib.kernel.core.logs import add_fields

MAX_BATCH_ENTRIES: Final = 1_000
"""Maximum entries in a batch of a log stream."""

MAX_BATCH_BYTES: Final = 1_000_000
"""Maximum size of a batch of a log stream, as lines of JSON. A batch with one entry may be larger."""


@dataclass(frozen=True)
class BatchEntry:
    """An entry as a stream sends it: the JSON of exports, with sequence and integrity. `occurred_at`: its time."""

    json: bytes
    type: str
    occurred_at: str


@dataclass(frozen=True)
class EntryBatch:
    """The entries to send from `first_sequence` to `last_sequence`. Entries that the stream does not send are left out.

    If all are left out, there is nothing to send.
    """

    log_id: str
    first_sequence: int
    last_sequence: int
    entries: Sequence[BatchEntry]


def load_next_batch(stream: LogStream, progress: StreamProgress, until_sequence: int) -> EntryBatch:
    """Return the next batch, which ends with `until_sequence` at the latest. There is at least one entry until then.

    Erased entries are read from the table, because an index lags. Raises MissingEntry at a gap in the log.
    """
    log_id, start = stream.organization_id, progress.position
    until_sequence = min(until_sequence, start + (progress.max_entries or MAX_BATCH_ENTRIES))
    entries, size_bytes, last_sequence = list[BatchEntry](), 0, start
    for sequence, stored in _iter_entries_without_gap(log_id, start, until_sequence):
        entry = _entry_to_send_or_none(stream, stored)
        if entry:
            size_bytes += len(entry.json) + 1
            if entries and size_bytes > MAX_BATCH_BYTES:
                break
            entries.append(entry)
        last_sequence = sequence
    return EntryBatch(log_id, start + 1, last_sequence, entries)


def _iter_entries_without_gap(
    log_id: str, after_sequence: int, until_sequence: int
) -> Iterator[tuple[int, StoredEntry]]:
    expected = after_sequence + 1
    for chunk in logs.iter_sequenced_entry_chunks(log_id, after_sequence, until_sequence, reread_from_table=True):
        for stored in chunk:
            if stored.item.get("sequence") != expected:
                raise MissingEntry(f"log {log_id}: the entry with sequence {expected} is not there")
            yield expected, stored
            expected += 1
    if expected <= until_sequence:
        raise MissingEntry(f"log {log_id}: the entry with sequence {expected} is not there")


def _entry_to_send_or_none(stream: LogStream, stored: StoredEntry) -> BatchEntry | None:
    """Return an entry as it is sent, or None if the stream does not send it."""
    entry = EntryItem.from_item(stored.item)
    if not (matches_any_pattern(stream.events, entry.type) and is_in_scope_areas(entry.type, stream.areas)):
        return None
    body = stored.body if isinstance(stored.body, bytes) else None
    if body is None and not entry.erased:  # Somebody has removed it. Verification reports that.
        add_fields(undelivered=entry.id)
        return None
    return BatchEntry(logs.entry_to_json_bytes(entry, body), entry.type, entry.created_at)
