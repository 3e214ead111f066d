"""Normalization: what the clients of AWS and the prose of the documentation add to an outcome, and nobody stores."""

import re
from collections.abc import Mapping
from typing import Final

DOCUMENTS: Final = ("get_openapi_document", "get_docs", "get_docs_asset")
"""Operations whose answers are documentation: only their status and their headers are compared."""

_SIGNED: Final = re.compile(r"(X-Amz-(?:Date|Signature)=)[0-9A-Za-z]+")
_OF_CONTENT: Final = ("etag", "content-length")


def normal_text(operation: str, text: str) -> str | None:
    """Return what is compared of a body."""
    return None if operation in DOCUMENTS else _SIGNED.sub(r"\1*", text)


def normal_headers(operation: str, headers: Mapping[str, str], text: str) -> dict[str, str]:
    """Return what is compared of the headers of an answer; `text` is its body."""
    left_out = _OF_CONTENT if operation in DOCUMENTS or _SIGNED.search(text) else ()
    return {name: value for name, value in headers.items() if name.lower() not in left_out}
