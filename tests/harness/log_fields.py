"""The fields of `docs/operations/logs.md`: what each kind of line may hold."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from local.paths import ROOT
from tests.harness.log_lines import UNSPEAKABLE, Json

DOCUMENT: Final = ROOT / "docs/operations/logs.md"
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "text": str,
    "number": (int, float),
    "list": list,
    "object": dict,
    "true": bool,
}
_WORK: Final = ("Every line", "Requests, messages, schedules and functions", "Messages, schedules and functions")
_SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "request": (*_WORK[:2], "Requests"),
    "message": _WORK,
    "schedule": _WORK,
    "function": _WORK,
    "attempt": ("Every line", "Attempts"),
}


@cache
def documented() -> Mapping[str, Mapping[str, str]]:
    """Return the type of each field, by section."""
    (_, fields, _) = re.split(r"^## (?:Fields|Examples)$", DOCUMENT.read_text(), flags=re.MULTILINE)
    sections = re.split(r"^### (.+)$", fields, flags=re.MULTILINE)[1:]
    return {
        title: dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE))
        for title, text in zip(sections[::2], sections[1::2], strict=True)
    }


def faults_of(line: Json) -> list[str]:
    """Return what a line holds that is not documented of its kind, or that no line may hold."""
    sections = _SECTIONS.get(line["message"], ("Every line", "Others"))
    known = {name: kind for section in sections for name, kind in documented()[section].items()}
    unknown = [
        f"{line['message']}: {name} = {value!r}" for name, value in line.items() if not _fits(known, name, value)
    ]
    return [*unknown, *(f"{found} in {line}" for found in UNSPEAKABLE.findall(str(line)))]


def _fits(known: Mapping[str, str], name: str, value: object) -> bool:
    return name in known and isinstance(value, _TYPES[known[name]])
