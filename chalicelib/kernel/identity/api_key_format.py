"""The text form of API keys: `atr_`, 32 random characters and a checksum of 6, which detects typing errors."""

import re
import secrets
from hashlib import sha256
from typing import Final
from zlib import crc32

PREFIX: Final = "atr_"
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARACTERS: Final = 32
_CHECKSUM_CHARACTERS: Final = 6
_HINT_CHARACTERS: Final = 4
_SHAPE: Final = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_RANDOM_CHARACTERS + _CHECKSUM_CHARACTERS}}}")


def generate_api_key() -> str:
    """Return a new key of 190 random bits."""
    body = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARACTERS))
    return body + _checksum(body)


def is_well_formed(text: str) -> bool:
    """Return whether the text can be a key. Other texts need not be looked up."""
    return bool(_SHAPE.fullmatch(text)) and text.endswith(_checksum(text[:-_CHECKSUM_CHARACTERS]))


def digest_api_key(key: str) -> str:
    """Return the SHA-256 in hexadecimal by which a key is stored."""
    return sha256(key.encode()).hexdigest()


def last_characters_hint(key: str) -> str:
    """Return the part of a key that is shown later: `atr_…` and its last 4 characters."""
    return f"{PREFIX}…{key[-_HINT_CHARACTERS:]}"


def _checksum(body: str) -> str:
    """Return the CRC-32 of the text in base62, padded on the left with `0`."""
    rest, digits = crc32(body.encode()), ""
    for _ in range(_CHECKSUM_CHARACTERS):
        rest, digit = divmod(rest, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
