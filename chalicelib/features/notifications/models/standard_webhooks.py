"""Secrets and signatures of Standard Webhooks (standardwebhooks.com, version 1.0.0).

A secret is `whsec_` and the base64 of its bytes. Each active secret signs `{webhook-id}.{webhook-timestamp}.{body}`
with HMAC-SHA256 (RFC 2104), so a receiver needs only one of them to verify a message.
"""

import hmac
import secrets as randomness
from collections.abc import Iterable
from typing import Final

from chalicelib.kernel.core.encoding import from_base64, to_base64

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix of every secret
MIN_SECRET_BYTES: Final = 24
"""Minimum length of a webhook's secret, without its prefix and encoding."""

MAX_SECRET_BYTES: Final = 64
"""Maximum length of a webhook's secret, without its prefix and encoding."""

_GENERATED_BYTES: Final = 32
_SECRET_FORMAT_HINT: Final = (
    f"must be {SECRET_PREFIX} and the base64 of {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} random bytes"
)


def generate_secret() -> str:
    """Return a new secret of 256 random bits."""
    return SECRET_PREFIX + to_base64(randomness.token_bytes(_GENERATED_BYTES))


def decode_secret(text: str) -> bytes:
    """Return the bytes of a secret. Raises ValueError if it has another format."""
    try:
        key = from_base64(text.removeprefix(SECRET_PREFIX)) if text.startswith(SECRET_PREFIX) else b""
    except ValueError:
        raise ValueError(_SECRET_FORMAT_HINT) from None
    if not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise ValueError(_SECRET_FORMAT_HINT)
    return key


def signed_headers(
    secret_keys: Iterable[bytes], message_id: str, timestamp_seconds: int, body: bytes
) -> dict[str, str]:
    """Return the headers of a message with one signature for each secret; `timestamp_seconds` in seconds since 1970."""
    signed = f"{message_id}.{timestamp_seconds}.".encode() + body
    signatures = [to_base64(hmac.digest(secret, signed, "sha256")) for secret in secret_keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_seconds),
        "webhook-signature": join_signatures(signatures),
    }


def join_signatures(signatures: Iterable[str]) -> str:
    """Return the `webhook-signature` header with these signatures, each in base64."""
    return " ".join(f"v1,{signature}" for signature in signatures)
