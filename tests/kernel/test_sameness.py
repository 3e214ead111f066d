"""Whether two values are the same JSON."""

from typing import Any

import pytest

from chalicelib.kernel.core.json_equality import json_equal


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "x", [], [1, {"a": [True]}], {}, {"a": {"b": None}}])
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    assert json_equal(value, value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        ({"a": [1]}, {"a": [True]}),
        ([1], [1, 2]),
        ({"a": None}, {}),
        ({"a": 1}, {"b": 1}),
        ({}, []),
    ],
)
def test_values_that_differ_in_anything_are_not_the_same(one: Any, other: Any) -> None:
    assert not json_equal(one, other)
    assert not json_equal(other, one)


def test_the_order_of_members_is_nothing() -> None:
    assert json_equal({"a": 1, "b": 2.0}, {"b": 2, "a": 1})
