"""Symmetric cryptography: values that only the service can decrypt, or whose origin it can verify.

Each value is bound to a context, which names its use or its place. It contains the id of its key (4 bytes), so it stays
valid after a rotation for as long as the key is listed.

- Stored secrets are encrypted with AES-256-GCM (NIST SP 800-38D), with a key of DATA_KEY. An encrypted value is the key
  id, a random nonce (12 bytes) and the ciphertext with its tag (16 bytes longer than the plaintext).
- Values that clients return unchanged have a tag: the id of a key of TOKEN_KEY and the beginning (16 bytes) of an
  HMAC-SHA256 (RFC 2104). A token is a payload and its tag in base64url. Tokens are not stored: the key suffices to
  verify them.

All functions that use a key raise Problem `unavailable` if AWS KMS cannot decrypt it now.
"""

import hmac
import os
from typing import Final

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose, SecretKey

_NONCE_BYTES: Final = 12
_HEADER_BYTES: Final = KEY_ID_BYTES + _NONCE_BYTES
_MAC_BYTES: Final = 16

TAG_BYTES: Final = KEY_ID_BYTES + _MAC_BYTES
"""Length of the tag of a signed token: the id of its key and the MAC."""


class DecryptionError(Exception):
    """The value was altered, or encrypted with another key or for another context."""


def encrypt_bytes(plaintext: bytes, context: str) -> bytes:
    """Return the bytes encrypted with the current DATA_KEY for one context.

    The context names where the value is stored, as in `idempotency:<pk>`. A value that is moved elsewhere cannot be
    decrypted.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = keyrings.current_key(KeyPurpose.DATA_KEY)
    nonce = os.urandom(_NONCE_BYTES)
    return key.id + nonce + AESGCM(key.secret).encrypt(nonce, plaintext, _encode_context(context))


def decrypt_bytes(encrypted: bytes, context: str) -> bytes:
    """Return the bytes that were encrypted for the context. Raises DecryptionError."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = keyrings.key_by_id(KeyPurpose.DATA_KEY, encrypted[:KEY_ID_BYTES])
    nonce, ciphertext = encrypted[KEY_ID_BYTES:_HEADER_BYTES], encrypted[_HEADER_BYTES:]
    if key is None or len(nonce) != _NONCE_BYTES:
        raise DecryptionError("the value was encrypted with another key")
    try:
        return AESGCM(key.secret).decrypt(nonce, ciphertext, _encode_context(context))
    except InvalidTag:
        raise DecryptionError("the value was altered, or encrypted for another context") from None


def authentication_tag_bytes(payload: bytes, context: str) -> bytes:
    """Return the tag of a payload, of `TAG_BYTES` bytes, made with the current TOKEN_KEY for one context.

    The context names the use of the payload, such as `lead`.
    """
    return _key_id_and_mac(keyrings.current_key(KeyPurpose.TOKEN_KEY), payload, context)


def is_valid_tag(payload: bytes, tag: bytes, context: str) -> bool:
    """Return whether `authentication_tag_bytes` made the tag for this payload and context, in constant time."""
    key = keyrings.key_by_id(KeyPurpose.TOKEN_KEY, tag[:KEY_ID_BYTES])
    return key is not None and hmac.compare_digest(tag, _key_id_and_mac(key, payload, context))


def sign_token(payload: bytes, context: str) -> str:
    """Return a token with a payload, valid for one context."""
    return to_base64url(payload + authentication_tag_bytes(payload, context))


def reissue_token_or_none(payload: bytes, context: str, key_id: bytes) -> str | None:
    """Return the token that the key with this id signed for a payload, or None if the key is no longer listed."""
    key = keyrings.key_by_id(KeyPurpose.TOKEN_KEY, key_id)
    return to_base64url(payload + _key_id_and_mac(key, payload, context)) if key else None


def key_id_of(token: str) -> bytes:
    """Return the id of the key that signed a token."""
    return from_base64url(token)[-TAG_BYTES:][:KEY_ID_BYTES]


def verified_payload_or_none(token: str, payload_size: int, context: str) -> bytes | None:
    """Return the payload of a token, or None if the service did not sign it for this context."""
    try:
        data = from_base64url(token)
    except ValueError:
        return None
    payload, tag = data[:payload_size], data[payload_size:]
    return payload if len(payload) == payload_size and is_valid_tag(payload, tag, context) else None


def _key_id_and_mac(key: SecretKey, payload: bytes, context: str) -> bytes:
    context_bytes = _encode_context(context)
    message = len(context_bytes).to_bytes(4, "big") + context_bytes + payload
    return key.id + hmac.digest(key.secret, message, "sha256")[:_MAC_BYTES]


def _encode_context(context: str) -> bytes:
    return context.encode(errors="surrogatepass")
