"""Documents: fields of a record that are large and free in form, stored as one value each.

DynamoDB's own JSON has a type for each value inside, which takes some twenty times as long to read as plain JSON does.
A long document is compressed too, because what a read costs follows from the size of the whole item.
"""

import zlib
from typing import Any, Final

from pydantic_core import from_json, to_json

_MAX_PLAIN_BYTES: Final = 1024
_LEVEL: Final = 6


def pack(document: Any) -> str | bytes:
    """Return a document as it is stored: JSON, and compressed if it is long."""
    text = to_json(document)
    return zlib.compress(text, _LEVEL) if len(text) > _MAX_PLAIN_BYTES else text.decode()


def unpack(stored: Any) -> Any:
    """Return the document that a stored value is; one from before documents were packed is one already."""
    if isinstance(stored, bytes):
        return from_json(zlib.decompress(stored))
    return from_json(stored) if isinstance(stored, str) else stored
