"""Words: how the keys of rows begin that lead to records by what they are called; those of one word stand together."""

from typing import Final

_MAX_CHARACTERS: Final = 200
_END: Final = "#"
"""Ends a word in a key. In a word a sign stands for it that no folded text holds."""

_FULL_WIDTH: Final = "\uff03"


def prefix_key(kind: str, word: str) -> str:
    """Return how the keys of all words begin that begin so."""
    return kind + word[:_MAX_CHARACTERS].replace(_END, _FULL_WIDTH)


def exact_key(kind: str, word: str) -> str:
    """Return how the keys of a word begin."""
    return prefix_key(kind, word) + _END
