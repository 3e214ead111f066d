"""An address is in a network that contains it, in both notations of an IPv4 address."""

from ipaddress import IPv4Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.ip_networks import is_in_networks, parse_dns_server_endpoints, parse_ip_network

OFFICE = ["192.0.2.0/24", "2001:db8:1::/48", "203.0.113.7"]
EVERYTHING = [*OFFICE, "0.0.0.0/0", "::/0"]
MAPPED = ["::ffff:192.0.2.0/120"]


@pytest.mark.parametrize(
    ("networks", "inside", "outside"),
    [
        (OFFICE, ["192.0.2.0", "192.0.2.255", "203.0.113.7"], ["192.0.3.0", "10.0.0.1", "203.0.113.8"]),
        (OFFICE, ["::ffff:192.0.2.9", "::ffff:c000:209"], ["::192.0.2.9", "::ffff:192.0.3.9"]),
        (OFFICE, ["2001:db8:1::5"], ["2001:db8:2::5", "::1"]),
        (EVERYTHING, [], ["", "unknown", "192.0.2.1, 10.0.0.1", "192.0.2.1:443", "192.0.2.01", "192.0.2"]),
        ([], [], ["192.0.2.1"]),
        (MAPPED, ["192.0.2.9", "::ffff:192.0.2.9"], ["192.0.3.9"]),
        (["::/0"], [], ["::ffff:192.0.2.9"]),
        (["0.0.0.0/0"], ["::ffff:192.0.2.9"], []),
    ],
)
def test_exactly_the_addresses_of_a_network_are_inside(networks, inside, outside):
    assert [address for address in inside + outside if is_in_networks(address, networks)] == inside


@given(st.ip_addresses().filter(lambda ip: isinstance(ip, IPv4Address) or ip.ipv4_mapped is None), st.data())
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
    ("message", "texts"),
    [
        (r"^must be addresses, such as ", ["dns.example", "192.0.2", "192.0.2.7:", "192.0.2.7:x", "192.0.2.7,", ","]),
        (r"^must be addresses, such as ", [" ", "[192.0.2.7", "2001:db8::7]:53", "::g", "192.0.2.7 192.0.2.8"]),
        (r"^must be addresses, such as ", ["192.0.2.7:-1", "[]:53", "192.0.2.7:٥٣", "192.0.2.7/32"]),
        (r"^must have a port from 1 to 65535$", ["192.0.2.7:0", "192.0.2.7:65536", "192.0.2.7:99999"]),
    ],
)
def test_text_that_is_no_list_of_dns_servers_is_rejected(message, texts):
    for text in texts:
        with pytest.raises(ValueError, match=message):
            parse_dns_server_endpoints(text)
