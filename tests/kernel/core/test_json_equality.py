"""Equality of JSON values."""

from chalicelib.kernel.core.json_equality import json_equal


def test_a_value_equals_itself_and_the_order_of_members_does_not_matter():
    for value in (None, True, 0, 1.5, "x", [], [1, {"a": [True]}], {}, {"a": {"b": None}}):
        assert json_equal(value, value)
    assert json_equal({"a": 1, "b": 2.0}, {"b": 2, "a": 1})


def test_different_values_are_not_equal():
    members = [({"a": [1]}, {"a": [True]}), ({"a": None}, {}), ({"a": 1}, {"b": 1})]
    for first, second in [*members, (1, True), (0, False), ([1], [1, 2]), ({}, [])]:
        assert not json_equal(first, second)
        assert not json_equal(second, first)
