"""Requests and responses as the pipeline sees them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from pydantic_core import from_json

from chalicelib.kernel.core.case_folding import ascii_lower

_QUALITY: Final = re.compile(r";\s*q=([01](?:\.[0-9]{0,3})?)\s*(?:;|$)")

REMAPPED_HEADER_PREFIX: Final = "x-amzn-Remapped-"
"""Prefix that API Gateway adds to the names of some headers of a function's response, such as `WWW-Authenticate`."""

REMAPPED_WWW_AUTHENTICATE: Final = f"{REMAPPED_HEADER_PREFIX}WWW-Authenticate"

IDEMPOTENCY_REPLAYED: Final = "Idempotency-Replayed"
"""Header of the stored response to an earlier request with the same `Idempotency-Key`."""

EXPOSED_HEADERS: Final = (
    f"API-Version, Allow, Content-Disposition, ETag, {IDEMPOTENCY_REPLAYED}, Ignored-Parameters, Link, Location, "
    "Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, "
    f"{REMAPPED_WWW_AUTHENTICATE}, X-Request-Id"
)
"""Response headers that browsers expose to pages of other origins (CORS)."""

DEPRECATION_HEADERS: Final = ("Deprecation", "Sunset")
"""Further headers to expose, which only responses of deprecated operations have."""

LIST_HEADERS: Final = ("accept", "if-match", "if-none-match", "prefer")
"""Request headers that are lists. Several lines of one are equal to one line with commas (RFC 9110, section 5.3)."""


@dataclass(frozen=True)
class Request:
    """An HTTP request: `path` as sent, `parameters` decoded, `headers` in lower case.

    `base`: path prefix of the stage in API Gateway, or an empty text.
    """

    method: str
    path: str
    parameters: Mapping[str, str]
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    id: str
    ip: str
    base: str = ""

    @property
    def user_agent(self) -> str | None:
        """Return the user agent, truncated."""
        return self.headers.get("user-agent", "")[:256] or None

    @cached_property
    def unvalidated_json_object_or_empty(self) -> Mapping[str, Any]:
        """Return the body before validation, or nothing if it is not a JSON object."""
        try:
            body = from_json(self.body)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def prefers(self, media_type: str, other_type: str) -> bool:
        """Return whether the request accepts a media type by name and prefers it to another (RFC 9110, section 12.5.1).

        With equal quality, the first one is preferred.
        """
        ranges = [each.strip() for each in ascii_lower(self.headers.get("accept", "")).split(",")]
        quality = {each.partition(";")[0].strip(): (quality_of(each), -index) for index, each in enumerate(ranges)}
        preference = quality.get(media_type)
        other_preference = quality.get(other_type, quality.get("*/*", (0.0, -len(ranges))))
        return preference is not None and preference[0] > 0 and preference > other_preference

    def path_with_changed_query(self, **changed: str) -> str:
        """Return the request's own URL with some query parameters changed."""
        query = {name: values[-1] for name, values in self.query.items()} | changed
        return f"{self.base}{self.path}" + (f"?{urlencode(query)}" if query else "")


def quality_of(list_element: str) -> float:
    """Return the weight of an element of a header such as `Accept` (RFC 9110, section 12.4.2)."""
    match = _QUALITY.search(list_element)
    return float(match[1]) if match else 1.0


@dataclass
class Response:
    """An HTTP response."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    secret: bool = False
    """Whether the body contains a secret, so that it is not stored in plain text."""

    @property
    def is_replay(self) -> bool:
        """Whether it is the stored response to an earlier request with the same `Idempotency-Key`."""
        return IDEMPOTENCY_REPLAYED in self.headers
