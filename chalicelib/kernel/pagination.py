"""Cursors: where a list goes on. Nobody can read or alter one, and it is good for the list and filters it was made for.

A position names keys of the table, and may name a record that the list leaves out: so it is encrypted (AES-SIV,
RFC 5297), which also proves what it is good for.
"""

import hmac
import json
from functools import lru_cache
from typing import Any

from chalicelib.kernel.encoding import from_base64, from_base64url, to_base64url
from chalicelib.kernel.entity import Item
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.settings import settings


def cursor(position: Item, binding: str) -> str:
    """Return an opaque cursor for a position, a small JSON object, bound to what `binding` names."""
    payload = json.dumps(position, separators=(",", ":")).encode()
    return to_base64url(_cipher(settings().token_key).encrypt(payload, _good_for(binding)))


def position(text: str, binding: str) -> Item:
    """Return the position a cursor holds. Raises Problem `invalid_cursor` if it was altered or made elsewhere."""
    from cryptography.exceptions import InvalidTag

    try:
        payload = _cipher(settings().token_key).decrypt(from_base64url(text), _good_for(binding))
    except (ValueError, InvalidTag):
        detail = "The cursor was not made for this list with these filters. Start without one."
        raise Problem.at("query/cursor", "invalid_cursor", detail) from None
    found: Item = json.loads(payload)
    return found


def _good_for(binding: str) -> list[bytes]:
    return [binding.encode(errors="surrogatepass")]


@lru_cache(maxsize=1)
def _cipher(token_key: str) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(hmac.digest(from_base64(token_key), b"cursor", "sha512"))
