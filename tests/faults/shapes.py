"""What the table holds, but for ids and moments: two runs of the same work end in the same shape, or one went wrong."""

from collections import Counter
from typing import Any, Final

from tests.catalogue.evidence import Items

Shape = Counter[Any]

_ID_CHARACTERS: Final = 36


def shape(items: Items) -> Shape:
    """Return how many items there are of each kind, with which attributes."""
    return Counter(_shape(pk, sk, tuple(sorted(item))) for (pk, sk), item in items.items())


def _shape(pk: str, sk: str, names: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    return pk.partition("#")[0], sk.partition("#")[0] if len(sk) < _ID_CHARACTERS else "", names
