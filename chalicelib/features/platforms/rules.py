"""What a platform's navigation and home may be: pure decisions."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.kernel.fields import HANDLE_PATTERN, LINK, LINK_ADVICE
from chalicelib.kernel.problems import FieldError, Invalid

_MOST_BYTES: Final = 64 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*|/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?")
_NAME_ADVICE: Final = "must be an id, a slug or a path; an item of type url leads elsewhere"
_TARGETS: Final = {"url": (LINK, LINK_ADVICE), "module": (re.compile(HANDLE_PATTERN), "must be the id of a module")}


def refuse_repeated_ids(items: Iterable[Mapping[str, Any]], pointer: str) -> None:
    """Raise Invalid for each item, or child of one, whose id another one before it has."""
    seen: set[str] = set()
    faults = []
    for path, item in _placed(items, pointer):
        if item["id"] in seen:
            faults.append(FieldError(f"{path}/id", "repeated", "Another one has this id; ids have to be different."))
        seen.add(item["id"])
    if faults:
        raise Invalid(faults)


def refuse_dangerous(items: Iterable[Mapping[str, Any]], pointer: str) -> None:
    """Raise Invalid for each item, or child of one, whose target is none that a page may lead to."""
    faults = [fault for path, item in _placed(items, pointer) for fault in _dangerous(item, path)]
    if faults:
        raise Invalid(faults)


def _placed(items: Iterable[Mapping[str, Any]], pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield items and their children, each with where it stands."""
    for number, item in enumerate(items):
        path = f"{pointer}/{number}"
        yield path, item
        yield from _placed(item.get("children", ()), f"{path}/children")


def _dangerous(item: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    target = item.get("target")
    pattern, advice = _TARGETS.get(item["type"], (_NAME, _NAME_ADVICE))
    if item["type"] == "url" and not target:
        yield FieldError(f"{path}/target", "required", "An item of type url leads somewhere: name its target.")
    elif target and not pattern.fullmatch(target):
        yield FieldError(f"{path}/target", "malformed", advice)


def refuse_large(noun: str, value: Mapping[str, Any]) -> None:
    """Raise Invalid if a part of a platform takes more room than it may: a record carries them all."""
    size = len(to_json(value))
    if size > _MOST_BYTES:
        raise Invalid(
            [FieldError("", "too_large", f"A {noun} has at most {_MOST_BYTES} bytes as JSON; this has {size}.")]
        )
