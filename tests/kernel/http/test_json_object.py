"""JSON objects of any shape are stored as they are, or rejected with a reason."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from chalicelib.kernel.http.fields import JsonObject

json_object = TypeAdapter(JsonObject)


def test_json_is_accepted_unchanged():
    values: list[Any] = [{}, {"a": [1, -2.5, None, True, "…", {"b": []}]}, {"n": 2**53 - 1, "zero": 0}]
    for value in values:
        assert json_object.validate_python(value) == value


def error_types(value):
    with pytest.raises(ValidationError) as raised:
        json_object.validate_python(value)
    return [error["type"] for error in raised.value.errors()]


def test_json_that_cannot_be_stored_is_rejected():
    assert error_types({"text": "x" * 65_536}) == ["too_large"]
    assert error_types({"n": 2**53}) == error_types({"deep": [{"n": 1e-200}]}) == ["out_of_range"]
    assert error_types({"": 1}) == ["value_error"]
    nested: Any = {}
    for _ in range(24):
        nested = {"in": nested}
    with pytest.raises(ValidationError, match="nested"):
        json_object.validate_python(nested)
