"""Request and Response: what the pipeline sees of HTTP, whoever speaks it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from pydantic_core import from_json

from chalicelib.kernel.core.case_folding import ascii_lower

_QUALITY: Final = re.compile(r";\s*q=([01](?:\.[0-9]{0,3})?)\s*(?:;|$)")

EXPOSED_HEADERS: Final = (
    "API-Version, Allow, Content-Disposition, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, "
    "Retry-After, WWW-Authenticate, X-Request-Id"
)
"""What of an answer a browser lets a page of another origin read (CORS), whoever gives the answer."""


@dataclass(frozen=True)
class Request:
    """An HTTP request: `path` as sent, `parameters` decoded, `headers` in lower case; `base`: the gateway's stage."""

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
        """What the client calls itself, cut to a length worth keeping."""
        return self.headers.get("user-agent", "")[:256] or None

    @property
    def unvalidated_body(self) -> Mapping[str, Any]:
        """What the body says, as it was sent and nobody has validated yet; nothing if it is no JSON object."""
        try:
            body = from_json(self.body)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def prefers(self, kind: str, to: str) -> bool:
        """Return whether one media type is accepted, by its name, rather than another (RFC 9110, section 12.5.1).

        Of two that are accepted alike the one that is named first is preferred.
        """
        ranges = [each.strip() for each in ascii_lower(self.headers.get("accept", "")).split(",")]
        quality = {
            each.partition(";")[0].strip(): (_media_range_quality(each), -place) for place, each in enumerate(ranges)
        }
        wanted, other = quality.get(kind), quality.get(to, quality.get("*/*", (0.0, -len(ranges))))
        return wanted is not None and wanted[0] > 0 and wanted > other

    def build_url(self, **changed: str) -> str:
        """Return the request's own address with some query parameters changed."""
        query = {name: values[-1] for name, values in self.query.items()} | changed
        return f"{self.base}{self.path}" + (f"?{urlencode(query)}" if query else "")


def _media_range_quality(media_range: str) -> float:
    found = _QUALITY.search(media_range)
    return float(found[1]) if found else 1.0


@dataclass
class Response:
    """An HTTP response."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    secret: bool = False
    """Whether the body holds a secret, so that it is not kept in clear."""
