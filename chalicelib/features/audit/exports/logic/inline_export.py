"""Inline export: collects a log into one response, within limits on entries, bytes and reads."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from chalicelib.features.audit.exports.logic.entry_formats import file_header_bytes, format_entry
from chalicelib.features.audit.exports.models import ExportFormat
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.audit_log.entries import INLINE_BYTES, EntryItem
from chalicelib.kernel.core import ids
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.execution import envelope
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.storage.entity import Item

MAX_ENTRIES: Final = 10_000
"""Entries of an export that is the response itself. A larger one has to run as a job."""

MAX_BYTES: Final = 5_000_000
"""Size of an export that is the response itself. A larger one has to run as a job."""

MAX_QUERIES: Final = 30
"""Queries on the log, each of which reads up to a megabyte."""

MAX_RECENT_QUERIES: Final = 30
"""Queries for recent entries, which are read from the table even where an index serves the filters."""

MAX_INDEX_LAG_SECONDS: Final = 600
"""Age after which every index has an entry, which is several times the lag that was observed."""

_BATCH_SIZE: Final = 100


class ExportTooLarge(Exception):
    """The export does not fit into one response. The message has the reason."""


def build_inline_export_text(log_ids: Sequence[str], filters: EntryFilters, export_format: ExportFormat) -> str:
    """Return the matching entries of one or several logs, oldest first, and entries without a sequence last.

    The entries of one log are in the order of its tree, those of several logs in the order of their times. Raises
    ExportTooLarge.
    """
    entries = sorted(
        _load_matching_entries(log_ids, filters), key=_order_in_log if len(log_ids) == 1 else _order_in_time
    )
    text = bytearray(file_header_bytes(export_format))
    for start in range(0, len(entries), _BATCH_SIZE):
        for line in logs.load_entries_as_json_bytes(entries[start : start + _BATCH_SIZE]):
            with suppress(ValueError):  # It is too damaged to show. Verification reports it.
                text += format_entry(export_format, line)
        if len(text) > MAX_BYTES:
            raise ExportTooLarge(f"The export has more than {MAX_BYTES:,} bytes.")
    return require_response_size(bytes(text)).decode()


def require_response_size(text: bytes) -> bytes:
    """Return a text that fits into one response. Raises ExportTooLarge."""
    if not envelope.is_within_response_size_limit(Response(HTTPStatus.OK, text)):
        raise ExportTooLarge("The export is larger than a response can be.")
    return text


def _order_in_log(entry: EntryItem) -> tuple[Any, ...]:
    return not entry.sequence, entry.sequence or 0, entry.id


def _order_in_time(entry: EntryItem) -> tuple[Any, ...]:
    return not entry.sequence, entry.id


def _load_matching_entries(log_ids: Sequence[str], filters: EntryFilters) -> list[EntryItem]:
    result: list[EntryItem] = []
    min_bytes = 0
    for page in iter_matching_pages_newest_first(log_ids, filters):
        result += page
        min_bytes += sum(len(entry.body or b"") or INLINE_BYTES * (not entry.erased) for entry in page)
        if len(result) > MAX_ENTRIES:
            raise ExportTooLarge(f"The export has more than {MAX_ENTRIES:,} entries.")
        if min_bytes > MAX_BYTES:
            raise ExportTooLarge(f"The entries have more than {MAX_BYTES:,} bytes.")
    return result


def iter_matching_pages_newest_first(log_ids: Sequence[str], filters: EntryFilters) -> Iterator[list[EntryItem]]:
    """Yield matching entries page by page, newest first, without gaps. Raises ExportTooLarge.

    Indexes serve the filters but lag, so recent entries are read from the table itself.
    """
    uses_index, recent_from = (
        logs.has_index_for(filters),
        ids.id_timestamp_prefix(now_ms() - MAX_INDEX_LAG_SECONDS * 1000),
    )
    position: Item | None = None
    query_counts: Counter[bool] = Counter()
    while True:
        exact = uses_index and (position is None or position["at"] > recent_from)
        query_counts[exact] += 1
        if query_counts[exact] > (MAX_RECENT_QUERIES if exact else MAX_QUERIES):
            raise ExportTooLarge("The log is too long to be searched within one request.")
        page, position = logs.list_entries_newest_first(log_ids, filters, position, MAX_ENTRIES + 1, bypass_index=exact)
        yield page if exact or not uses_index else logs.refetch_matching_entries(log_ids, filters, page)
        if position is None:
            return
