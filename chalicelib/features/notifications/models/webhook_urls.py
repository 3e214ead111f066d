"""Validation of webhook URLs: their syntax, and on a deployed stage also scheme, port and host."""

from collections.abc import Collection
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.http_urls import HttpUrl, parse_http_url
from chalicelib.kernel.outbound.ip_addresses import is_localhost_name, is_public

MAX_URL_CHARACTERS: Final = 2_000
"""Length of the URL of a webhook."""

ALLOWED_PORTS: Final = (443, 8443)
"""Permitted ports outside of the local stage."""

MASK: Final = "…"
"""Placeholder for the hidden part of a URL. It is not ASCII, so no target URL contains it."""


_VISIBLE_CHARACTERS: Final = 4
_MIN_HIDDEN_CHARACTERS: Final = 12
"""Minimum number of characters that stay hidden. A shorter secret is hidden completely."""


def normalize_url_with_ports(text: str, ports: Collection[int] = ALLOWED_PORTS) -> str:
    """Return a URL with scheme and host in lower case, the host as ASCII. Raises ValueError with the reason.

    `ports`: the permitted ports outside of the local stage.
    """
    url = parse_http_url(text)
    _check_deployed_scheme_and_port(url, ports)
    _reject_disallowed_host(url)
    return str(url)


def _normalize_target_url(text: str) -> str:
    return normalize_url_with_ports(text)


def _check_deployed_scheme_and_port(url: HttpUrl, ports: Collection[int]) -> None:
    if settings().stage == "local":
        return
    if url.scheme != "https":
        raise ValueError("must begin with https://")
    if url.port and int(url.port) not in ports:
        *others, last = map(str, ports)
        raise ValueError(f"must have port {', '.join(others)} or {last}, or none")


def _reject_disallowed_host(url: HttpUrl) -> None:
    if settings().webhook_allow_private:
        return
    host = url.host
    if not is_public(host) if url.has_address else is_localhost_name(host) or "." not in host:
        raise ValueError(f"must have a public address, which {host} is not")


def target_url_host(url: str) -> str:
    """Return the host of a target: a name in ASCII, or an address without brackets."""
    return urlsplit(url).hostname or ""


def mask_query_values(url: str) -> str:
    """Return a target URL with masked values in its query, which often contains a secret."""
    address, separator, query = url.partition("?")
    masked = [f"{name}={MASK}" if equals else MASK for name, equals, _ in (p.partition("=") for p in query.split("&"))]
    return f"{address}?{'&'.join(masked)}" if separator else url


def mask_path_and_query(url: str) -> str:
    """Return a target URL with a masked path and query. If enough characters stay hidden, the last four are shown."""
    parts = urlsplit(url)
    secret = url.partition("://")[2].removeprefix(parts.netloc)
    visible_end = secret[-_VISIBLE_CHARACTERS:] if len(secret) >= _VISIBLE_CHARACTERS + _MIN_HIDDEN_CHARACTERS else ""
    return f"{parts.scheme}://{parts.netloc}/{MASK}{visible_end}"


TargetUrl = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_URL_CHARACTERS),
    AfterValidator(_normalize_target_url),
    Field(json_schema_extra={"format": "uri"}),
]
