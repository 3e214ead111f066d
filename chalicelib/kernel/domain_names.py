"""Domains that people own, as DNS knows them (RFC 1034): internationalized ones as ASCII (RFC 5891, UTS 46)."""

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, StringConstraints

from chalicelib.kernel.addresses import is_local_name
from chalicelib.kernel.settings import settings

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

MOST_CHARACTERS: Final = 235
"""DNS takes names of 253; a name that stands below this one, such as that of a proof, needs some of them."""

_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::[0-9]*)?")
_NEVER: Final = re.compile(r"[\s/:@?#*\\]")
_NUMBER: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


def domain_name(text: str) -> str:
    """Return a domain that somebody can own, in lower case and ASCII, without a dot at its end.

    Raises ValueError with what to do instead: of what is no such domain, and of those of the service itself.
    """
    if _is_address(text):
        raise ValueError("must be a domain name such as shop.example.com, not an IP address")
    if _NEVER.search(text):
        raise ValueError("must be a name alone, such as shop.example.com: no https://, port, path, blank or wildcard")
    name = _ascii(text)
    if len(name) > MOST_CHARACTERS:
        raise ValueError(f"must have {MOST_CHARACTERS} characters or fewer, so that a record can stand below it")
    if _is_own(name):
        raise ValueError("is one of the service's own; give a domain of yours")
    if is_local_name(name):
        raise ValueError("must be a name of the public DNS; below localhost there is only the machine itself")
    if "." not in name:
        raise ValueError(f"must have a name below {name}, such as shop.{name}")
    if registered(name) is None:
        raise ValueError(f"is a public suffix, which nobody has for themselves; give a name below it: shop.{name}")
    return name


def registered(name: str) -> str | None:
    """Return the domain that was registered with a registry: the name or one above it; None of a public suffix."""
    found: str | None = _suffixes().privatesuffix(name)
    return found


def is_within(name: str, domain: str) -> bool:
    """Return whether a name is a domain or lies below it."""
    return f".{name}".endswith(f".{domain}")


def host_name(host: str) -> str | None:
    """Return the name in a host, as DNS knows it, without port; None if there is none."""
    found = _HOST.fullmatch(host.strip())
    name = found[1].removesuffix(".") if found else ""
    if name.isascii():
        return name.lower() or None
    import idna

    try:
        return idna.encode(name, uts46=True).decode()
    except idna.IDNAError:
        return None


def _ascii(text: str) -> str:
    import idna

    try:
        name = idna.encode(text, uts46=True, std3_rules=True).decode().removesuffix(".")
    except idna.IDNAError:
        raise ValueError("must be a valid domain name, such as shop.example.com") from None
    if _NUMBER.fullmatch(name):
        raise ValueError("must be a domain name such as shop.example.com: none ends in a number")
    return name


def _is_address(text: str) -> bool:
    try:
        ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_own(name: str) -> bool:
    host = urlsplit(settings().public_url).hostname or ""
    return any(is_within(name, own) for own in (settings().platforms_domain, host) if own)


@lru_cache(maxsize=1)
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


DomainName = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(domain_name)]
