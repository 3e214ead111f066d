"""An address is in a network that contains it, in both notations of an IPv4 address."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.ip_networks import is_in_networks, parse_dns_server_endpoints, parse_ip_network

OFFICE = ["192.0.2.0/24", "2001:db8:1::/48", "203.0.113.7"]


def is_in_native_notation(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is not an IPv4 address mapped to IPv6."""
    return isinstance(address, IPv4Address) or address.ipv4_mapped is None


@pytest.mark.parametrize(
    "address", ["192.0.2.0", "192.0.2.255", "::ffff:192.0.2.9", "::ffff:c000:209", "2001:db8:1::5", "203.0.113.7"]
)
def test_an_address_of_a_network_is_inside(address):
    assert is_in_networks(address, OFFICE)


@pytest.mark.parametrize(
    "address", ["192.0.3.0", "10.0.0.1", "::192.0.2.9", "::ffff:192.0.3.9", "2001:db8:2::5", "203.0.113.8", "::1"]
)
def test_an_address_of_no_network_is_outside(address):
    assert not is_in_networks(address, OFFICE)


@pytest.mark.parametrize("address", ["", "unknown", "192.0.2.1, 10.0.0.1", "192.0.2.1:443", "192.0.2.01", "192.0.2"])
def test_text_that_is_no_address_is_outside(address):
    assert not is_in_networks(address, [*OFFICE, "0.0.0.0/0", "::/0"])


def test_no_address_is_in_an_empty_list():
    assert not is_in_networks("192.0.2.1", [])


def test_a_mapped_network_contains_the_mapped_ipv4_addresses():
    assert is_in_networks("192.0.2.9", ["::ffff:192.0.2.0/120"])
    assert is_in_networks("::ffff:192.0.2.9", ["::ffff:192.0.2.0/120"])
    assert not is_in_networks("192.0.3.9", ["::ffff:192.0.2.0/120"])


def test_the_whole_of_ipv6_does_not_contain_ipv4():
    assert not is_in_networks("::ffff:192.0.2.9", ["::/0"])
    assert is_in_networks("::ffff:192.0.2.9", ["0.0.0.0/0"])


@given(st.ip_addresses().filter(is_in_native_notation), st.data())
def test_an_address_is_in_each_network_around_it(address, data):
    length = data.draw(st.integers(0, address.max_prefixlen))
    assert is_in_networks(str(address), [str(ip_network((address, length), strict=False))])


@pytest.mark.parametrize("text", ["", "office", "192.0.2.7/24", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/-1"])
def test_text_that_is_no_network_is_rejected(text):
    with pytest.raises(ValueError, match=r"^must be "):
        parse_ip_network(text)


def test_dns_servers_are_addresses_with_an_optional_port():
    servers_text = "192.0.2.7, 127.0.0.1:5353,2001:DB8::7 ,[2001:db8::7], [::1]:1"
    servers = [("192.0.2.7", 53), ("127.0.0.1", 5353), ("2001:db8::7", 53), ("2001:db8::7", 53), ("::1", 1)]
    assert parse_dns_server_endpoints(servers_text) == servers
    assert parse_dns_server_endpoints("") == []


@pytest.mark.parametrize(
    "text",
    [
        "dns.example",
        "192.0.2",
        "192.0.2.7:",
        "192.0.2.7:x",
        "192.0.2.7,",
        ",",
        " ",
        "[192.0.2.7",
        "2001:db8::7]:53",
        "::g",
        "192.0.2.7 192.0.2.8",
        "192.0.2.7:-1",
        "[]:53",
        "192.0.2.7:٥٣",
        "192.0.2.7/32",
    ],
)
def test_text_that_is_no_list_of_addresses_is_rejected(text):
    with pytest.raises(ValueError, match=r"^must be addresses, such as "):
        parse_dns_server_endpoints(text)


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_dns_server_with_an_invalid_port_is_rejected(port):
    with pytest.raises(ValueError, match=r"^must have a port from 1 to 65535$"):
        parse_dns_server_endpoints(f"192.0.2.7:{port}")
