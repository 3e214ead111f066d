"""What leaves the service and has to come back as it was: a short authentication tag (HMAC-SHA256, RFC 2104).

A tag is the id of its key (4 bytes) and the beginning of the HMAC (16). A token is what it says and the tag of that, in
base64url: stored nowhere, and known again by the key alone.
"""

import hmac
from typing import Final

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose, SecretKey

_MAC_BYTES: Final = 16

TAG_BYTES: Final = KEY_ID_BYTES + _MAC_BYTES


def authenticate(payload: bytes, context: str) -> bytes:
    """Return the payload's tag of `TAG_BYTES` bytes, made with the present TOKEN_KEY for one context only.

    The context names what the payload is good for, as in `lead`. Raises Problem `unavailable` if the key is wrapped and
    can't be unwrapped now, as all here do.
    """
    return _tag(keyrings.current_key(KeyPurpose.TOKEN_KEY), payload, context)


def verify_tag(payload: bytes, tag: bytes, context: str) -> bool:
    """Tell whether `authenticate` made the tag for this payload and context, in time that tells nothing of the tag."""
    key = keyrings.key_by_id(KeyPurpose.TOKEN_KEY, tag[:KEY_ID_BYTES])
    return key is not None and hmac.compare_digest(tag, _tag(key, payload, context))


def sign_token(said: bytes, context: str) -> str:
    """Return a token that says something, good for one context only."""
    return to_base64url(said + authenticate(said, context))


def reissue_token(said: bytes, context: str, key_id: bytes) -> str | None:
    """Return the token that the key with an id made; None if that key is listed no more."""
    key = keyrings.key_by_id(KeyPurpose.TOKEN_KEY, key_id)
    return to_base64url(said + _tag(key, said, context)) if key else None


def key_id_of(token: str) -> bytes:
    """Return the id of the key that made a token."""
    return from_base64url(token)[-TAG_BYTES:][:KEY_ID_BYTES]


def verify_token(token: str, size: int, context: str) -> bytes | None:
    """Return the so many bytes that a token says; None if it was not made here for this context."""
    try:
        data = from_base64url(token)
    except ValueError:
        return None
    said, tag = data[:size], data[size:]
    return said if len(said) == size and verify_tag(said, tag, context) else None


def _tag(key: SecretKey, payload: bytes, context: str) -> bytes:
    scope = context.encode(errors="surrogatepass")
    message = len(scope).to_bytes(4, "big") + scope + payload
    return key.id + hmac.digest(key.secret, message, "sha256")[:_MAC_BYTES]
