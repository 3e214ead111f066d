"""Domains that people own, as DNS knows them (RFC 1034): internationalized ones as ASCII (IDNA 2008)."""

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, StringConstraints

from chalicelib.kernel.core.case_folding import ascii_domain, ascii_lower
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.ip_addresses import is_local_name

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

MAX_NAME_CHARACTERS: Final = 235
"""DNS takes names of 253; a name that stands below this one, such as that of a proof, needs some of them."""

_MAX_HOST_CHARACTERS: Final = 253
"""Of a name of the DNS (RFC 1035, section 2.3.4)."""

SPECIAL_USE_SUFFIXES: Final = (
    "alt",
    "arpa",
    "example",
    "internal",
    "invalid",
    "local",
    "localhost",
    "onion",
    "test",
)
"""Top-level names that nobody registers domains below (IANA's registry of special-use domain names, RFC 6761).

Below `arpa` are names of infrastructure only, such as `home.arpa` for networks at home (RFC 8375).
"""

_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::[0-9]*)?")
_NEVER: Final = re.compile(r"[\s/:@?#*\\]")
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")
_IDEOGRAPHIC_STOP: Final = "\u3002"
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
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f"must have {MAX_NAME_CHARACTERS} characters or fewer, so that a record can stand below it")
    if _is_own(name):
        raise ValueError("is one of the service's own; give a domain of yours")
    if is_local_name(name):
        raise ValueError("must be a name of the public DNS; below localhost there is only the machine itself")
    if "." not in name:
        raise ValueError(f"must have a name below {name}, such as shop.{name}")
    if name.rpartition(".")[2] in SPECIAL_USE_SUFFIXES or not _is_registrable(name):
        raise ValueError("must be a name of the public DNS, below a top-level domain where domains can be registered")
    if registrable_domain(name) is None:
        raise ValueError(f"is a public suffix, which nobody has for themselves; give a name below it: shop.{name}")
    return name


def registrable_domain(name: str) -> str | None:
    """Return the domain that was registered with a registry: the name or one above it; None of a public suffix."""
    found: str | None = _suffixes().privatesuffix(name)
    return found


def _is_registrable(name: str) -> bool:
    """Return whether a name lies below a public suffix of the ICANN section, or is one: a registry answers for it."""
    found: str | None = _icann_suffixes().publicsuffix(name)
    return found is not None


def is_within(name: str, domain: str) -> bool:
    """Return whether a name is a domain or lies below it."""
    return f".{name}".endswith(f".{domain}")


def host_name(host: str) -> str | None:
    """Return the name in a host, as DNS knows it, without port; None if there is none."""
    found = _HOST.fullmatch(host.strip())
    name = found[1].removesuffix(".") if found else ""
    if len(name) > _MAX_HOST_CHARACTERS:
        return None
    if name.isascii():
        return ascii_lower(name) or None
    try:
        return ascii_domain(name)
    except ValueError:
        return None


def _ascii(text: str) -> str:
    advice = "must be a valid domain name, such as shop.example.com"
    try:
        name = ascii_domain(text.replace(_IDEOGRAPHIC_STOP, ".").removesuffix("."))
    except ValueError:
        raise ValueError(advice) from None
    if not _NAME.fullmatch(name):
        raise ValueError(advice)
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


@lru_cache(maxsize=1)
def _icann_suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=False, only_icann=True)


DomainName = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(domain_name)]
