"""Links and ends of chains in the table are validated, because anyone who can write to the table can alter them."""

import pytest

from chalicelib.kernel.audit_log.mac_chains import MAC_BYTES, MAX_LINK_NUMBER, SHARDS, ChainEnd, Chains, Link

MAC = bytes(MAC_BYTES)


@pytest.mark.parametrize("number", [1, MAX_LINK_NUMBER - 1])
def test_the_end_of_a_chain_is_a_number_and_a_mac(number):
    assert ChainEnd.from_item_or_empty({"number": number, "mac": MAC}) == ChainEnd(number, MAC)


@pytest.mark.parametrize(
    "item",
    [
        None,
        {},
        *({"number": number, "mac": MAC} for number in (-1, 0, MAX_LINK_NUMBER, "1", None)),
        *({"number": 1, "mac": mac} for mac in (MAC[1:], MAC + b"x", b"", "mac", None)),
    ],
)
def test_an_invalid_end_is_that_of_an_empty_chain(item):
    assert ChainEnd.from_item_or_empty(item) == ChainEnd()


@pytest.mark.parametrize("link", [Link(0, 1, b""), Link(SHARDS - 1, MAX_LINK_NUMBER, MAC)])
def test_a_link_is_restored_from_its_bytes(link):
    assert Link.from_bytes_or_none(link.to_bytes()) == link


@pytest.mark.parametrize(
    "data",
    [None, "text", b"", Link(SHARDS, 1, b"").to_bytes(), Link(0, 0, b"").to_bytes(), Link(0, 1, MAC[1:]).to_bytes()],
)
def test_invalid_bytes_are_no_link(data):
    assert Link.from_bytes_or_none(data) is None


def test_the_other_chain_is_extended_next_and_the_present_item_of_the_first_one_is_used_later():
    chains = Chains("log", [3, 5])
    assert chains.next_link == Link(3, 1, b"")
    chains.use_other_chain({"number": 8, "mac": MAC})
    assert chains.next_link == Link(5, 1, b"")
    chains.use_other_chain()
    assert chains.next_link == Link(3, 9, MAC)
    chains.use_other_chain({"number": 9, "mac": MAC})
    chains.use_other_chain(None)
    assert chains.next_link == Link(3, 10, MAC)
