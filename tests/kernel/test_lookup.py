"""DNS is asked what a name holds: all of it, or nothing, or nobody knows."""

from time import monotonic

import pytest

from chalicelib.kernel.outbound.dns import DnsError, RecordType, query_dns
from tests.harness.nameserver import Failure, Nameserver

SHOP = "shop.example.com"


@pytest.mark.parametrize("text", ["atrium-verify=1", "", 'say "so"', "back\\slash", "x" * 255, "x" * 256, "x" * 400])
def test_a_text_is_what_was_put_there(text: str, nameserver: Nameserver) -> None:
    nameserver.says(SHOP, [text], of="TXT")
    assert query_dns(SHOP, "TXT", 2) == [text]


def test_a_name_may_hold_several_texts(nameserver: Nameserver) -> None:
    nameserver.says(SHOP, ["one", "two", "three"], of="TXT")
    assert sorted(query_dns(SHOP, "TXT", 2)) == ["one", "three", "two"]


def test_an_answer_that_is_too_long_for_a_datagram_is_asked_for_by_tcp(nameserver: Nameserver) -> None:
    texts = [f"{n:03d}" * 60 for n in range(20)]
    nameserver.says(SHOP, texts, of="TXT")
    assert sorted(query_dns(SHOP, "TXT", 2)) == texts
    assert nameserver.questions == [(SHOP, "TXT")] * 2


def test_another_name_is_told_in_lower_case_without_its_dot(nameserver: Nameserver) -> None:
    nameserver.says(SHOP, ["CNAME.Atrium.Example."], of="CNAME")
    assert query_dns(SHOP, "CNAME", 2) == ["cname.atrium.example"]


def test_addresses_are_found_behind_other_names(nameserver: Nameserver) -> None:
    nameserver.says(SHOP, ["a.example.com"], of="CNAME")
    nameserver.says("a.example.com", ["b.example.com"], of="CNAME")
    nameserver.says("b.example.com", ["192.0.2.7", "2001:db8::7"])
    assert query_dns(SHOP, "A", 2) == ["192.0.2.7"]
    assert query_dns(SHOP, "AAAA", 2) == ["2001:db8::7"]


@pytest.mark.parametrize("question", ["A", "AAAA", "CNAME", "TXT"])
def test_what_is_not_there_is_nothing(question: RecordType, nameserver: Nameserver) -> None:
    assert query_dns("nobody.example", question, 2) == []
    nameserver.says(SHOP, [], of=question)
    assert query_dns(SHOP, question, 2) == []
    nameserver.says(SHOP, ["gone.example"], of="CNAME")
    if question != "CNAME":
        assert query_dns(SHOP, question, 2) == []


@pytest.mark.parametrize("failure", ["SERVFAIL", "REFUSED"])
def test_what_no_server_can_tell_nobody_knows(failure: Failure, nameserver: Nameserver) -> None:
    nameserver.says(SHOP, failure, of="TXT")
    begun = monotonic()
    with pytest.raises(DnsError) as raised:
        query_dns(SHOP, "TXT", 2)
    assert not raised.value.timed_out
    assert monotonic() - begun < 1


def test_a_silent_server_is_waited_for_so_long_and_no_longer(nameserver: Nameserver) -> None:
    nameserver.says(SHOP, "SILENCE", of="TXT")
    begun = monotonic()
    with pytest.raises(DnsError) as raised:
        query_dns(SHOP, "TXT", 0.3)
    assert raised.value.timed_out
    assert 0.3 <= monotonic() - begun < 1


@pytest.mark.parametrize("seconds", [0, -1])
def test_without_time_nobody_is_asked(seconds: float, nameserver: Nameserver) -> None:
    nameserver.says(SHOP, ["one"], of="TXT")
    with pytest.raises(DnsError) as raised:
        query_dns(SHOP, "TXT", seconds)
    assert raised.value.timed_out


def test_what_can_be_no_name_nobody_knows(nameserver: Nameserver) -> None:
    with pytest.raises(DnsError):
        query_dns("a" * 64 + ".example", "TXT", 2)
    assert nameserver.questions == []
