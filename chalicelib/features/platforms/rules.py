"""What a platform's navigation may lead to: pure decisions."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.kernel.fields import HANDLE_PATTERN, LINK, LINK_ADVICE
from chalicelib.kernel.parts import Parts, placed
from chalicelib.kernel.problems import FieldError, Invalid

_NAME: Final = re.compile(r"[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*|/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?")
_NAME_ADVICE: Final = "must be an id, a slug or a path; an item of type url leads elsewhere"
_TARGETS: Final = {"url": (LINK, LINK_ADVICE), "module": (re.compile(HANDLE_PATTERN), "must be the id of a module")}


def refuse_dangerous(items: Parts, pointer: str) -> None:
    """Raise Invalid for each item, or child of one, whose target is none that a page may lead to."""
    faults = [fault for path, item in placed(items, pointer) for fault in _dangerous(item, path)]
    if faults:
        raise Invalid(faults)


def _dangerous(item: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    target = item.get("target")
    pattern, advice = _TARGETS.get(item["type"], (_NAME, _NAME_ADVICE))
    if item["type"] == "url" and not target:
        yield FieldError(f"{path}/target", "required", "An item of type url leads somewhere: name its target.")
    elif target and not pattern.fullmatch(target):
        yield FieldError(f"{path}/target", "malformed", advice)
