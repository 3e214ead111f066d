"""Only addresses of the public Internet are public, and a host name has the addresses that its DNS servers return."""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network
from time import monotonic
from typing import Final

import pytest
from dns.nameserver import Do53Nameserver
from dns.resolver import Resolver
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.outbound import dns, egress
from chalicelib.kernel.outbound.dns import DnsError, query_dns
from chalicelib.kernel.outbound.egress import ExchangeFailed, resolve_host
from chalicelib.kernel.outbound.ip_addresses import is_localhost_name, is_public
from tests.harness.nameserver import Nameserver

SPECIAL: Final = (
    # The whole IANA IPv4 Special-Purpose Address Registry
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"),
    *("192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32"),
    *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
    "255.255.255.255/32",
    # The whole IANA IPv6 Special-Purpose Address Registry
    *("::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64"),
    *("2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32"),
    *("2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10"),
    # Multicast, and deprecated networks: IPv4-compatible and site-local
    *("224.0.0.0/4", "ff00::/8", "::/96", "fec0::/10"),
)
METADATA: Final = (
    *("169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "2002:a9fe:a9fe::1", "64:ff9b::a9fe:a9fe"),
)
PUBLIC: Final = (
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
    *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255"),
    *("192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
    *("2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111"),
    *("2a00:1450:4001:80b::200e", "3ffe::1", "3fff:1000::1"),
)
NO_ADDRESSES: Final = (
    *("", "example.com", "8.8.8", "8.8.8.8 ", "8.8.8.08", "0x8.8.8.8", "134744072", "8.8.8.8/32", "8.8.8.8:53"),
    *("[2606:4700::1111]", "2606:4700::1111%eth0", "fe80::1%eth0"),
)


@given(st.sampled_from(SPECIAL), st.data())
def test_a_special_network_contains_no_public_address(network, data):
    parsed_network = ip_network(network)
    address = parsed_network[data.draw(st.integers(0, parsed_network.num_addresses - 1))]
    for text in (str(address), address.exploded, str(parsed_network[0]), str(parsed_network[-1])):
        assert not is_public(text)


def test_public_addresses_are_distinguished_from_metadata_services_network_boundaries_and_other_text():
    boundaries = [str(ip_network(network)[position]) for network in SPECIAL for position in (0, -1)]
    texts = (*boundaries, *METADATA, *NO_ADDRESSES, *PUBLIC)
    assert [text for text in texts if is_public(text)] == [*PUBLIC]


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_the_standard_library_agrees_on_every_public_address(address):
    names = ("private", "loopback", "link_local", "multicast", "reserved", "unspecified")
    is_special = not address.is_global or any(getattr(address, f"is_{name}") for name in names)
    assert not (is_public(str(address)) and is_special)


@given(st.ip_addresses(v=4))
def test_an_embedded_ipv4_address_is_not_public(address):
    for network, shift in (
        *(("::ffff:0:0/96", 0), ("::/96", 0), ("64:ff9b::/96", 0), ("64:ff9b:1::/48", 0)),
        *(("2002::/16", 80), ("2001::/32", 0), ("::ffff:0:0:0/96", 0)),
    ):
        assert not is_public(str(IPv6Address(int(IPv6Network(network).network_address) | int(address) << shift)))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_no_registry_is_public(address):
    special = [network for text in SPECIAL if isinstance(network := ip_network(text), IPv4Network)]
    assert is_public(str(address)) is not any(address in network for network in special)


def resolve(host, seconds=3):
    return resolve_host(host, monotonic() + seconds)


def test_a_name_has_addresses_of_both_families_from_one_query_each(nameserver):
    nameserver.set_replies("hooks.example", ["2001:4860::1", "192.0.2.1", "192.0.2.2"])
    *ipv4_addresses, ipv6_address = resolve("hooks.example")
    assert (sorted(ipv4_addresses), ipv6_address) == (["192.0.2.1", "192.0.2.2"], "2001:4860::1")
    assert nameserver.questions == [("hooks.example", "A"), ("hooks.example", "AAAA")]


def test_a_repeated_resolution_queries_again(nameserver):
    nameserver.set_replies("rebinding.example", ["192.0.2.1"], ["127.0.0.1"])
    assert [resolve("rebinding.example") for _ in range(3)] == [["192.0.2.1"], ["127.0.0.1"], ["127.0.0.1"]]


def test_addresses_and_localhost_resolve_without_a_query(nameserver):
    assert (resolve("192.0.2.1"), resolve("2001:DB8:0::7")) == (["192.0.2.1"], ["2001:db8::7"])
    for host in ("localhost", "LOCALHOST", "localhost.", "api.localhost"):
        assert is_localhost_name(host)
        assert resolve(host) == ["127.0.0.1", "::1"]
    assert nameserver.questions == []
    for host in ("localhost.example", "notlocalhost", "local.host"):
        assert not is_localhost_name(host)


@pytest.mark.parametrize("failure", ["NXDOMAIN", "SERVFAIL", "REFUSED", []])
def test_an_invalid_name_and_one_without_addresses_cannot_be_resolved(failure, nameserver):
    nameserver.set_replies("broken.example", failure)
    nameserver.set_replies("a.example", ["192.0.2.1"])
    invalid_names = ("", ".", "a..example", "a" * 64 + ".example", "a." * 200 + "example", "ä.example")
    for host in ("broken.example", *invalid_names):
        with pytest.raises(ExchangeFailed, match=r"^The name cannot be resolved\.$") as raised:
            resolve(host)
        assert not raised.value.timed_out, host


def test_silent_servers_are_awaited_until_the_deadline(nameserver):
    nameserver.set_replies("silent.example", "SILENCE")
    started_at = monotonic()
    with pytest.raises(ExchangeFailed, match="did not respond in time") as raised:
        resolve("silent.example", seconds=0.3)
    assert raised.value.timed_out
    assert 0.3 <= monotonic() - started_at < 10


@pytest.mark.parametrize(
    ("ipv4_replies", "ipv6_replies", "addresses"),
    [
        ([["192.0.2.1"]], ["SILENCE"], ["192.0.2.1"]),
        (["SILENCE", ["192.0.2.1"]], [[]], ["192.0.2.1"]),
        (["SERVFAIL"], [["2001:4860::1"]], ["2001:4860::1"]),
    ],
    ids=["silence for IPv6", "a lost query", "a failure for IPv4"],
)
def test_addresses_of_one_family_are_sufficient_soon(ipv4_replies, ipv6_replies, addresses, nameserver, monkeypatch):
    monkeypatch.setattr(egress, "_SECOND_QUERY_SECONDS", 0.2)
    monkeypatch.setattr(dns, "_ATTEMPT_SECONDS", 0.1)
    nameserver.set_replies("half.example", *ipv4_replies, record_type="A")
    nameserver.set_replies("half.example", *ipv6_replies, record_type="AAAA")
    started_at = monotonic()
    assert resolve("half.example", seconds=60) == addresses
    assert monotonic() - started_at < 20


def test_a_slow_server_is_awaited_until_there_is_an_address(nameserver, monkeypatch):
    monkeypatch.setattr(egress, "_SECOND_QUERY_SECONDS", 0.1)
    nameserver.set_replies("slow.example", ["192.0.2.1", "2001:4860::1"])
    nameserver.delay_seconds = 0.3
    assert resolve("slow.example") == ["192.0.2.1"]


def test_the_next_server_is_queried_after_a_failure(configure):
    with Nameserver() as working_server, Nameserver() as failing_server:
        working_server.set_replies("hooks.example", ["192.0.2.1"])
        failing_server.set_replies("hooks.example", "SERVFAIL")
        configure(dns_nameservers=f"{failing_server.address}, {working_server.address}")
        assert resolve("hooks.example") == ["192.0.2.1"]


def test_the_systems_servers_are_queried_without_a_setting(nameserver, configure, monkeypatch):
    address, _, port = nameserver.address.partition(":")
    servers = [Do53Nameserver(address, int(port))]
    monkeypatch.setattr(Resolver, "read_resolv_conf", lambda resolver, _file: setattr(resolver, "nameservers", servers))
    nameserver.set_replies("hooks.example", ["192.0.2.1"], ["192.0.2.2"], ["192.0.2.3"])
    for setting, expected in [(nameserver.address, "192.0.2.1"), ("", "192.0.2.2"), (nameserver.address, "192.0.2.3")]:
        configure(dns_nameservers=setting)
        assert resolve("hooks.example") == [expected]


SHOP: Final = "shop.example.com"


@pytest.mark.parametrize("text", ["atrium-verify=1", "", 'say "so"', "back\\slash", "x" * 255, "x" * 256, "x" * 400])
def test_a_text_record_is_returned_unchanged(text, nameserver):
    nameserver.set_replies(SHOP, [text], record_type="TXT")
    assert query_dns(SHOP, "TXT", 2) == [text]


def test_a_truncated_answer_of_several_records_is_queried_again_over_tcp(nameserver):
    texts = [f"{n:03d}" * 60 for n in range(20)]
    nameserver.set_replies(SHOP, texts, record_type="TXT")
    assert sorted(query_dns(SHOP, "TXT", 2)) == texts
    assert nameserver.questions == [(SHOP, "TXT")] * 2


def test_a_canonical_name_is_lower_case_without_the_final_dot(nameserver):
    nameserver.set_replies(SHOP, ["CNAME.Atrium.Example."], record_type="CNAME")
    assert query_dns(SHOP, "CNAME", 2) == ["cname.atrium.example"]


def test_aliases_are_followed_to_addresses(nameserver):
    nameserver.set_replies(SHOP, ["a.example.com"], record_type="CNAME")
    nameserver.set_replies("a.example.com", ["b.example.com"], record_type="CNAME")
    nameserver.set_replies("b.example.com", ["192.0.2.7", "2001:db8::7"])
    assert (query_dns(SHOP, "A", 2), query_dns(SHOP, "AAAA", 2)) == (["192.0.2.7"], ["2001:db8::7"])


@pytest.mark.parametrize("record_type", ["A", "AAAA", "CNAME", "TXT"])
def test_a_missing_record_is_an_empty_list(record_type, nameserver):
    assert query_dns("nobody.example", record_type, 2) == []
    nameserver.set_replies(SHOP, [], record_type=record_type)
    assert query_dns(SHOP, record_type, 2) == []
    nameserver.set_replies(SHOP, ["gone.example"], record_type="CNAME")
    if record_type != "CNAME":
        assert query_dns(SHOP, record_type, 2) == []


def test_without_remaining_time_or_with_an_invalid_name_no_query_is_sent(nameserver):
    nameserver.set_replies(SHOP, ["one"], record_type="TXT")
    for name, seconds in ((SHOP, 0), (SHOP, -1), ("a" * 64 + ".example", 2)):
        with pytest.raises(DnsError) as raised:
            query_dns(name, "TXT", seconds)
        assert raised.value.timed_out == (name == SHOP)
    assert nameserver.questions == []
