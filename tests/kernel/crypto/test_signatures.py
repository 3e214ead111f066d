"""A MAC is valid for its payload, context and key only, and keys can be rotated."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.signatures import TAG_BYTES, authentication_tag_bytes, is_valid_tag

KEY, OTHER_KEY = bytes(range(32)), bytes(32)

contexts = st.text(max_size=8)


def test_a_tag_is_the_key_id_and_a_truncated_hmac_sha256_of_context_and_payload():
    mac = hmac.new(KEY, b"\x00\x00\x00\x06cursor" + b"payload", hashlib.sha256).digest()
    assert authentication_tag_bytes(b"payload", "cursor") == hashlib.sha256(KEY).digest()[:4] + mac[:16]


@given(st.binary(), contexts)
def test_a_tag_is_valid_for_its_payload_and_context(payload, context):
    tag = authentication_tag_bytes(payload, context)
    assert len(tag) == TAG_BYTES
    assert is_valid_tag(payload, tag, context)


@given(st.tuples(st.binary(max_size=4), contexts), st.tuples(st.binary(max_size=4), contexts))
def test_a_tag_is_invalid_for_another_payload_or_context(signed_pair, verified_pair):
    assert is_valid_tag(verified_pair[0], authentication_tag_bytes(*signed_pair), verified_pair[1]) == (
        signed_pair == verified_pair
    )


def test_context_and_payload_are_delimited():
    assert not is_valid_tag(b"b", authentication_tag_bytes(b"", "ab"), "a")
    assert not is_valid_tag(b"", authentication_tag_bytes(b"b", "a"), "ab")


@given(st.data())
def test_any_altered_bit_is_detected(data):
    tag = bytearray(authentication_tag_bytes(b"payload", "cursor"))
    tag[data.draw(st.integers(0, TAG_BYTES - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert not is_valid_tag(b"payload", bytes(tag), "cursor")


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 19])
def test_a_truncated_tag_is_invalid(length):
    assert not is_valid_tag(b"payload", authentication_tag_bytes(b"payload", "cursor")[:length], "cursor")


def test_a_tag_of_another_key_is_invalid(monkeypatch):
    tag = authentication_tag_bytes(b"payload", "cursor")
    monkeypatch.setenv("TOKEN_KEY", to_base64(OTHER_KEY))
    settings.cache_clear()
    assert not is_valid_tag(b"payload", tag, "cursor")
    monkeypatch.undo()
    settings.cache_clear()
    assert is_valid_tag(b"payload", tag, "cursor")
