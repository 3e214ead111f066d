"""IP addresses and networks in CIDR notation (RFC 4632, 4291), or with a port."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_WITH_PORT: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?|([0-9A-Fa-f:.]+)")
_CLIENT_BITS: Final = 64
_DNS_PORT: Final = 53
_MAX_PORT: Final = 65_535


def is_in_networks(address: str, networks: Sequence[str]) -> bool:
    """Return whether an address is in one of the networks. An invalid address is in none.

    IPv4-mapped IPv6 addresses (`::ffff:192.0.2.1`) count as IPv4. Raises ValueError if a network is invalid.
    """
    parsed_networks = [parse_ip_network(network) for network in networks]
    try:
        parsed_address = unmap_ipv4(ip_address(address))
    except ValueError:
        return False
    return any(parsed_address in network for network in parsed_networks)


def client_network(address: str) -> str:
    """Return the network that identifies a client: its IPv4 address, or the 64-bit network of its IPv6 address.

    An invalid address is returned unchanged.
    """
    try:
        parsed = unmap_ipv4(ip_address(address))
    except ValueError:
        return address
    return str(parsed if isinstance(parsed, IPv4Address) else IPv6Network((parsed, _CLIENT_BITS), strict=False))


def parse_ip_network(text: str) -> IPv4Network | IPv6Network:
    """Return the network that a text denotes. A single address is a network of one address.

    Raises ValueError if the network is invalid or has host bits set.
    """
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(_network_syntax_advice(text)) from None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        return IPv4Network((int(network.network_address) & 0xFFFFFFFF, network.prefixlen - _MAPPED.prefixlen))
    return network


def parse_dns_server_endpoints(text: str) -> list[tuple[str, int]]:
    """Return the addresses and ports in a list of DNS servers, such as `192.0.2.7, [2001:db8::7]:5353`.

    Raises ValueError if an element is neither an address nor an address with a port.
    """
    return [_parse_dns_server_endpoint(server.strip()) for server in text.split(",")] if text else []


def _network_syntax_advice(text: str) -> str:
    try:
        return f"must be {ip_network(text, strict=False)} for that network, or {text.partition('/')[0]} for one address"
    except ValueError:
        return "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"


def _parse_dns_server_endpoint(text: str) -> tuple[str, int]:
    match = _WITH_PORT.fullmatch(text)
    bracketed, plain, port, bare = match.groups() if match else ("", "", "", "")
    try:
        server = str(ip_address(bracketed or plain or bare)), int(port or _DNS_PORT)
    except ValueError:
        raise ValueError("must be addresses, such as 192.0.2.7, 192.0.2.7:53 or [2001:db8::7]:53") from None
    if not 0 < server[1] <= _MAX_PORT:
        raise ValueError("must have a port from 1 to 65535")
    return server


def unmap_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address in an IPv6 address that contains one (RFC 4291, section 2.5.5.2), or the address."""
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
