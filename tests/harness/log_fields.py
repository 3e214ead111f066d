"""The documented fields of log records, from `docs/operations/logs.md`."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from local.paths import ROOT
from tests.harness.log_records import SECRET_PATTERN, Json

LOGS_DOCUMENT: Final = ROOT / "docs/operations/logs.md"
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "text": str,
    "number": (int, float),
    "list": list,
    "object": dict,
    "true": bool,
}
_INVOCATION_SECTIONS: Final = (
    "Every line",
    "Requests, messages, schedules and functions",
    "Messages, schedules and functions",
)
_SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "request": (*_INVOCATION_SECTIONS[:2], "Requests"),
    "message": _INVOCATION_SECTIONS,
    "schedule": _INVOCATION_SECTIONS,
    "function": _INVOCATION_SECTIONS,
    "attempt": ("Every line", "Attempts"),
    "streamBatch": ("Every line", "Batches of log streams"),
}


@cache
def documented_fields() -> Mapping[str, Mapping[str, str]]:
    """Return the type of each field, by section."""
    (_, fields, _) = re.split(r"^## (?:Fields|Examples)$", LOGS_DOCUMENT.read_text(), flags=re.MULTILINE)
    sections = re.split(r"^### (.+)$", fields, flags=re.MULTILINE)[1:]
    return {
        title: dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE))
        for title, text in zip(sections[::2], sections[1::2], strict=True)
    }


def log_record_errors(record: Json) -> list[str]:
    """Return the undocumented fields and the secrets in a log record."""
    sections = _SECTIONS.get(record["message"], ("Every line", "Others"))
    known = {name: kind for section in sections for name, kind in documented_fields()[section].items()}
    unknown = [
        f"{record['message']}: {name} = {value!r}"
        for name, value in record.items()
        if not (name in known and isinstance(value, _TYPES[known[name]]))
    ]
    return [*unknown, *(f"{found} in {record}" for found in SECRET_PATTERN.findall(str(record)))]
