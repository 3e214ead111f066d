"""Cursors: opaque positions in lists, each valid only for one list with the same filters.

A position contains keys of the table, and may refer to a record that the list omits. So it is encrypted with AES-SIV
(RFC 5297), which also authenticates the list and the filters. The id of the key precedes the ciphertext.
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
    """Return the opaque cursor of a position, which is a small JSON object. `binding`: the list and its filters.

    Raises Problem `unavailable` if AWS KMS cannot decrypt the key now.
    """
    payload = json.dumps(position, separators=(",", ":")).encode()
    key = keyrings.current_key(KeyPurpose.TOKEN_KEY)
    return to_base64url(key.id + _cursor_aes_siv(key.secret).encrypt(payload, _cursor_associated_data(binding)))


def decode_cursor(text: str, binding: str) -> Item:
    """Return the position in a cursor.

    Raises Problem `invalid_cursor` if it was altered or belongs to another list, and `unavailable` as `encode_cursor`
    does.
    """
    from cryptography.exceptions import InvalidTag

    try:
        payload = _decrypt_cursor(from_base64url(text), binding)
    except (ValueError, InvalidTag):
        detail = "The cursor is not valid for this list with these filters. Omit it to start at the beginning."
        raise Problem.create_with_field_error("query/cursor", "invalid_cursor", detail) from None
    position: Item = json.loads(payload)
    return position


def _decrypt_cursor(data: bytes, binding: str) -> bytes:
    key = keyrings.key_by_id(KeyPurpose.TOKEN_KEY, data[:KEY_ID_BYTES])
    if key is None:
        raise ValueError("the cursor was encrypted with an unknown key")
    payload: bytes = _cursor_aes_siv(key.secret).decrypt(data[KEY_ID_BYTES:], _cursor_associated_data(binding))
    return payload


def _cursor_associated_data(binding: str) -> list[bytes]:
    return [binding.encode(errors="surrogatepass")]


@lru_cache(maxsize=2)
def _cursor_aes_siv(token_key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(hmac.digest(token_key, b"cursor", "sha512"))
