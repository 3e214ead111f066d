"""What leaves the service and has to come back as it was: a short authentication tag (HMAC-SHA256, RFC 2104).

A token is what it says and the tag of that, in base64url: stored nowhere, and known again by the key alone.
"""

import hmac
from typing import Final

from chalicelib.kernel.encoding import from_base64, from_base64url, to_base64url
from chalicelib.kernel.settings import settings

TAG_BYTES: Final = 16


def authenticate(payload: bytes, context: str) -> bytes:
    """Return the payload's tag of `TAG_BYTES` bytes, made with the setting TOKEN_KEY for one context only.

    The context names what the payload is good for, as in `cursor:<operation>`.
    """
    scope = context.encode(errors="surrogatepass")
    message = len(scope).to_bytes(4, "big") + scope + payload
    return hmac.digest(from_base64(settings().token_key), message, "sha256")[:TAG_BYTES]


def check(payload: bytes, tag: bytes, context: str) -> bool:
    """Tell whether `authenticate` made the tag for this payload and context, in time that tells nothing of the tag."""
    return hmac.compare_digest(tag, authenticate(payload, context))


def token(said: bytes, context: str) -> str:
    """Return a token that says something, good for one context only."""
    return to_base64url(said + authenticate(said, context))


def said_by(token: str, size: int, context: str) -> bytes | None:
    """Return the so many bytes that a token says; None if it was not made here for this context."""
    try:
        data = from_base64url(token)
    except ValueError:
        return None
    said, tag = data[:size], data[size:]
    return said if len(said) == size and check(said, tag, context) else None
