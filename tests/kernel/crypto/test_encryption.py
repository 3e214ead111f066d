"""Encrypted values and MACs are valid only unaltered, with their key and in their context."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt_bytes, encrypt_bytes
from chalicelib.kernel.crypto.signatures import TAG_BYTES, authentication_tag_bytes, is_valid_tag

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
CONTEXT = "idempotency:I#user#key"

contexts = st.text(max_size=8)


@given(st.binary(), st.text())
def test_a_ciphertext_hides_its_value_and_decrypts_in_the_same_context(plaintext, context):
    ciphertext = encrypt_bytes(plaintext, context)
    assert decrypt_bytes(ciphertext, context) == plaintext
    assert len(plaintext) < 8 or plaintext not in ciphertext


@given(st.binary(max_size=20), st.data())
def test_any_altered_bit_of_a_ciphertext_is_detected(plaintext, data):
    ciphertext = bytearray(encrypt_bytes(plaintext, CONTEXT))
    ciphertext[data.draw(st.integers(0, len(ciphertext) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DecryptionError):
        decrypt_bytes(bytes(ciphertext), CONTEXT)


def test_any_truncation_another_context_and_another_key_are_detected(monkeypatch):
    ciphertext = encrypt_bytes(b"secret", CONTEXT)
    for length in range(len(ciphertext)):
        with pytest.raises(DecryptionError):
            decrypt_bytes(ciphertext[:length], CONTEXT)
    with pytest.raises(DecryptionError):
        decrypt_bytes(ciphertext, "idempotency:I#somebody-else#key")
    monkeypatch.setenv("DATA_KEY", to_base64(OTHER_KEY))
    settings.cache_clear()
    with pytest.raises(DecryptionError, match="another key"):
        decrypt_bytes(ciphertext, CONTEXT)
    monkeypatch.undo()
    settings.cache_clear()
    assert decrypt_bytes(ciphertext, CONTEXT) == b"secret"


def test_each_encryption_has_another_ciphertext():
    assert len({encrypt_bytes(b"secret", CONTEXT) for _ in range(50)}) == 50


def test_a_tag_is_the_key_id_and_a_truncated_hmac_sha256_of_context_and_payload():
    mac = hmac.new(KEY, b"\x00\x00\x00\x06cursor" + b"payload", hashlib.sha256).digest()
    assert authentication_tag_bytes(b"payload", "cursor") == hashlib.sha256(KEY).digest()[:4] + mac[:16]


@given(st.tuples(st.binary(max_size=4), contexts), st.tuples(st.binary(max_size=4), contexts))
def test_a_tag_is_valid_exactly_for_its_payload_and_context(signed_pair, verified_pair):
    tag = authentication_tag_bytes(*signed_pair)
    assert len(tag) == TAG_BYTES
    assert is_valid_tag(signed_pair[0], tag, signed_pair[1])
    assert is_valid_tag(verified_pair[0], tag, verified_pair[1]) == (signed_pair == verified_pair)


def test_context_and_payload_are_delimited():
    assert not is_valid_tag(b"b", authentication_tag_bytes(b"", "ab"), "a")
    assert not is_valid_tag(b"", authentication_tag_bytes(b"b", "a"), "ab")


def test_an_altered_or_truncated_tag_and_that_of_another_key_are_invalid(monkeypatch):
    tag = authentication_tag_bytes(b"payload", "cursor")
    flipped = [tag[:at] + bytes([tag[at] ^ 1 << bit]) + tag[at + 1 :] for at in range(TAG_BYTES) for bit in range(8)]
    for invalid_tag in (*flipped, *(tag[:length] for length in range(TAG_BYTES))):
        assert not is_valid_tag(b"payload", invalid_tag, "cursor")
    monkeypatch.setenv("TOKEN_KEY", to_base64(OTHER_KEY))
    settings.cache_clear()
    assert not is_valid_tag(b"payload", tag, "cursor")
    monkeypatch.undo()
    settings.cache_clear()
    assert is_valid_tag(b"payload", tag, "cursor")
