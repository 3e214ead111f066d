"""Suggestions for misspelled names: the known names that are most similar."""

from collections.abc import Iterable
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower

_MAX_NAME_CHARACTERS: Final = 300
"""Characters of a name that are compared. The time of a comparison grows with the square of their number."""


def find_nearest_names(
    name: str, known_names: Iterable[str], *, max_count: int = 1, min_similarity: float = 0.6
) -> list[str]:
    """Return the known names that are most similar to a name, ignoring case, the most similar one first.

    `min_similarity`: from 0 (nothing in common) to 1 (equal), as `difflib` measures it.
    """
    from difflib import get_close_matches

    known_by_lower_case = {ascii_lower(known): known for known in known_names}
    compared = ascii_lower(name[:_MAX_NAME_CHARACTERS])
    matches = get_close_matches(compared, known_by_lower_case, n=max_count, cutoff=min_similarity)
    return [known_by_lower_case[match] for match in matches]


def ask_whether_meant(names: Iterable[str]) -> str:
    """Return the question whether the caller means one of some names, or an empty text without any."""
    alternatives = " or ".join(names)
    return f"Do you mean {alternatives}?" if alternatives else ""
