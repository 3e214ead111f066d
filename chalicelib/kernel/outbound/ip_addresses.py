"""Public IP addresses, and names of the machine itself."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.settings import settings

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
"""IANA's IPv4 Special-Purpose Address Registry (RFC 6890) and multicast (RFC 5771)."""

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""All IPv6 unicast addresses that IANA allocates (RFC 4291). Mapped and NAT64 addresses are outside of it."""

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
"""Special-purpose networks within the global unicast addresses (IANA), such as Teredo, 6to4 and documentation."""

NOT_PUBLIC: Final = "an address that is not public"


def is_public(address: str) -> bool:
    """Return whether an address is public. Invalid addresses and those with a zone are not."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _SPECIAL_IPV4)
    return (
        parsed.scope_id is None
        and parsed in _GLOBAL_UNICAST
        and not any(parsed in network for network in _SPECIAL_IPV6)
    )


def mask_private_address(address: str) -> str:
    """Return the address if callers may see it, else `NOT_PUBLIC`. Private ones would disclose the service's network.

    On the local stage, loopback addresses are shown as well.
    """
    local = settings().stage == "local" and ip_address(address).is_loopback
    return address if local or is_public(address) else NOT_PUBLIC


def is_localhost_name(host: str) -> bool:
    """Return whether a name always refers to the machine itself (RFC 6761, section 6.3)."""
    return f".{ascii_lower(host).rstrip('.')}".endswith(".localhost")
