"""Only the public Internet is public; and a name has the addresses that its DNS servers say when they are asked."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from time import monotonic
from typing import Final

import pytest
from dns.nameserver import Do53Nameserver
from dns.resolver import Resolver
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.outbound import dns
from chalicelib.kernel.outbound import ip_addresses as module
from chalicelib.kernel.outbound.ip_addresses import HostNotResolved, is_local_name, is_public, resolve_host
from tests.conftest import Configure
from tests.harness.nameserver import Failure, Nameserver

SPECIAL: Final = (
    # IANA IPv4 Special-Purpose Address Registry, whole
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"),
    *("192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32"),
    *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
    "255.255.255.255/32",
    # IANA IPv6 Special-Purpose Address Registry, whole
    *("::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64"),
    *("2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32"),
    *("2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10"),
    # Multicast, and what is deprecated: IPv4-compatible and site-local
    *("224.0.0.0/4", "ff00::/8", "::/96", "fec0::/10"),
)
METADATA: Final = (
    "169.254.169.254",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "2002:a9fe:a9fe::1",
    "64:ff9b::a9fe:a9fe",
)
PUBLIC: Final = (
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
    *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255"),
    *("192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
    *("2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111"),
    *("2a00:1450:4001:80b::200e", "3ffe::1", "3fff:1000::1"),
)


@given(st.sampled_from(SPECIAL), st.data())
def test_nothing_of_a_special_network_is_public(network: str, data: st.DataObject) -> None:
    around = ip_network(network)
    address = around[data.draw(st.integers(0, around.num_addresses - 1))]
    assert not is_public(str(address))
    assert not is_public(address.exploded)


@pytest.mark.parametrize("network", SPECIAL)
def test_the_ends_of_a_special_network_are_not_public(network: str) -> None:
    around = ip_network(network)
    assert not is_public(str(around[0]))
    assert not is_public(str(around[-1]))


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_what_is_public_is_so_in_the_eyes_of_the_standard_library_too(address: IPv4Address | IPv6Address) -> None:
    wrong = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or not address.is_global
    )
    assert not (is_public(str(address)) and wrong)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_public_by_its_own_name_only(address: IPv4Address) -> None:
    number = int(address)
    for network, shift in (
        *(("::ffff:0:0/96", 0), ("::/96", 0), ("64:ff9b::/96", 0), ("64:ff9b:1::/48", 0)),
        *(("2002::/16", 80), ("2001::/32", 0), ("::ffff:0:0:0/96", 0)),
    ):
        assert not is_public(str(IPv6Address(int(IPv6Network(network).network_address) | number << shift)))


@given(st.ip_addresses(v=4))
def test_all_of_ipv4_that_no_registry_has_is_public(address: IPv4Address) -> None:
    special = [network for text in SPECIAL if isinstance(network := ip_network(text), IPv4Network)]
    assert is_public(str(address)) is not any(address in network for network in special)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", METADATA)
def test_the_metadata_of_a_cloud_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "8.8.8",
        "8.8.8.8 ",
        "8.8.8.08",
        "0x8.8.8.8",
        "134744072",
        "8.8.8.8/32",
        "8.8.8.8:53",
        "[2606:4700::1111]",
        "2606:4700::1111%eth0",
        "fe80::1%eth0",
    ],
)
def test_what_is_no_address_or_has_a_zone_is_not_public(text: str) -> None:
    assert not is_public(text)


def found(host: str, seconds: float = 3) -> list[str]:
    return resolve_host(host, monotonic() + seconds)


def test_a_name_has_the_addresses_of_both_families_that_its_servers_say(nameserver: Nameserver) -> None:
    nameserver.says("hooks.example", ["2001:4860::1", "192.0.2.1", "192.0.2.2"])
    assert sorted(found("hooks.example")[:2]) == ["192.0.2.1", "192.0.2.2"]
    assert found("hooks.example")[2:] == ["2001:4860::1"]


def test_each_family_is_asked_for_once_and_no_other_name(nameserver: Nameserver) -> None:
    nameserver.says("hooks.example", ["192.0.2.1"])
    found("hooks.example")
    assert nameserver.questions == [("hooks.example", "A"), ("hooks.example", "AAAA")]


def test_what_is_asked_again_is_answered_anew(nameserver: Nameserver) -> None:
    nameserver.says("rebinding.example", ["192.0.2.1"], ["127.0.0.1"])
    assert [found("rebinding.example") for _ in range(3)] == [["192.0.2.1"], ["127.0.0.1"], ["127.0.0.1"]]


@pytest.mark.parametrize(("host", "address"), [("192.0.2.1", "192.0.2.1"), ("2001:DB8:0::7", "2001:db8::7")])
def test_an_address_has_itself_and_nobody_is_asked(host: str, address: str, nameserver: Nameserver) -> None:
    assert found(host) == [address]
    assert nameserver.questions == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost.", "api.localhost"])
def test_localhost_is_the_machine_itself_and_nobody_is_asked(host: str, nameserver: Nameserver) -> None:
    assert is_local_name(host)
    assert found(host) == ["127.0.0.1", "::1"]
    assert nameserver.questions == []


@pytest.mark.parametrize("host", ["localhost.example", "notlocalhost", "local.host"])
def test_other_names_are_not_the_machine_itself(host: str) -> None:
    assert not is_local_name(host)


@pytest.mark.parametrize("failure", ["NXDOMAIN", "SERVFAIL", "REFUSED"])
def test_a_name_that_can_not_be_resolved(failure: Failure, nameserver: Nameserver) -> None:
    nameserver.says("broken.example", failure)
    with pytest.raises(HostNotResolved, match=r"^The name cannot be resolved\.$") as raised:
        found("broken.example")
    assert not raised.value.timed_out


def test_a_name_without_addresses_can_not_be_resolved(nameserver: Nameserver) -> None:
    nameserver.says("empty.example", [])
    with pytest.raises(HostNotResolved, match="cannot be resolved"):
        found("empty.example")


@pytest.mark.parametrize("host", ["", ".", "a..example", "a" * 64 + ".example", "a." * 200 + "example", "ä.example"])
def test_what_is_no_name_can_not_be_resolved(host: str, nameserver: Nameserver) -> None:
    nameserver.says("a.example", ["192.0.2.1"])
    with pytest.raises(HostNotResolved, match="cannot be resolved"):
        found(host)


def test_servers_that_never_answer_are_waited_for_as_long_as_there_is_time(nameserver: Nameserver) -> None:
    nameserver.says("silent.example", "SILENCE")
    begun = monotonic()
    with pytest.raises(HostNotResolved, match="did not respond in time") as raised:
        found("silent.example", seconds=0.3)
    assert raised.value.timed_out
    assert 0.3 <= monotonic() - begun < 2


def test_servers_that_never_answer_for_ipv6_are_not_waited_for_long(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECOND_QUERY_SECONDS", 0.2)
    nameserver.says("half.example", ["192.0.2.1"], of="A")
    nameserver.says("half.example", "SILENCE", of="AAAA")
    begun = monotonic()
    assert found("half.example") == ["192.0.2.1"]
    assert monotonic() - begun < 2


def test_a_slow_server_is_waited_for_until_there_is_an_address(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECOND_QUERY_SECONDS", 0.1)
    nameserver.says("slow.example", ["192.0.2.1", "2001:4860::1"])
    nameserver.delay = 0.3
    assert found("slow.example") == ["192.0.2.1"]


def test_a_question_that_gets_lost_is_asked_again(nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "_ATTEMPT_SECONDS", 0.1)
    nameserver.says("lost.example", "SILENCE", ["192.0.2.1"], of="A")
    nameserver.says("lost.example", [], of="AAAA")
    begun = monotonic()
    assert found("lost.example") == ["192.0.2.1"]
    assert monotonic() - begun < 2


def test_one_family_is_enough(nameserver: Nameserver) -> None:
    nameserver.says("six.example", "SERVFAIL", of="A")
    nameserver.says("six.example", ["2001:4860::1"], of="AAAA")
    assert found("six.example") == ["2001:4860::1"]


def test_the_next_server_is_asked_when_one_is_dead(configure: Configure) -> None:
    with Nameserver() as living, Nameserver() as dead:
        living.says("hooks.example", ["192.0.2.1"])
        dead.says("hooks.example", "SERVFAIL")
        configure(dns_nameservers=f"{dead.address}, {living.address}")
        assert found("hooks.example") == ["192.0.2.1"]


def test_the_machines_own_servers_are_asked_where_none_are_set(
    nameserver: Nameserver, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _, port = nameserver.address.partition(":")
    own = [Do53Nameserver(address, int(port))]
    monkeypatch.setattr(Resolver, "read_resolv_conf", lambda resolver, _file: setattr(resolver, "nameservers", own))
    nameserver.says("hooks.example", ["192.0.2.1"], ["192.0.2.2"], ["192.0.2.3"])
    for setting, expected in [(nameserver.address, "192.0.2.1"), ("", "192.0.2.2"), (nameserver.address, "192.0.2.3")]:
        configure(dns_nameservers=setting)
        assert found("hooks.example") == [expected]
