"""A cursor restores its position, is valid for its own list only, and detects changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.pagination import decode_cursor, encode_cursor

keys = st.dictionaries(st.sampled_from(["pk", "sk", "index1pk", "index1sk"]), st.text(max_size=30), min_size=1)
bindings = st.text(max_size=30)


def is_rejected(text, binding):
    with pytest.raises(Problem) as raised:
        decode_cursor(text, binding)
    return raised.value.code == "invalid_cursor"


@given(keys, bindings, bindings)
def test_a_cursor_restores_its_position_in_its_own_list_only(key, binding, other):
    cursor = encode_cursor(key, binding)
    assert decode_cursor(cursor, binding) == key
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in cursor)
    assert binding == other or is_rejected(cursor, other)


@given(keys, bindings, st.data())
def test_any_altered_bit_or_character_is_detected(key, binding, data):
    cursor = encode_cursor(key, binding)
    index = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.characters(max_codepoint=255).filter(lambda c: c != cursor[index]))
    assert is_rejected(cursor[:index] + other + cursor[index + 1 :], binding)
    altered = bytearray(from_base64url(cursor))
    altered[index % len(altered)] ^= 1 << data.draw(st.integers(0, 7))
    assert is_rejected(to_base64url(bytes(altered)), binding)


@given(st.text(max_size=100), bindings)
def test_other_text_is_rejected(text, binding):
    assert is_rejected(text, binding)


# Eight bytes, which a cipher does not produce by chance.
@given(st.text(min_size=8, max_size=30), bindings)
def test_a_cursor_does_not_reveal_its_position(value, binding):
    cursor = from_base64url(encode_cursor({"index1pk": value}, binding))
    assert b"index1pk" not in cursor
    assert value.encode(errors="surrogatepass") not in cursor
