"""How entries are written: a line each, as NDJSON or CSV."""

import csv
import re
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Final

from pydantic_core import from_json, to_json

from chalicelib.features.audit_exports.models import Format

MEDIA_TYPES: Final[Mapping[Format, str]] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8; header=present",
}

_UNSEEN: Final = r"\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_QUOTES: Final = r"\"'`\xab\xb4\xbb\u2018-\u201f\uff02\uff07"
_SEPARATORS: Final = r";|\t"
_SIGNS: Final = r"=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20"
_FORMULA: Final = re.compile(rf"(\A|[{_SEPARATORS}])(?=[{_UNSEEN}{_QUOTES}]*[{_SIGNS}])")
"""Where a formula begins: spreadsheets look behind what they don't show, and behind quotes; some take full-width signs.

One that splits a file at another character than the comma finds a cell behind each of those characters.
"""


def head(form: Format) -> bytes:
    """Return what stands before the first entry."""
    return _row(list(_COLUMNS)) if form == "csv" else b""


def written(form: Format, line: bytes) -> bytes:
    """Return an entry, given as JSON, in a format. Raises ValueError if that is no JSON, or not in one line."""
    entry = from_json(line)
    if b"\n" in line:
        raise ValueError("a line ends within it")
    return _row([column(entry) for column in _COLUMNS.values()]) if form == "csv" else line + b"\n"


def _row(cells: list[Any]) -> bytes:
    text = StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(map(guarded, cells))
    return text.getvalue().encode()


def guarded(cell: Any) -> str:
    """Return a cell as text that no spreadsheet takes for a formula: an apostrophe stands in front of each (OWASP)."""
    return _FORMULA.sub(r"\1'", "" if cell is None else str(cell))


def _part(name: str, member: str) -> Callable[[Any], Any]:
    return lambda entry: (entry[name] or {}).get(member)


def _json(name: str) -> Callable[[Any], str | None]:
    return lambda entry: None if entry[name] is None else to_json(entry[name]).decode()


def _plain(name: str) -> Callable[[Any], Any]:
    return lambda entry: entry[name]


_COLUMNS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **{name: _plain(name) for name in ("sequence", "id", "occurredAt", "type")},
    **{f"actor{member.capitalize()}": _part("actor", member) for member in ("type", "id", "name")},
    **{f"target{member.capitalize()}": _part("target", member) for member in ("type", "id", "name")},
    **{name: _part("context", name) for name in ("operationId", "requestId", "ipAddress", "userAgent")},
    **{name: _json(name) for name in ("changes", "data")},
    **{name: _part("integrity", name) for name in ("leafHash", "treeSize")},
    "erased": lambda entry: "true" if "erased" in entry else None,
}
"""What stands in each column, by its name in the first line."""
