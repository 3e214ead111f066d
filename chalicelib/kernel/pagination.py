"""Cursors: where a list goes on. Authenticated, and good only for the list, tenant and filters they were made for."""

import json
from typing import Final

from chalicelib.kernel import signing
from chalicelib.kernel.encoding import from_base64url, to_base64url
from chalicelib.kernel.entity import Item
from chalicelib.kernel.problems import Problem

_TAG: Final = signing.TAG_BYTES


def cursor(position: Item, binding: str) -> str:
    """Return an opaque cursor for a position, a small JSON object, bound to what `binding` names."""
    payload = json.dumps(position, separators=(",", ":")).encode()
    return to_base64url(signing.authenticate(payload, f"cursor:{binding}") + payload)


def position(text: str, binding: str) -> Item:
    """Return the position a cursor holds. Raises Problem `invalid_cursor` if it was altered or made elsewhere."""
    try:
        data = from_base64url(text)
    except ValueError:
        data = b""
    if not signing.check(data[_TAG:], data[:_TAG], f"cursor:{binding}"):
        detail = "The cursor was not made for this list with these filters. Start without one."
        raise Problem.at("query/cursor", "invalid_cursor", detail)
    found: Item = json.loads(data[_TAG:])
    return found
