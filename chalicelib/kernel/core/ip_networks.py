"""Addresses and networks of IPv4 and IPv6, as people write them: in CIDR notation (RFC 4632, 4291), or with a port."""

import re
from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_network,
)
from typing import Final

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_WITH_PORT: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?|([0-9A-Fa-f:.]+)")
_CLIENT_BITS: Final = 64
_DNS_PORT: Final = 53
_MAX_PORT: Final = 65_535


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


def networks_outside(networks: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """Return those networks of which a part lies outside of the allowed ones. Raises ValueError if one is not valid."""
    parsed = [network(each) for each in allowed]
    whole: list[IPv4Network | IPv6Network] = [
        *collapse_addresses(each for each in parsed if isinstance(each, IPv4Network)),
        *collapse_addresses(each for each in parsed if isinstance(each, IPv6Network)),
    ]
    return [each for each in networks if not any(_covers(one, network(each)) for one in whole)]


def client_network(address: str) -> str:
    """Return what tells one client from another: its address or, of IPv6, the network of 64 bits that it has to itself.

    What is no address is a client of its own.
    """
    try:
        plain = _plain(ip_address(address))
    except ValueError:
        return address
    return str(plain if isinstance(plain, IPv4Address) else IPv6Network((plain, _CLIENT_BITS), strict=False))


def network(text: str) -> IPv4Network | IPv6Network:
    """Return a network, a single address being one too. Raises ValueError if host bits are set or it is not valid."""
    try:
        given = ip_network(text)
    except ValueError:
        raise ValueError(_advice(text)) from None
    if isinstance(given, IPv6Network) and given.subnet_of(_MAPPED):
        return IPv4Network((int(given.network_address) & 0xFFFFFFFF, given.prefixlen - _MAPPED.prefixlen))
    return given


def dns_servers(text: str) -> list[tuple[str, int]]:
    """Return the address and the port of each DNS server of a list, such as `192.0.2.7, [2001:db8::7]:5353`.

    Raises ValueError if one is neither an address nor an address with a port.
    """
    return [_with_port(server.strip()) for server in text.split(",")] if text else []


def _covers(outer: IPv4Network | IPv6Network, inner: IPv4Network | IPv6Network) -> bool:
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


def _advice(text: str) -> str:
    try:
        return f"must be {ip_network(text, strict=False)} for that network, or {text.partition('/')[0]} for one address"
    except ValueError:
        return "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"


def _with_port(text: str) -> tuple[str, int]:
    match = _WITH_PORT.fullmatch(text)
    bracketed, plain, port, bare = match.groups() if match else ("", "", "", "")
    try:
        found = str(ip_address(bracketed or plain or bare)), int(port or _DNS_PORT)
    except ValueError:
        raise ValueError("must be addresses, such as 192.0.2.7, 192.0.2.7:53 or [2001:db8::7]:53") from None
    if not 0 < found[1] <= _MAX_PORT:
        raise ValueError("must have a port from 1 to 65535")
    return found


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
