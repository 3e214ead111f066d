"""Normalization of outcomes: removes what AWS clients add, and prose, which may change and is not stored."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

DOCUMENTS: Final = ("get_openapi_document", "get_docs", "get_docs_asset")
"""Operations that return documentation: only their status and their headers are compared."""
DESCRIBED: Final = ("list_event_types",)
"""Operations whose responses contain schemas: everything except the descriptions is compared."""

_SIGNED: Final = re.compile(r"(X-Amz-(?:Date|Signature)=|X-Amz-Credential=[^%&]+%2F)[0-9A-Za-z]+")
"""What depends on the real clock in a presigned URL: its time, the date in its credential, its signature."""

_PROBLEM: Final = '"urn:atrium:problem:'
_CONTENT_HEADERS: Final = ("etag", "content-length")


def normal_text(operation: str, text: str) -> str | None:
    """Return the part of a body that is compared. Problems are compared without their details."""
    if operation in DOCUMENTS:
        return None
    masked = _SIGNED.sub(r"\1*", text)
    if operation in DESCRIBED:
        return json.dumps(_without_prose(json.loads(masked), "description"))
    return json.dumps(_without_prose(json.loads(masked), "detail")) if _is_problem(masked) else masked


def normal_headers(operation: str, headers: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the headers of a response that are compared. `text` is its body."""
    has_prose = operation in (*DOCUMENTS, *DESCRIBED) or _is_problem(text)
    omitted = _CONTENT_HEADERS if has_prose or _SIGNED.search(text) else ()
    return {name: value for name, value in headers.items() if name.lower() not in omitted}


def _is_problem(text: str) -> bool:
    return text.startswith(('{"type": ' + _PROBLEM, '{"type":' + _PROBLEM))


def _without_prose(value: Any, member: str) -> Any:
    if isinstance(value, dict):
        is_prose = isinstance(value.get(member), str)
        compared = {name: each for name, each in value.items() if not (is_prose and name == member)}
        return {name: _without_prose(each, member) for name, each in compared.items()}
    return [_without_prose(each, member) for each in value] if isinstance(value, list) else value
