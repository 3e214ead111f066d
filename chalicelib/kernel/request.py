"""Request and Response: what the pipeline sees of HTTP, whoever speaks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from pydantic_core import from_json

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
    def said(self) -> Mapping[str, Any]:
        """What the body says, as it was sent and nobody has validated yet; nothing if it is no JSON object."""
        try:
            body = from_json(self.body)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def url(self, **changed: str) -> str:
        """Return the request's own address with some query parameters changed."""
        query = {name: values[-1] for name, values in self.query.items()} | changed
        return f"{self.base}{self.path}" + (f"?{urlencode(query)}" if query else "")


@dataclass
class Response:
    """An HTTP response."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    secret: bool = False
    """Whether the body holds a secret, so that it is not kept in clear."""
