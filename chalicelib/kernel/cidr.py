"""From where a credential may be used: addresses and networks of IPv4 and IPv6, in CIDR notation (RFC 4632, 4291)."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

_MAPPED: Final = IPv6Network("::ffff:0:0/96")


def within(address: str, networks: Sequence[str]) -> bool:
    """Tell whether the address lies in one of the networks. What is no address lies in none.

    IPv4 written as IPv6 (`::ffff:192.0.2.1`) is IPv4 on either side. Raises ValueError if a network is not valid.
    """
    parsed = [network(n) for n in networks]
    try:
        caller = _plain(ip_address(address))
    except ValueError:
        return False
    return any(caller in n for n in parsed)


def network(text: str) -> IPv4Network | IPv6Network:
    """Return a network, a single address being one too. Raises ValueError if host bits are set or it is not valid."""
    try:
        given = ip_network(text)
    except ValueError:
        raise ValueError(_advice(text)) from None
    if isinstance(given, IPv6Network) and given.subnet_of(_MAPPED):
        return IPv4Network((int(given.network_address) & 0xFFFFFFFF, given.prefixlen - _MAPPED.prefixlen))
    return given


def _advice(text: str) -> str:
    try:
        return f"must be {ip_network(text, strict=False)} for that network, or {text.partition('/')[0]} for one address"
    except ValueError:
        return "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
