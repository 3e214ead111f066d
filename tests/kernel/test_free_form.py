"""JSON of any shape: it is kept as it is, or refused with what is wrong about it."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from chalicelib.kernel.http.fields import JsonObject

free_form = TypeAdapter(JsonObject)


@pytest.mark.parametrize("value", [{}, {"a": [1, -2.5, None, True, "…", {"b": []}]}, {"n": 2**53 - 1, "zero": 0}])
def test_json_is_kept_as_it_is(value: dict[str, Any]) -> None:
    assert free_form.validate_python(value) == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"text": "x" * 65_536}, "too_large"),
        ({"n": 2**53}, "out_of_range"),
        ({"deep": [{"n": 1e-200}]}, "out_of_range"),
        ({"": 1}, "value_error"),
    ],
)
def test_what_could_not_be_kept_is_refused(value: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        free_form.validate_python(value)
    assert [error["type"] for error in refused.value.errors()] == [why]


def test_it_is_not_nested_without_end() -> None:
    value: dict[str, Any] = {}
    for _ in range(24):
        value = {"in": value}
    with pytest.raises(ValidationError, match="nested"):
        free_form.validate_python(value)
