"""Cursors: where a list goes on. Nobody can read or alter one, and it is good for the list and filters it was made for.

A position names keys of the table, and may name a record that the list leaves out: so it is encrypted (AES-SIV,
RFC 5297), which also proves what it is good for. In front of it stands the id of the key.
"""

import hmac
import json
from functools import lru_cache
from typing import Any

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.storage.entity import Item


def encode_cursor(position: Item, binding: str) -> str:
    """Return an opaque cursor for a position, a small JSON object, bound to what `binding` names.

    Raises Problem `unavailable` if the TOKEN_KEY is wrapped and can't be unwrapped now.
    """
    payload = json.dumps(position, separators=(",", ":")).encode()
    key = keyrings.current_key(KeyPurpose.TOKEN_KEY)
    return to_base64url(key.id + _cipher(key.secret).encrypt(payload, _good_for(binding)))


def decode_cursor(text: str, binding: str) -> Item:
    """Return the position a cursor holds.

    Raises Problem `invalid_cursor` if it was altered or made elsewhere, and `unavailable` as `cursor` does.
    """
    from cryptography.exceptions import InvalidTag

    try:
        payload = _decrypted(from_base64url(text), binding)
    except (ValueError, InvalidTag):
        detail = "The cursor was not made for this list with these filters. Start without one."
        raise Problem.for_field("query/cursor", "invalid_cursor", detail) from None
    found: Item = json.loads(payload)
    return found


def _decrypted(data: bytes, binding: str) -> bytes:
    key = keyrings.key_by_id(KeyPurpose.TOKEN_KEY, data[:KEY_ID_BYTES])
    if key is None:
        raise ValueError("made with no key that is listed")
    payload: bytes = _cipher(key.secret).decrypt(data[KEY_ID_BYTES:], _good_for(binding))
    return payload


def _good_for(binding: str) -> list[bytes]:
    return [binding.encode(errors="surrogatepass")]


@lru_cache(maxsize=2)
def _cipher(token_key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(hmac.digest(token_key, b"cursor", "sha512"))
