"""What a platform's navigation and home may be: pure decisions."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.kernel.problems import FieldError, Invalid

_MOST_BYTES: Final = 64 * 1024
_LINK: Final = re.compile(r"(?:https?://[^/\s\\]|mailto:[^\s]+@|/(?![/\\])|#)[^\x00-\x20\\<>\"]*|/", re.IGNORECASE)
_LINK_ADVICE: Final = "must be a web address, `mailto:` and an e-mail address, or a path that begins with one /"


def refuse_repeated_ids(items: Iterable[Mapping[str, Any]], pointer: str) -> None:
    """Raise Invalid for each item, or child of one, whose id another one before it has."""
    placed = [*_placed(items, pointer)]
    seen: Counter[str] = Counter()
    faults = []
    for path, item_id in placed:
        if seen[item_id]:
            faults.append(FieldError(f"{path}/id", "repeated", "Another one has this id; ids have to be different."))
        seen[item_id] += 1
    if faults:
        raise Invalid(faults)


def _placed(items: Iterable[Mapping[str, Any]], pointer: str) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items):
        path = f"{pointer}/{number}"
        yield path, item["id"]
        yield from _placed(item.get("children", ()), f"{path}/children")


def refuse_dangerous(items: Iterable[Mapping[str, Any]], pointer: str) -> None:
    """Raise Invalid for each item, or child of one, of type `url` whose target is none that a page may lead to."""
    faults = [*_dangerous(items, pointer)]
    if faults:
        raise Invalid(faults)


def _dangerous(items: Iterable[Mapping[str, Any]], pointer: str) -> Iterator[FieldError]:
    for number, item in enumerate(items):
        path, target = f"{pointer}/{number}", item.get("target")
        if item["type"] == "url" and target and not _LINK.fullmatch(target):
            yield FieldError(f"{path}/target", "malformed", _LINK_ADVICE)
        yield from _dangerous(item.get("children", ()), f"{path}/children")


def refuse_large(noun: str, value: Mapping[str, Any]) -> None:
    """Raise Invalid if a part of a platform takes more room than it may: a record carries them all."""
    size = len(to_json(value))
    if size > _MOST_BYTES:
        raise Invalid(
            [FieldError("", "too_large", f"A {noun} has at most {_MOST_BYTES} bytes as JSON; this has {size}.")]
        )
