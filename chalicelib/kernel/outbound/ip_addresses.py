"""Addresses of strangers' servers: which are public, and which a name has at the moment."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from time import monotonic
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound import dns

_SPECIAL_IPV4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
"""The IPv4 Special-Purpose Address Registry of IANA (RFC 6890) and multicast (RFC 5771), whole."""

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""All that IANA gives away of IPv6 (RFC 4291). What leads to IPv4 by another name is outside: mapped, NAT64."""

_SPECIAL_IPV6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "2620:4f:8000::/48",
            "3fff::/20",
        ),
    )
)
"""What the IPv6 Special-Purpose Address Registry has of it: Teredo, 6to4 and documentation among them."""

NOT_PUBLIC: Final = "an address that is not public"
_LOOPBACK: Final = ("127.0.0.1", "::1")
_QUESTIONS: Final[tuple[dns.Question, ...]] = ("A", "AAAA")
_SECOND_QUESTION_SECONDS: Final = 0.5
"""How long more addresses are waited for once there are some: some servers never answer for IPv6."""


class HostNotResolved(Exception):
    """A name has no address; says why. `timed_out` tells whether its servers have just not answered in time.

    `no_such_name`: whether they said that the name does not exist.
    """

    def __init__(self, why: str, *, timed_out: bool = False, no_such_name: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out
        self.no_such_name = no_such_name


def is_public(address: str) -> bool:
    """Return whether an address is one of the public Internet. What is no address, or has a zone, is not."""
    try:
        known = ip_address(address)
    except ValueError:
        return False
    if isinstance(known, IPv4Address):
        return not any(known in network for network in _SPECIAL_IPV4)
    return (
        known.scope_id is None and known in _GLOBAL_UNICAST and not any(known in network for network in _SPECIAL_IPV6)
    )


def public_only(address: str) -> str:
    """Return an address as callers may see it: one that is not public tells of the network that the service is in.

    On the local stage, loopback addresses are shown as well.
    """
    local = settings().stage == "local" and ip_address(address).is_loopback
    return address if local or is_public(address) else NOT_PUBLIC


def is_local_name(host: str) -> bool:
    """Return whether a name always means the machine itself (RFC 6761, section 6.3)."""
    return f".{ascii_lower(host).rstrip('.')}".endswith(".localhost")


def resolve_host(host: str, until: float) -> list[str]:
    """Return the addresses of a host, IPv4 first; a literal address has itself. `until` is a moment of `monotonic`.

    Raises Unresolved.
    """
    try:
        return [str(ip_address(host))]
    except ValueError:
        return list(_LOOPBACK) if is_local_name(host) else _asked(host, until)


def _asked(host: str, until: float) -> list[str]:
    found: list[str] = []
    timed_out = no_such_name = False
    for question in _QUESTIONS:
        left = until - monotonic()
        try:
            answer = dns.query_dns(host, question, min(left, _SECOND_QUESTION_SECONDS) if found else left)
            found += answer
            no_such_name = no_such_name or answer is dns.NO_SUCH_NAME
        except dns.DnsError as error:
            timed_out = timed_out or error.timed_out
    if not found and timed_out:
        raise HostNotResolved("The name's servers did not answer in time.", timed_out=True)
    if not found:
        raise HostNotResolved("The name can't be resolved.", no_such_name=no_such_name)
    return found
