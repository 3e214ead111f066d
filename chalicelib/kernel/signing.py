"""What leaves the service and has to come back as it was: a short authentication tag (HMAC-SHA256, RFC 2104)."""

import hmac
from typing import Final

from chalicelib.kernel.encoding import from_base64
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
