"""Strict parsing of http and https URLs, so that all parsers find the same host in them.

URLs that browsers would correct (WHATWG URL Standard) are rejected with an explanation.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower

_PARTS: Final = re.compile(r"(https?)://([^/?]*)((?:/[^?]*)?(?:\?.*)?)", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?")
_MAX_PORT: Final = 65_535
_FORBIDDEN_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f\\<>\"{}|^`]|\s")
_NAME: Final = re.compile(
    r"(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)
_NUMBER: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
"""Hosts that some parsers read as an IPv4 address, because the last label is a number (URL Standard, section 3.5)."""


@dataclass(frozen=True)
class HttpUrl:
    """A URL with `scheme` and `host` in lower case, the host as ASCII, an IPv6 address without brackets.

    `port`: as text, empty for that of the scheme. `target`: path and query.
    """

    scheme: str
    host: str
    port: str
    target: str

    @property
    def has_address(self) -> bool:
        """Return whether the host is an IP address."""
        return ":" in self.host or bool(_NUMBER.fullmatch(self.host))

    def __str__(self) -> str:
        """Return the URL as text."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{self.port and f':{self.port}'}{self.target}"


def parse_http_url(text: str) -> HttpUrl:
    """Return the parts of an http or https URL. Raises ValueError with the reason."""
    if _FORBIDDEN_CHARACTERS.search(text):
        raise ValueError('must not contain spaces, control characters or any of \\ < > " { } | ^ `')
    if "#" in text:
        raise ValueError("must not have a fragment (`#…`), because it would not be sent")
    parts = _PARTS.fullmatch(text)
    if not parts or not parts[3].isascii():
        raise ValueError("must be a URL such as https://example.com/hooks, in ASCII except for its host")
    host, port = _parse_host_and_port(parts[2])
    return HttpUrl(ascii_lower(parts[1]), host, port, parts[3])


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
