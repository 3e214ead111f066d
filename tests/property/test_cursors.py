"""Cursors hold what was put into them, for the one list they were made for, and nothing that was altered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.pagination import decode_cursor, encode_cursor

keys = st.dictionaries(st.sampled_from(["pk", "sk", "index1pk", "index1sk"]), st.text(max_size=30), min_size=1)
bindings = st.text(max_size=30)


def refused(text: str, binding: str) -> bool:
    with pytest.raises(Problem) as refusal:
        decode_cursor(text, binding)
    return refusal.value.code == "invalid_cursor"


@given(keys, bindings)
def test_a_cursor_holds_its_position(key: dict[str, str], binding: str) -> None:
    made = encode_cursor(key, binding)
    assert decode_cursor(made, binding) == key
    assert made.isascii()
    assert all(c.isalnum() or c in "-_" for c in made)


@given(keys, bindings, bindings)
def test_a_cursor_is_good_for_its_own_list_only(key: dict[str, str], binding: str, other: str) -> None:
    if binding != other:
        assert refused(encode_cursor(key, binding), other)


@given(keys, bindings, st.data())
def test_no_altered_bit_goes_unseen(key: dict[str, str], binding: str, data: st.DataObject) -> None:
    made = bytearray(from_base64url(encode_cursor(key, binding)))
    at = data.draw(st.integers(0, len(made) - 1))
    made[at] ^= 1 << data.draw(st.integers(0, 7))
    assert refused(to_base64url(bytes(made)), binding)


@given(keys, bindings, st.data())
def test_no_altered_character_goes_unseen(key: dict[str, str], binding: str, data: st.DataObject) -> None:
    made = encode_cursor(key, binding)
    at = data.draw(st.integers(0, len(made) - 1))
    other = data.draw(st.characters(max_codepoint=255).filter(lambda c: c != made[at]))
    assert refused(made[:at] + other + made[at + 1 :], binding)


@given(st.text(max_size=100), bindings)
def test_what_is_no_cursor_is_refused_as_one(text: str, binding: str) -> None:
    assert refused(text, binding)


# Of eight bytes, which no cipher writes by chance.
@given(st.text(min_size=8, max_size=30), bindings)
def test_nobody_can_read_what_a_cursor_holds(value: str, binding: str) -> None:
    made = from_base64url(encode_cursor({"index1pk": value}, binding))
    assert b"index1pk" not in made
    assert value.encode(errors="surrogatepass") not in made
