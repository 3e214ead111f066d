"""What one answer can hold of a log: bounded in entries, bytes and reads."""

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
"""Pages of the log looked through, of a megabyte each."""

MOST_QUERIES_AT_THE_END: Final = 30
"""The same of what is new in the log, which is looked through where an index leads to all else."""

LONGEST_LAG_SECONDS: Final = 600
"""After so long an index has shown all there is, several times over."""

_AT_ONCE: Final = 100


class TooMuch(Exception):
    """It does not fit into one answer; says why not."""


def collect(log: str, wanted: EntryFilters, form: Format) -> str:
    """Return what passes of a log, the oldest first, and last what has no sequence yet. Raises TooMuch."""
    entries = sorted(_entries(log, wanted), key=lambda entry: (not entry.sequence, entry.sequence or 0, entry.id))
    text = bytearray(head(form))
    for start in range(0, len(entries), _AT_ONCE):
        for line in logs.lines(entries[start : start + _AT_ONCE]):
            with suppress(ValueError):  # Altered beyond showing: verification says where that is.
                text += written(form, line)
        if len(text) > MOST_BYTES:
            raise TooMuch(f"It has more than {MOST_BYTES:,} bytes.")
    if not envelope.fits_envelope(Response(HTTPStatus.OK, bytes(text))):
        raise TooMuch("It has more bytes than an answer can carry.")
    return text.decode()


def _entries(log: str, wanted: EntryFilters) -> list[EntryItem]:
    found: list[EntryItem] = []
    least_bytes = 0
    for page in pages(log, wanted):
        found += page
        least_bytes += sum(len(entry.body or b"") or INLINE_BYTES * (not entry.erased) for entry in page)
        if len(found) > MOST_ENTRIES:
            raise TooMuch(f"It has more than {MOST_ENTRIES:,} entries.")
        if least_bytes > MOST_BYTES:
            raise TooMuch(f"Its entries have more than {MOST_BYTES:,} bytes.")
    return found


def pages(log: str, wanted: EntryFilters) -> Iterator[list[EntryItem]]:
    """Yield what passes, the newest first, page by page, and nothing that is missing in it. Raises TooMuch.

    Filters have indexes, which lag: the end of the log, and all that is new in it, is looked through in the table.
    """
    by_index, new = logs.is_by_index(wanted), ids.lower_bound(now_ms() - LONGEST_LAG_SECONDS * 1000)
    position: Item | None = None
    queries: Counter[bool] = Counter()
    while True:
        exact = by_index and (position is None or position["at"] > new)
        queries[exact] += 1
        if queries[exact] > (MOST_QUERIES_AT_THE_END if exact else MOST_QUERIES):
            raise TooMuch("The log is too long to be looked through for it at once.")
        page, position = logs.page([log], wanted, position, MOST_ENTRIES + 1, exact=exact)
        yield page if exact or not by_index else logs.as_stored(log, wanted, page)
        if position is None:
            return
