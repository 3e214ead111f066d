"""What a platform's navigation and home may be: pure decisions."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.kernel.fields import HANDLE_PATTERN
from chalicelib.kernel.problems import FieldError, Invalid

_MOST_BYTES: Final = 64 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*|/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?")
_LINK: Final = re.compile(
    r"(?:https?://(?![^/]*@)[^/\s\\]|mailto:[^\s]+@|/(?![/\\])|#)[^\x00-\x20\\<>\"]*|/", re.IGNORECASE
)
_LINK_ADVICE: Final = "must be a web address, `mailto:` and an e-mail address, or a path that begins with one /"
_NAME_ADVICE: Final = "must be an id, a slug or a path; an item of type url leads elsewhere"
_TARGETS: Final = {"url": (_LINK, _LINK_ADVICE), "module": (re.compile(HANDLE_PATTERN), "must be the id of a module")}


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
    """Raise Invalid for each item, or child of one, whose target is none that a page may lead to."""
    faults = [*_dangerous(items, pointer)]
    if faults:
        raise Invalid(faults)


def _dangerous(items: Iterable[Mapping[str, Any]], pointer: str) -> Iterator[FieldError]:
    for number, item in enumerate(items):
        path, target = f"{pointer}/{number}", item.get("target")
        pattern, advice = _TARGETS.get(item["type"], (_NAME, _NAME_ADVICE))
        if item["type"] == "url" and not target:
            yield FieldError(f"{path}/target", "required", "An item of type url leads somewhere: name its target.")
        elif target and not pattern.fullmatch(target):
            yield FieldError(f"{path}/target", "malformed", advice)
        yield from _dangerous(item.get("children", ()), f"{path}/children")


def refuse_large(noun: str, value: Mapping[str, Any]) -> None:
    """Raise Invalid if a part of a platform takes more room than it may: a record carries them all."""
    size = len(to_json(value))
    if size > _MOST_BYTES:
        raise Invalid(
            [FieldError("", "too_large", f"A {noun} has at most {_MOST_BYTES} bytes as JSON; this has {size}.")]
        )
