"""Validation of domain names (RFC 1034), with internationalized ones as ASCII (IDNA 2008)."""

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, StringConstraints

from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.kernel.core.case_folding import normalize_domain_as_dns
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.outbound.ip_addresses import is_localhost_name

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

MAX_NAME_CHARACTERS: Final = 235
"""DNS allows 253. The names of records below the domain need some of them."""

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
"""Top-level names without registrable domains (IANA's registry of special-use domain names, RFC 6761).

Below `arpa` are only infrastructure names, such as `home.arpa` for home networks (RFC 8375).
"""

_FORBIDDEN_CHARACTERS: Final = re.compile(r"[\s/:@?#*\\]")
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")
_IDEOGRAPHIC_STOP: Final = "\u3002"
_NUMERIC_LAST_LABEL: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


def normalize_domain_name(text: str) -> str:
    """Return a domain that somebody can own, in lower case and ASCII, without a trailing dot.

    Raises ValueError with advice for other names, and for domains of the service itself.
    """
    if _is_ip_address(text):
        raise ValueError("must be a domain name such as shop.example.com, not an IP address")
    if _FORBIDDEN_CHARACTERS.search(text):
        raise ValueError(
            "must be only a name, such as shop.example.com, without https://, port, path, spaces or wildcard"
        )
    name = _to_valid_ascii_name(text)
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f"must have {MAX_NAME_CHARACTERS} characters or fewer, to leave room for the names of records")
    if _belongs_to_service(name):
        raise ValueError("belongs to the service. Use a domain of your own")
    if is_localhost_name(name):
        raise ValueError("must be a name in the public DNS, not below localhost")
    if "." not in name:
        raise ValueError(f"must be a name below {name}, such as shop.{name}")
    if name.rpartition(".")[2] in SPECIAL_USE_SUFFIXES or not _has_icann_suffix(name):
        raise ValueError("must be a name in the public DNS, below a top-level domain where domains can be registered")
    if registrable_domain(name) is None:
        raise ValueError(f"is a public suffix, which nobody can own. Use a name below it, such as shop.{name}")
    return name


def registrable_domain(name: str) -> str | None:
    """Return the registered domain of a name, the name itself or an ancestor; None for a public suffix."""
    domain: str | None = _public_suffix_list().privatesuffix(name)
    return domain


def _has_icann_suffix(name: str) -> bool:
    """Return whether a name is, or is below, a public suffix of the ICANN section."""
    suffix: str | None = _icann_suffix_list().publicsuffix(name)
    return suffix is not None


def is_same_or_subdomain(name: str, domain: str) -> bool:
    """Return whether a name is `domain` or below it."""
    return f".{name}".endswith(f".{domain}")


def _to_valid_ascii_name(text: str) -> str:
    advice = "must be a valid domain name, such as shop.example.com"
    try:
        name = normalize_domain_as_dns(text.replace(_IDEOGRAPHIC_STOP, ".").removesuffix("."))
    except ValueError:
        raise ValueError(advice) from None
    if not _NAME.fullmatch(name):
        raise ValueError(advice)
    if _NUMERIC_LAST_LABEL.fullmatch(name):
        raise ValueError("must be a domain name such as shop.example.com: none ends in a number")
    return name


def _is_ip_address(text: str) -> bool:
    try:
        ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _belongs_to_service(name: str) -> bool:
    host = urlsplit(settings().public_url).hostname or ""
    return any(is_same_or_subdomain(name, each) for each in (section(PlatformSettings).platforms_domain, host) if each)


@lru_cache(maxsize=1)
def _public_suffix_list() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@lru_cache(maxsize=1)
def _icann_suffix_list() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=False, only_icann=True)


DomainName = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(normalize_domain_name)]
