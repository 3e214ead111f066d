"""A DNS query returns all records of a name. It raises an error when the answer is unknown."""

import pytest

from chalicelib.kernel.outbound.dns import DnsError, query_dns

SHOP = "shop.example.com"


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
