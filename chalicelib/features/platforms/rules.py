"""What a platform's navigation may lead to, and which space a path names: pure decisions."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from chalicelib.features.platforms.nested_items import Parts, placed
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN, LINK, LINK_ADVICE, SLUG_PATTERN

_NAME: Final = re.compile(r"[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*|/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?")
_NAME_ADVICE: Final = "must be an id, a slug or a path; an item of type url leads elsewhere"
_SPACES: Final = "spaces"
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?://[^/?#]*)?", re.IGNORECASE)
_TARGETS: Final = {"url": (LINK, LINK_ADVICE), "module": (re.compile(IDENTIFIER_PATTERN), "must be the id of a module")}


def slug_in(path: object) -> str | None:
    """Return the slug of the space that a path names, if it can: its first segment, or the one after `/spaces`."""
    named = _segments(path) if isinstance(path, str) else []
    return _slug(named[1:] if named[:1] == [_SPACES] else named)


def space_named_by(item: Mapping[str, Any]) -> str | None:
    """Return the slug or the id of the space that an item of a navigation leads to, if it can lead to one."""
    target = item.get("target")
    if not target or item["type"] == "module":
        return None
    elsewhere = _ORIGIN.match(target)
    if elsewhere is None:
        return slug_in(target)
    named = _segments(target[elsewhere.end() :])
    return _slug(named[1:]) if named[:1] == [_SPACES] else None


def _segments(path: str) -> list[str]:
    bare = re.split(r"[?#]", path, maxsplit=1)[0]
    return [ascii_lower(unquote(segment)) for segment in bare.split("/") if segment]


def _slug(segments: list[str]) -> str | None:
    return segments[0] if segments and re.fullmatch(SLUG_PATTERN, segments[0]) else None


def refuse_dangerous(items: Parts, pointer: str) -> None:
    """Raise Invalid for each item, or child of one, whose target is none that a page may lead to."""
    faults = [fault for path, item in placed(items, pointer) for fault in _dangerous(item, path)]
    if faults:
        raise ValidationProblem(faults)


def _dangerous(item: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    target = item.get("target")
    pattern, advice = _TARGETS.get(item["type"], (_NAME, _NAME_ADVICE))
    if item["type"] == "url" and not target:
        yield FieldError(f"{path}/target", "required", "An item of type url leads somewhere: name its target.")
    elif target and not pattern.fullmatch(target):
        yield FieldError(f"{path}/target", "malformed", advice)
