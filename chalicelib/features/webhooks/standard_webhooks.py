"""Standard Webhooks: how a message tells its receiver who sent it (standardwebhooks.com, version 1.0.0).

A secret is `whsec_` and the base64 of its bytes. Each live one signs `{webhook-id}.{webhook-timestamp}.{body}` with
HMAC-SHA256 (RFC 2104), so that a receiver who knows any of them can tell.
"""

import hmac
import secrets as randomness
from collections.abc import Iterable
from typing import Final

from chalicelib.kernel.core.encoding import from_base64, to_base64

PREFIX: Final = "whsec_"
FEWEST_BYTES: Final = 24
MOST_BYTES: Final = 64

_GENERATED_BYTES: Final = 32
_ADVICE: Final = f"must be {PREFIX} and the base64 of {FEWEST_BYTES} to {MOST_BYTES} random bytes"


def generate() -> str:
    """Return a new secret of 256 random bits."""
    return PREFIX + to_base64(randomness.token_bytes(_GENERATED_BYTES))


def secret_bytes(text: str) -> bytes:
    """Return the bytes that a secret stands for. Raises ValueError, with what to send, if it is none."""
    try:
        key = from_base64(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else b""
    except ValueError:
        raise ValueError(_ADVICE) from None
    if not FEWEST_BYTES <= len(key) <= MOST_BYTES:
        raise ValueError(_ADVICE)
    return key


def headers(secrets: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message with one signature for each secret; `timestamp` in seconds since 1970."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = [f"v1,{to_base64(hmac.digest(secret, signed, 'sha256'))}" for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
