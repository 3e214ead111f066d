"""Equality of JSON values."""

import pytest

from chalicelib.kernel.core.json_equality import json_equal


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "x", [], [1, {"a": [True]}], {}, {"a": {"b": None}}])
def test_a_value_equals_itself(value):
    assert json_equal(value, value)


@pytest.mark.parametrize(
    ("first", "second"),
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
def test_different_values_are_not_equal(first, second):
    assert not json_equal(first, second)
    assert not json_equal(second, first)


def test_the_order_of_members_does_not_matter():
    assert json_equal({"a": 1, "b": 2.0}, {"b": 2, "a": 1})
