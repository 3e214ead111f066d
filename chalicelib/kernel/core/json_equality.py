"""Equality of JSON values. In Python, 1 and True are equal."""

from collections.abc import Mapping
from typing import Any


def json_equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(json_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
