"""What the table may hold and nobody may read there: bytes sealed with AES-256-GCM (NIST SP 800-38D).

A sealed value is the id of its key (4 bytes), a random nonce (12) and the ciphertext with its tag (16 more than the
plain bytes). The id is there so that a key can be followed by another.

On a deployed stage the key is wrapped by AWS KMS. A process has it unwrapped when it first needs it, and keeps it.
"""

import os
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Final

from chalicelib.kernel import aws
from chalicelib.kernel.encoding import from_base64
from chalicelib.kernel.settings import WRAPPED, SettingsError, settings

KEY_CONTEXT: Final[Mapping[str, str]] = {"service": "atrium", "purpose": "data-key"}
"""What the data key is wrapped for: KMS unwraps it with the same words only, and policies can ask for them."""

_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_HEAD_BYTES: Final = _KEY_ID_BYTES + _NONCE_BYTES


class SealBroken(Exception):
    """The bytes were altered, or sealed with another key or for another context."""


def seal(plain: bytes, context: str) -> bytes:
    """Return the bytes sealed with the setting DATA_KEY, for one context only.

    The context names where they are kept, as in `idempotency:<pk>`: a value moved elsewhere can't be unsealed. Raises
    Problem `unavailable` if the key is wrapped and can't be unwrapped now.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = _key()
    nonce = os.urandom(_NONCE_BYTES)
    return _key_id(key) + nonce + AESGCM(key).encrypt(nonce, plain, context.encode(errors="surrogatepass"))


def unseal(sealed: bytes, context: str) -> bytes:
    """Return the bytes that were sealed for the context. Raises SealBroken, and Problem as `seal` does."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = _key()
    key_id, nonce, ciphertext = sealed[:_KEY_ID_BYTES], sealed[_KEY_ID_BYTES:_HEAD_BYTES], sealed[_HEAD_BYTES:]
    if key_id != _key_id(key) or len(nonce) != _NONCE_BYTES:
        raise SealBroken("the value was sealed with another key")
    try:
        return AESGCM(key).decrypt(nonce, ciphertext, context.encode(errors="surrogatepass"))
    except InvalidTag:
        raise SealBroken("the value was altered, or sealed for another context") from None


def _key() -> bytes:
    key = settings().data_key
    return _unwrapped(key.removeprefix(WRAPPED)) if key.startswith(WRAPPED) else from_base64(key)


@cache
def _unwrapped(ciphertext: str) -> bytes:
    with aws.reaching("key service"):
        answer = aws.client("kms").decrypt(CiphertextBlob=from_base64(ciphertext), EncryptionContext=KEY_CONTEXT)
    key: bytes = answer["Plaintext"]
    if len(key) != _KEY_BYTES:
        raise SettingsError(f"DATA_KEY: what AWS KMS has wrapped is not {_KEY_BYTES} bytes long")
    return key


def _key_id(key: bytes) -> bytes:
    return sha256(key).digest()[:_KEY_ID_BYTES]
