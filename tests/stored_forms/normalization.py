"""Normalization: what the clients of AWS and the prose of the documentation add to an outcome, and nobody stores."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

DOCUMENTS: Final = ("get_openapi_document", "get_docs", "get_docs_asset")
"""Operations whose answers are documentation: only their status and their headers are compared."""
DESCRIBED: Final = ("list_event_types",)
"""Operations whose answers contain schemas: everything except the descriptions is compared."""

_SIGNED: Final = re.compile(r"(X-Amz-(?:Date|Signature)=)[0-9A-Za-z]+")
_OF_CONTENT: Final = ("etag", "content-length")


def normal_text(operation: str, text: str) -> str | None:
    """Return what is compared of a body."""
    if operation in DOCUMENTS:
        return None
    masked = _SIGNED.sub(r"\1*", text)
    return json.dumps(_without_descriptions(json.loads(masked))) if operation in DESCRIBED else masked


def normal_headers(operation: str, headers: Mapping[str, str], text: str) -> dict[str, str]:
    """Return what is compared of the headers of an answer; `text` is its body."""
    left_out = _OF_CONTENT if operation in (*DOCUMENTS, *DESCRIBED) or _SIGNED.search(text) else ()
    return {name: value for name, value in headers.items() if name.lower() not in left_out}


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        described = isinstance(value.get("description"), str)
        kept = {name: each for name, each in value.items() if not (described and name == "description")}
        return {name: _without_descriptions(each) for name, each in kept.items()}
    return [_without_descriptions(each) for each in value] if isinstance(value, list) else value
