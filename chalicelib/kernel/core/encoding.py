"""Base64 for keys and proofs, and base64url without padding for URLs."""

import base64
import binascii


def to_base64(data: bytes) -> str:
    """Return standard base64 with padding (RFC 4648, section 4)."""
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """Return the bytes of standard base64. Raises ValueError if it is invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def to_base64url(data: bytes) -> str:
    """Return base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the bytes of base64url without padding. Raises ValueError unless `to_base64url` produces the same text."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)) if text.isascii() else b""
    if to_base64url(data) != text:
        raise ValueError("not base64url")
    return data


def require_base64_of_32_bytes(text: str) -> str:
    """Return the text unchanged if it is the base64 of 32 bytes. Raises ValueError otherwise."""
    if len(from_base64(text)) != 32:  # noqa: PLR2004
        raise ValueError("must be 32 bytes in base64")
    return text
