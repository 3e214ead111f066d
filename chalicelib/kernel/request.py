"""Request and Response: what the pipeline sees of HTTP, whoever speaks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode


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
