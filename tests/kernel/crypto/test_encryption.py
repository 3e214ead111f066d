"""Encrypted values reveal nothing, and decrypt only unaltered, with their key and in their context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.encryption import DecryptionError, decrypt_bytes, encrypt_bytes

NEXT_KEY = to_base64(bytes(32))
CONTEXT = "idempotency:I#user#key"


@given(st.binary(), st.text())
def test_decryption_in_the_same_context_restores_the_value(plaintext, context):
    assert decrypt_bytes(encrypt_bytes(plaintext, context), context) == plaintext


@given(st.binary(min_size=8))
def test_the_ciphertext_does_not_contain_the_plaintext(plaintext):
    assert plaintext not in encrypt_bytes(plaintext, CONTEXT)


def test_each_encryption_has_another_ciphertext():
    assert len({encrypt_bytes(b"secret", CONTEXT) for _ in range(50)}) == 50


@given(st.binary(max_size=20), st.data())
def test_any_altered_bit_is_detected(plaintext, data):
    ciphertext = bytearray(encrypt_bytes(plaintext, CONTEXT))
    ciphertext[data.draw(st.integers(0, len(ciphertext) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DecryptionError):
        decrypt_bytes(bytes(ciphertext), CONTEXT)


def test_any_truncation_is_detected():
    ciphertext = encrypt_bytes(b"secret", CONTEXT)
    for length in range(len(ciphertext)):
        with pytest.raises(DecryptionError):
            decrypt_bytes(ciphertext[:length], CONTEXT)


def test_a_value_does_not_decrypt_in_another_context():
    with pytest.raises(DecryptionError):
        decrypt_bytes(encrypt_bytes(b"secret", CONTEXT), "idempotency:I#somebody-else#key")


def test_another_key_is_reported(monkeypatch):
    ciphertext = encrypt_bytes(b"secret", CONTEXT)
    monkeypatch.setenv("DATA_KEY", NEXT_KEY)
    settings.cache_clear()
    with pytest.raises(DecryptionError, match="another key"):
        decrypt_bytes(ciphertext, CONTEXT)
    monkeypatch.undo()
    settings.cache_clear()
    assert decrypt_bytes(ciphertext, CONTEXT) == b"secret"
