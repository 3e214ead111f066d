"""Words: how the keys of rows begin that lead to records by what they are called; those of one word stand together."""

from typing import Final

_MOST_CHARACTERS: Final = 200
_END: Final = "#"
"""Ends a word in a key. In a word a sign stands for it that no folded text holds."""

_FULL_WIDTH: Final = "\uff03"


def beginning(kind: str, word: str) -> str:
    """Return how the keys of all words begin that begin so."""
    return kind + word[:_MOST_CHARACTERS].replace(_END, _FULL_WIDTH)


def exactly(kind: str, word: str) -> str:
    """Return how the keys of a word begin."""
    return beginning(kind, word) + _END
