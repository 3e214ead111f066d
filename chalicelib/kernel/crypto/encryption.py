"""Encryption of stored secrets with AES-256-GCM (NIST SP 800-38D).

An encrypted value is the id of its key (4 bytes), a random nonce (12) and the ciphertext with its tag (16 bytes longer
than the plaintext).
"""

import os
from typing import Final

from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose

_NONCE_BYTES: Final = 12
_HEADER_BYTES: Final = KEY_ID_BYTES + _NONCE_BYTES


class DecryptionError(Exception):
    """The value was altered, or encrypted with another key or for another context."""


def encrypt_bytes(plaintext: bytes, context: str) -> bytes:
    """Return the bytes encrypted with the current key of the setting DATA_KEY, for one context.

    The context names where the value is stored, as in `idempotency:<pk>`. A value that is moved elsewhere cannot be
    decrypted. Raises Problem `unavailable` if AWS KMS cannot decrypt the key now.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = keyrings.current_key(KeyPurpose.DATA_KEY)
    nonce = os.urandom(_NONCE_BYTES)
    return key.id + nonce + AESGCM(key.secret).encrypt(nonce, plaintext, context.encode(errors="surrogatepass"))


def decrypt_bytes(encrypted: bytes, context: str) -> bytes:
    """Return the bytes that were encrypted for the context.

    Raises DecryptionError, and Problem as `encrypt_bytes` does.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = keyrings.key_by_id(KeyPurpose.DATA_KEY, encrypted[:KEY_ID_BYTES])
    nonce, ciphertext = encrypted[KEY_ID_BYTES:_HEADER_BYTES], encrypted[_HEADER_BYTES:]
    if key is None or len(nonce) != _NONCE_BYTES:
        raise DecryptionError("the value was encrypted with another key")
    try:
        return AESGCM(key.secret).decrypt(nonce, ciphertext, context.encode(errors="surrogatepass"))
    except InvalidTag:
        raise DecryptionError("the value was altered, or encrypted for another context") from None
