"""What one answer can hold of a log: bounded in entries, bytes and reads."""

from contextlib import suppress
from http import HTTPStatus
from typing import Final

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.models import EntryFilters
from chalicelib.features.audit_exports.formats import head, written
from chalicelib.features.audit_exports.models import Format
from chalicelib.kernel import envelope
from chalicelib.kernel.entity import Item
from chalicelib.kernel.events import INLINE_BYTES, EntryItem
from chalicelib.kernel.request import Response

MOST_ENTRIES: Final = 10_000
MOST_BYTES: Final = 5_000_000
MOST_QUERIES: Final = 30
"""Pages of the log looked through, of a megabyte each."""

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
    if not envelope.fits(Response(HTTPStatus.OK, bytes(text))):
        raise TooMuch("It has more bytes than an answer can carry.")
    return text.decode()


def _entries(log: str, wanted: EntryFilters) -> list[EntryItem]:
    found: list[EntryItem] = []
    position: Item | None = None
    least_bytes = 0
    for _ in range(MOST_QUERIES):
        page, position = logs.page([log], wanted, position, MOST_ENTRIES + 1 - len(found))
        found += page
        least_bytes += sum(len(entry.body or b"") or INLINE_BYTES * (not entry.erased) for entry in page)
        if len(found) > MOST_ENTRIES:
            raise TooMuch(f"It has more than {MOST_ENTRIES:,} entries.")
        if least_bytes > MOST_BYTES:
            raise TooMuch(f"Its entries have more than {MOST_BYTES:,} bytes.")
        if position is None:
            return found
    raise TooMuch("The log is too long to be looked through for it at once.")
