"""Large free-form fields of records, stored as a single JSON value.

DynamoDB's JSON has a type for each nested value, which takes about twenty times as long to parse as plain JSON. A long
document is also compressed, because the cost of a read depends on the size of the item.
"""

import zlib
from typing import Any, Final

from pydantic_core import from_json, to_json

_MAX_PLAIN_BYTES: Final = 1024
_COMPRESSION_LEVEL: Final = 6


def to_json_or_compressed(document: Any) -> str | bytes:
    """Return a document in its stored form: JSON, compressed if it is long."""
    text = to_json(document)
    return zlib.compress(text, _COMPRESSION_LEVEL) if len(text) > _MAX_PLAIN_BYTES else text.decode()


def from_json_or_compressed(stored: Any) -> Any:
    """Return the document of a stored value. Older releases stored documents as native DynamoDB values."""
    if isinstance(stored, bytes):
        return from_json(zlib.decompress(stored))
    return from_json(stored) if isinstance(stored, str) else stored
