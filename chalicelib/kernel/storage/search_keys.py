"""Keys of items that find records by name, by prefix or exactly."""

from typing import Final

_MAX_CHARACTERS: Final = 200
_END: Final = "#"
"""Ends a name in a key. In a name it is replaced by a character that no folded text contains."""

_FULL_WIDTH: Final = "\uff03"


def prefix_key(kind: str, prefix: str) -> str:
    """Return the common prefix of the keys of all names with a prefix."""
    return kind + prefix[:_MAX_CHARACTERS].replace(_END, _FULL_WIDTH)


def exact_key(kind: str, name: str) -> str:
    """Return the common prefix of the keys of one exact name."""
    return prefix_key(kind, name) + _END
