"""Conditional requests (RFC 9110, section 13): entity tags, `If-None-Match`, `If-Match`.

A tag is `"<end of the id>.<version>.<digest of the body>"`. `If-None-Match` compares the whole tag, because it is
about the bytes of a response. `If-Match` compares id and version, because it is about the record, whose representation
can differ between callers.
"""

import hashlib
import re
from typing import Final

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage.entity import Entity

_TAG: Final = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')
_TAGS: Final = re.compile(rf"\s*{_TAG.pattern}(?:\s*,\s*{_TAG.pattern})*\s*")
_ID_CHARACTERS: Final = 12


def record_etag(record_id: str, version: int, body: bytes) -> str:
    """Return the strong tag of a record's representation."""
    return f'"{_tag_prefix(record_id, version)}{hashlib.sha256(body).hexdigest()[:12]}"'


def digest_etag(body: bytes) -> str:
    """Return the strong tag of a response that is not a record."""
    return f'"{hashlib.sha256(body).hexdigest()[:24]}"'


def if_none_match(request: Request, tag: str) -> bool:
    """Return whether `If-None-Match` contains the tag. Weak tags match."""
    header = request.headers.get("if-none-match")
    if header is None:
        return False
    return header.strip() == "*" or tag in [t.removeprefix("W/") for t in _parse_etags("If-None-Match", header)]


def has_if_match_raising_on_mismatch(request: Request, record: Entity | None) -> bool:
    """Return whether the request has an `If-Match`.

    Raises Problem `precondition_failed` if the record does not match or does not exist.
    """
    header = request.headers.get("if-match")
    if header is None:
        return False
    tags = [] if header.strip() == "*" else _parse_etags("If-Match", header)
    if record is None:
        detail = "It does not exist. Omit If-Match to create it."
    elif tags and not any(tag.startswith(f'"{_tag_prefix(record.id, record.version)}') for tag in tags):
        detail = f"It has changed{_version_if_shown(record)}. Read it again, then decide."
    else:
        return True
    raise Problem.create_with_field_error("header/If-Match", "precondition_failed", detail)


def raise_on_if_none_match(request: Request, record: Entity) -> None:
    """Raise Problem `precondition_failed` if `If-None-Match` forbids changing the record, as `*` does."""
    header = request.headers.get("if-none-match")
    if header is None:
        return
    prefixes = tuple(f'{weak}"{_tag_prefix(record.id, record.version)}' for weak in ("", "W/"))
    if header.strip() == "*":
        detail = f"This {record.noun} exists already."
    elif any(tag.startswith(prefixes) for tag in _parse_etags("If-None-Match", header)):
        detail = f"This {record.noun} has the ETag in If-None-Match."
    else:
        return
    raise Problem.create_with_field_error("header/If-None-Match", "precondition_failed", detail)


def _version_if_shown(record: Entity) -> str:
    """Return the record's version in words, or an empty text if callers do not see it: `version` can be another one."""
    is_shown = isinstance(record.output_model, type) and issubclass(record.output_model, RecordOutput)
    return f": this {record.noun} now has version {record.version}" if is_shown else ""


def _tag_prefix(record_id: str, version: int) -> str:
    return f"{record_id[-_ID_CHARACTERS:]}.{version}."


def _parse_etags(name: str, header: str) -> list[str]:
    if not _TAGS.fullmatch(header):
        detail = f'{name} contains entity tags in double quotes, as in ETag, or "*".'
        raise Problem.create_with_field_error(f"header/{name}", "invalid_header", detail)
    return _TAG.findall(header)
