"""What a request may be refused for although the document's schemas take it: rules that JSON Schema has no words for.

Each has a request that shows it; the tests send them, so that none is excused for longer than it has to be.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.security.schemathesis_runs import Found

_NOTHING: Final = "01939d3c-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class Excuse:
    """The code of a fault, what its detail says if that matters, why no schema does, and a request refused for it."""

    code: str
    why: str
    operation: str
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""

    def covers(self, fault: Mapping[str, str]) -> bool:
        """Return whether a fault is of this kind."""
        return fault["code"] == self.code and re.search(self.detail, fault["detail"]) is not None


EXCUSED: Final = (
    Excuse("unknown", "what is named has to be there", "create_site", {"name": "Looms", "platformId": _NOTHING}),
    Excuse(
        "malformed",
        "paths, domains, networks and lines are described in words",
        "create_redirect",
        {"fromPath": "looms"},
    ),
    Excuse(
        "out_of_range",
        "one moment is not after another",
        "list_audit_log",
        query={"from": "2026-11-20T00:00:00Z", "to": "2026-11-19T00:00:00Z"},
    ),
    Excuse(
        "too_large",
        "bytes are no characters",
        "set_module_override",
        {"moduleId": "looms", "settings": {"text": "x" * 66_000}},
    ),
    Excuse(
        "read_only",
        "a status may be repeated, and is set elsewhere",
        "update_organization",
        {"status": "pending_deletion"},
    ),
    Excuse(
        "repeated",
        "ids differ",
        "update_project_blocks",
        {"projectBlocks": [{"projectBlockId": "a"}, {"projectBlockId": "a"}]},
    ),
    Excuse("too_short", "blanks around text don't count", "list_countries", query={"q": " "}),
    Excuse("required", "one of two parameters is needed", "resolve_taxonomy_path", detail="^Send `path` or `slug`"),
    Excuse("required", "one of two fields is needed", "erase_person", {}, detail="^Give an email"),
    Excuse(
        "required",
        "a link leads somewhere",
        "update_platform_navigation",
        {"items": [{"id": "a", "label": "Looms", "type": "url"}]},
        detail="needs a target",
    ),
)


@dataclass(frozen=True)
class Tolerance:
    """What is taken although the document's schemas refuse it: what is said of it, and a request that shows it."""

    text: str
    why: str
    operation: str
    body: Any


TOLERATED: Final = (
    Tolerance(
        "^(?=.*violates `maxLength`)(?!.*violates `(?!maxLength))",
        "blanks around text don't count",
        "update_organization",
        {"name": " " * 200 + "Looms"},
    ),
)
"""That longer text is refused where it is no blanks, in each field, is shown in `test_json_bombs.py`."""


def is_excused(found: Found) -> bool:
    """Return whether what was found is one of these."""
    if found.check == "negative_data_rejection":
        return any(re.search(each.text, found.text.replace("\n", " ")) for each in TOLERATED)
    told = found.faults if found.check == "positive_data_acceptance" else []
    return bool(told) and all(any(excuse.covers(fault) for excuse in EXCUSED) for fault in told)
