"""Keys of items that find records by name, by prefix or exactly."""

from typing import Final

LAST_SORT_KEY: Final = "\U0010ffff"
"""Sorts after every sort key."""

_MAX_CHARACTERS: Final = 200
_END: Final = "#"
"""Character that ends a name in a key. Within a name, `_FULL_WIDTH` replaces it, which no folded text contains."""

_FULL_WIDTH: Final = "\uff03"


def key_prefix_of_names_starting_with(leading_part: str, name_prefix: str) -> str:
    """Return the common prefix of the keys of all names with a prefix."""
    return leading_part + name_prefix[:_MAX_CHARACTERS].replace(_END, _FULL_WIDTH)


def key_prefix_of_exact_name(leading_part: str, name: str) -> str:
    """Return the common prefix of the keys of one exact name."""
    return key_prefix_of_names_starting_with(leading_part, name) + _END


def last_key_with_prefix(prefix: str) -> str:
    """Return the upper bound of all keys with a prefix."""
    return prefix + LAST_SORT_KEY
