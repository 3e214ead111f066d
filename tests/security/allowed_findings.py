"""Findings of Schemathesis that are allowed: requests whose acceptance JSON Schema cannot describe.

Each has an example request. The tests send it, so that no entry outlives its reason.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.security.schemathesis_runs import Failure

_MISSING_ID: Final = "01939d3c-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class AllowedRejection:
    """A validation error that no schema describes: its code and detail, the reason, and a request that causes it."""

    code: str
    reason: str
    operation_id: str
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""

    def matches(self, error: Mapping[str, str]) -> bool:
        return error["code"] == self.code and re.search(self.detail, error["detail"]) is not None


ALLOWED_REJECTIONS: Final = (
    AllowedRejection(
        "unknown", "referenced records must exist", "create_site", {"name": "Looms", "platformId": _MISSING_ID}
    ),
    AllowedRejection(
        "malformed",
        "the formats of paths, domains, networks and lines are described in prose",
        "create_redirect",
        {"fromPath": "looms"},
    ),
    AllowedRejection(
        "out_of_range",
        "one timestamp must be after another",
        "list_audit_log",
        query={"from": "2026-11-20T00:00:00Z", "to": "2026-11-19T00:00:00Z"},
    ),
    AllowedRejection(
        "too_large",
        "the limit is in bytes, not in characters",
        "set_module_override",
        {"moduleId": "looms", "settings": {"text": "x" * 66_000}},
    ),
    AllowedRejection(
        "read_only", "a status may be repeated, but not changed", "update_organization", {"status": "pending_deletion"}
    ),
    AllowedRejection(
        "repeated",
        "ids must be unique",
        "update_project_blocks",
        {"projectBlocks": [{"projectBlockId": "a"}, {"projectBlockId": "a"}]},
    ),
    AllowedRejection("too_short", "surrounding whitespace does not count", "list_countries", query={"q": " "}),
    AllowedRejection(
        "required", "one of two parameters is required", "resolve_taxonomy_path", detail="^Send `path` or `slug`"
    ),
    AllowedRejection("required", "one of two fields is required", "erase_person", {}, detail="^Give an email"),
    AllowedRejection(
        "required",
        "a link must have a target",
        "update_platform_navigation",
        {"items": [{"id": "a", "label": "Looms", "type": "url"}]},
        detail="needs a target",
    ),
)


@dataclass(frozen=True)
class AllowedAcceptance:
    """A request that is accepted although it violates the schemas: the finding's text, the reason and an example."""

    text: str
    reason: str
    operation_id: str
    body: Any


ALLOWED_ACCEPTANCES: Final = (
    AllowedAcceptance(
        "^(?=.*violates `maxLength`)(?!.*violates `(?!maxLength))",
        "surrounding whitespace does not count",
        "update_organization",
        {"name": " " * 200 + "Looms"},
    ),
)
"""`test_json_bombs.py` tests that each field rejects longer text without surrounding whitespace."""


def is_allowed(failure: Failure) -> bool:
    if failure.check == "negative_data_rejection":
        return any(re.search(each.text, failure.text.replace("\n", " ")) for each in ALLOWED_ACCEPTANCES)
    errors = failure.validation_errors if failure.check == "positive_data_acceptance" else []
    return bool(errors) and all(any(rejection.matches(error) for rejection in ALLOWED_REJECTIONS) for error in errors)
