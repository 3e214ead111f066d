"""Inline export: collects a log into one response, within limits on entries, bytes and reads."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.models import EntryFilters
from chalicelib.features.audit_exports.formats import head, written
from chalicelib.features.audit_exports.models import Format
from chalicelib.kernel.audit_log.entries import INLINE_BYTES, EntryItem
from chalicelib.kernel.core import ids
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.execution import envelope
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.storage.entity import Item

MOST_ENTRIES: Final = 10_000
MOST_BYTES: Final = 5_000_000
MOST_QUERIES: Final = 30
"""Queries on the log, each of which reads up to a megabyte."""

MOST_QUERIES_AT_THE_END: Final = 30
"""Queries for recent entries, which are read from the table even where an index serves the filters."""

LONGEST_LAG_SECONDS: Final = 600
"""Age after which every index is certain to have an entry; several times the lag that was observed."""

_BATCH_SIZE: Final = 100


class TooMuch(Exception):
    """The export does not fit into one response; the message says why."""


def collect(log: str, wanted: EntryFilters, export_format: Format) -> str:
    """Return the matching entries, oldest first, and entries without a sequence last. Raises ExportTooLarge."""
    entries = sorted(_load_entries(log, wanted), key=lambda entry: (not entry.sequence, entry.sequence or 0, entry.id))
    text = bytearray(head(export_format))
    for start in range(0, len(entries), _BATCH_SIZE):
        for line in logs.lines(entries[start : start + _BATCH_SIZE]):
            with suppress(ValueError):  # Too damaged to show; verification reports it.
                text += written(export_format, line)
        if len(text) > MOST_BYTES:
            raise TooMuch(f"The export has more than {MOST_BYTES:,} bytes.")
    if not envelope.fits_envelope(Response(HTTPStatus.OK, bytes(text))):
        raise TooMuch("The export is larger than a response can be.")
    return text.decode()


def _load_entries(log: str, wanted: EntryFilters) -> list[EntryItem]:
    result: list[EntryItem] = []
    min_bytes = 0
    for page in pages(log, wanted):
        result += page
        min_bytes += sum(len(entry.body or b"") or INLINE_BYTES * (not entry.erased) for entry in page)
        if len(result) > MOST_ENTRIES:
            raise TooMuch(f"The export has more than {MOST_ENTRIES:,} entries.")
        if min_bytes > MOST_BYTES:
            raise TooMuch(f"The entries have more than {MOST_BYTES:,} bytes.")
    return result


def pages(log: str, wanted: EntryFilters) -> Iterator[list[EntryItem]]:
    """Yield matching entries page by page, newest first, without gaps. Raises ExportTooLarge.

    Indexes serve the filters but lag, so recent entries are read from the table itself.
    """
    uses_index, recent_from = logs.is_by_index(wanted), ids.lower_bound(now_ms() - LONGEST_LAG_SECONDS * 1000)
    position: Item | None = None
    query_counts: Counter[bool] = Counter()
    while True:
        exact = uses_index and (position is None or position["at"] > recent_from)
        query_counts[exact] += 1
        if query_counts[exact] > (MOST_QUERIES_AT_THE_END if exact else MOST_QUERIES):
            raise TooMuch("The log is too long to be searched within one request.")
        page, position = logs.page([log], wanted, position, MOST_ENTRIES + 1, exact=exact)
        yield page if exact or not uses_index else logs.as_stored(log, wanted, page)
        if position is None:
            return
