"""Strict validation of webhook URLs, so that all parsers find the same host in them.

URLs that browsers would correct (WHATWG URL Standard) are rejected with an explanation.
"""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.ip_addresses import is_localhost_name, is_public

MAX_URL_CHARACTERS: Final = 2_000
ALLOWED_PORTS: Final = (443, 8443)
"""Permitted ports outside of the local stage."""

MASK: Final = "…"
"""Placeholder for the hidden part of a URL. It is not ASCII, so no target URL contains it."""

_VISIBLE_CHARACTERS: Final = 4
_MIN_HIDDEN_CHARACTERS: Final = 12
"""Minimum number of characters that stay hidden. A shorter secret is hidden completely."""

_PARTS: Final = re.compile(r"(https?)://([^/?]*)((?:/[^?]*)?(?:\?.*)?)", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
_MAX_PORT: Final = 65_535
_FORBIDDEN_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f\\<>\"{}|^`]|\s")
_NAME: Final = re.compile(
    r"(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)
_NUMBER: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
"""Hosts that some parsers read as an IPv4 address, because the last label is a number (URL Standard, section 3.5)."""


def _normalize_target_url(text: str) -> str:
    """Return a URL with scheme and host in lower case, the host as ASCII. Raises ValueError with the reason."""
    if _FORBIDDEN_CHARACTERS.search(text):
        raise ValueError('must not contain spaces, control characters or any of \\ < > " { } | ^ `')
    if "#" in text:
        raise ValueError("must not have a fragment (`#…`), because it would not be sent")
    parts = _PARTS.fullmatch(text)
    if not parts or not parts[3].isascii():
        raise ValueError("must be a URL such as https://example.com/hooks, in ASCII except for its host")
    scheme, (host, port) = ascii_lower(parts[1]), _parse_host_and_port(parts[2])
    _check_deployed_scheme_and_port(scheme, port)
    _reject_disallowed_host(host)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{port and f':{port}'}{parts[3]}"


def _parse_host_and_port(text: str) -> tuple[str, str]:
    """Return the host, an IPv6 address without brackets, and the port or an empty text."""
    if "@" in text:
        raise ValueError("must not contain a user name or password")
    parts = _AUTHORITY.fullmatch(text)
    if not parts or int(parts[2] or 1) > _MAX_PORT:
        raise ValueError("must have a host and, optionally, a port from 1 to 65535")
    host = (
        _normalize_ipv6_or_raise(parts[1][1:-1])
        if parts[1].startswith("[")
        else _normalize_name_or_ipv4_or_raise(parts[1])
    )
    return host, parts[2] or ""


def _normalize_ipv6_or_raise(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise ValueError("must have an IPv6 address between the brackets") from None
    if address.scope_id:
        raise ValueError("must not have an address with a zone")
    return str(address)


def _normalize_name_or_ipv4_or_raise(text: str) -> str:
    name = ascii_lower(_internationalized_name_to_ascii(text)).removesuffix(".")
    if _NUMBER.fullmatch(name):
        try:
            return str(IPv4Address(name))
        except ValueError:
            raise ValueError("must have an IPv4 address as four decimal numbers, such as 203.0.113.7") from None
    if not _NAME.fullmatch(name):
        raise ValueError("must have a host that is a domain name or an address")
    return name


def _internationalized_name_to_ascii(name: str) -> str:
    """Return an internationalized name as in DNS (RFC 5891, mapped by UTS 46)."""
    if name.isascii() and "xn--" not in ascii_lower(name):
        return name
    import idna

    try:
        return idna.encode(name, uts46=True).decode()
    except idna.IDNAError:
        raise ValueError("must have a host that is a valid internationalized domain name") from None


def _check_deployed_scheme_and_port(scheme: str, port: str) -> None:
    if settings().stage == "local":
        return
    if scheme != "https":
        raise ValueError("must begin with https://")
    if port and int(port) not in ALLOWED_PORTS:
        raise ValueError("must have port 443 or 8443, or none")


def _reject_disallowed_host(host: str) -> None:
    if settings().webhook_allow_private:
        return
    is_literal = ":" in host or _NUMBER.fullmatch(host)
    if not is_public(host) if is_literal else is_localhost_name(host) or "." not in host:
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
