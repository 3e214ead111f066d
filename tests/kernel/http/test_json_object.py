"""JSON objects of any shape are stored as they are, or rejected with a reason."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from chalicelib.kernel.http.fields import JsonObject

json_object = TypeAdapter(JsonObject)


@pytest.mark.parametrize("value", [{}, {"a": [1, -2.5, None, True, "…", {"b": []}]}, {"n": 2**53 - 1, "zero": 0}])
def test_json_is_accepted_unchanged(value):
    assert json_object.validate_python(value) == value


@pytest.mark.parametrize(
    ("value", "error_type"),
    [
        ({"text": "x" * 65_536}, "too_large"),
        ({"n": 2**53}, "out_of_range"),
        ({"deep": [{"n": 1e-200}]}, "out_of_range"),
        ({"": 1}, "value_error"),
    ],
)
def test_json_that_cannot_be_stored_is_rejected(value, error_type):
    with pytest.raises(ValidationError) as raised:
        json_object.validate_python(value)
    assert [error["type"] for error in raised.value.errors()] == [error_type]


def test_deeply_nested_json_is_rejected():
    value: dict[str, Any] = {}
    for _ in range(24):
        value = {"in": value}
    with pytest.raises(ValidationError, match="nested"):
        json_object.validate_python(value)
