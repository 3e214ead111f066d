"""Serialization of entries as NDJSON or CSV."""

import csv
import re
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Final

from pydantic_core import from_json, to_json

from chalicelib.features.audit.exports.models import ExportFormat

MEDIA_TYPES: Final[Mapping[ExportFormat, str]] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8; header=present",
}

_INVISIBLE: Final = r"\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_QUOTES: Final = r"\"'`\xab\xb4\xbb\u2018-\u201f\uff02\uff07"
_SEPARATORS: Final = r";|\t"
_FORMULA_SIGNS: Final = r"=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20"
_FORMULA: Final = re.compile(rf"(\A|[{_SEPARATORS}])(?=[{_INVISIBLE}{_QUOTES}]*[{_FORMULA_SIGNS}])")
"""The start of a possible formula in a cell.

Spreadsheets skip invisible characters and quotes, and some accept full-width signs. A spreadsheet that splits the file
at another separator than the comma sees a new cell after each of those characters.
"""


def file_header_bytes(export_format: ExportFormat) -> bytes:
    """Return the bytes before the first entry: the CSV header row, or nothing."""
    return _escaped_csv_row_bytes(list(_COLUMNS)) if export_format == "csv" else b""


def format_entry(export_format: ExportFormat, entry_json: bytes) -> bytes:
    """Return an entry in a format. Raises ValueError if `entry_json` is not one line of JSON."""
    entry = from_json(entry_json)
    if b"\n" in entry_json:
        raise ValueError("the entry contains a newline")
    return (
        _escaped_csv_row_bytes([column(entry) for column in _COLUMNS.values()])
        if export_format == "csv"
        else entry_json + b"\n"
    )


def _escaped_csv_row_bytes(cells: list[Any]) -> bytes:
    text = StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(map(escape_formulas, cells))
    return text.getvalue().encode()


def escape_formulas(cell: Any) -> str:
    """Return a cell as text that no spreadsheet evaluates, with an apostrophe before each possible formula (OWASP)."""
    return _FORMULA.sub(r"\1'", "" if cell is None else str(cell))


def _member_column_getter(name: str, member: str) -> Callable[[Any], Any]:
    return lambda entry: (entry.get(name) or {}).get(member)


def _json_column_getter(name: str) -> Callable[[Any], str | None]:
    return lambda entry: None if entry.get(name) is None else to_json(entry[name]).decode()


def _flag_column_getter(name: str, *, of: str | None = None) -> Callable[[Any], str | None]:
    return lambda entry: "true" if ((entry.get(of) or {}) if of else entry).get(name) else None


def _plain_column_getter(name: str) -> Callable[[Any], Any]:
    return lambda entry: entry.get(name)


_COLUMNS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **{name: _plain_column_getter(name) for name in ("sequence", "id", "occurredAt", "type")},
    **{f"actor{member.capitalize()}": _member_column_getter("actor", member) for member in ("type", "id", "name")},
    **{f"target{member.capitalize()}": _member_column_getter("target", member) for member in ("type", "id", "name")},
    **{name: _member_column_getter("context", name) for name in ("operationId", "requestId", "ipAddress", "userAgent")},
    **{name: _json_column_getter(name) for name in ("changes", "data")},
    **{name: _member_column_getter("integrity", name) for name in ("leafHash", "treeSize")},
    "erased": _flag_column_getter("erased"),
    **{name: _plain_column_getter(name) for name in ("version", "receivedAt")},
    "actorAsserted": _flag_column_getter("asserted", of="actor"),
    **{f"reportedBy{each.capitalize()}": _member_column_getter("reportedBy", each) for each in ("type", "id", "name")},
    "targets": _json_column_getter("targets"),
}
"""The value of each column, by its name in the header row. The columns after `erased` are those of application events.

New columns are added at the end, so that programs which read columns by their position continue to work.
"""
