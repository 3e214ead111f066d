"""The targets of navigation items: validation, and the space that a target or path refers to. Without I/O."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from chalicelib.features.platforms.models.nested_items import NestedItems, iter_pointers_and_items
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN, LINK, LINK_ADVICE, SLUG_PATTERN

_INTERNAL_TARGET: Final = re.compile(r"[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*|/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?")
_INTERNAL_TARGET_ADVICE: Final = "must be an id, a slug or a path; use type url for other targets"
_SPACES_SEGMENT: Final = "spaces"
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?://[^/?#]*)?", re.IGNORECASE)
_TARGET_PATTERNS: Final = {
    "url": (LINK, LINK_ADVICE),
    "module": (re.compile(IDENTIFIER_PATTERN), "must be the id of a module"),
}


def possible_space_slug_in_path(path: object) -> str | None:
    """Return the slug of the space that a path may refer to: its first segment, or the segment after `/spaces`."""
    segments = _path_segments(path) if isinstance(path, str) else []
    return _first_segment_if_slug(segments[1:] if segments[:1] == [_SPACES_SEGMENT] else segments)


def possible_space_slug_or_id(item: Mapping[str, Any]) -> str | None:
    """Return the slug or the id of the space that a navigation item may lead to, or None."""
    target = item.get("target")
    if not target or item["type"] == "module":
        return None
    origin = _ORIGIN.match(target)
    if origin is None:
        return possible_space_slug_in_path(target)
    segments = _path_segments(target[origin.end() :])
    return _first_segment_if_slug(segments[1:]) if segments[:1] == [_SPACES_SEGMENT] else None


def _path_segments(path: str) -> list[str]:
    path_only = re.split(r"[?#]", path, maxsplit=1)[0]
    return [ascii_lower(unquote(segment)) for segment in path_only.split("/") if segment]


def _first_segment_if_slug(segments: list[str]) -> str | None:
    return segments[0] if segments and re.fullmatch(SLUG_PATTERN, segments[0]) else None


def reject_invalid_targets(items: NestedItems, pointer: str) -> None:
    """Raise ValidationProblem if the target of an item, or of one of its descendants, is missing or malformed.

    `pointer` is the JSON Pointer of the items.
    """
    errors = [
        error
        for item_pointer, item in iter_pointers_and_items(items, pointer)
        for error in _target_errors(item, item_pointer)
    ]
    if errors:
        raise ValidationProblem(errors)


def _target_errors(item: Mapping[str, Any], pointer: str) -> Iterator[FieldError]:
    target = item.get("target")
    pattern, advice = _TARGET_PATTERNS.get(item["type"], (_INTERNAL_TARGET, _INTERNAL_TARGET_ADVICE))
    if item["type"] == "url" and not target:
        yield FieldError(f"{pointer}/target", "required", "An item of type url needs a target.")
    elif target and not pattern.fullmatch(target):
        yield FieldError(f"{pointer}/target", "malformed", advice)
