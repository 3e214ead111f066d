"""Errors of requests have documented codes and messages, independent of the validation library's. Media types."""

import json
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from chalicelib.kernel.core.problems import MAX_ERRORS, ValidationProblem
from chalicelib.kernel.http.fields import JsonObject, unique_by
from chalicelib.kernel.http.models import Input, Patch, Query
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import validate_body, validate_query, validate_value
from chalicelib.kernel.permissions.roles import Role


class Inner(Input):
    text: str
    length: int = 1


class AllTypesBody(Input):
    text: str = Field("text", min_length=2, max_length=4)
    number: int = Field(1, ge=1, le=5)
    share: float = 0.5
    flag: bool = False
    tags: list[str] = Field(["a"], min_length=1, max_length=2)
    labels: dict[str, str] = Field(default_factory=dict)
    inner: Inner | None = None
    word: Literal["red", "green", "blue"] = "red"
    role: Role = Role.MEMBER


class RequiredTextPatch(Patch):
    text: str


class UniquePartsBody(Input):
    parts: Annotated[list[Inner], unique_by("text")]
    number: int = 1


class NumberQuery(Query):
    number: int = Field(1, ge=1, le=5)
    flag: bool = False
    text: str = Field("", max_length=4)


def build_request(text: str = "", query: Mapping[str, str] | None = None) -> Request:
    query_lists = {name: [value] for name, value in (query or {}).items()}
    return Request("POST", "/", {}, query_lists, {}, text.encode(), "id", "127.0.0.1")


def collect_errors(validate: Any, *arguments: Any) -> list[tuple[str, str, str]]:
    """Return pointer, code and message of each error."""
    with pytest.raises(ValidationProblem) as raised:
        validate(*arguments)
    return [(e.pointer, e.code, e.detail) for e in raised.value.errors]


def validate(text):
    return validate_body(AllTypesBody, build_request(text), None)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", ("", "not_an_object", "must be an object")),
        ('{"colour": 1}', ("/colour", "unknown_field", "There is no such field.")),
        ('{"inner": {}}', ("/inner/text", "required", "This field is required.")),
        ('{"inner": 7}', ("/inner", "not_an_object", "must be an object")),
        ('{"text": 7}', ("/text", "wrong_type", "must be text")),
        ('{"colour": null}', ("/colour", "unknown_field", "There is no such field.")),
        ('{"inner": {"text": null}}', ("/inner/text", "required", "This field is required: it can't be null.")),
        ('{"tags": [null]}', ("/tags/0", "wrong_type", "must be text")),
        ('{"text": "a"}', ("/text", "too_short", "must have 2 or more characters")),
        ('{"text": "abcde"}', ("/text", "too_long", "must have 4 characters or fewer")),
        ('{"number": "1"}', ("/number", "wrong_type", "must be a whole number")),
        ('{"number": 1.5}', ("/number", "wrong_type", "must be a whole number")),
        ('{"number": true}', ("/number", "wrong_type", "must be a whole number")),
        ('{"number": 0}', ("/number", "out_of_range", "must be 1 or more")),
        ('{"number": 6}', ("/number", "out_of_range", "must be 5 or less")),
        ('{"share": "1"}', ("/share", "wrong_type", "must be a number")),
        ('{"flag": 1}', ("/flag", "wrong_type", "must be true or false")),
        ('{"tags": "a"}', ("/tags", "wrong_type", "must be a list")),
        ('{"tags": [7]}', ("/tags/0", "wrong_type", "must be text")),
        ('{"tags": []}', ("/tags", "too_few", "must have 1 or more items")),
        ('{"tags": ["a", "b", "c"]}', ("/tags", "too_many", "must have 2 items or fewer")),
        ('{"labels": {"a": null}}', ("/labels/a", "wrong_type", "must be text")),
        ('{"labels": []}', ("/labels", "wrong_type", "must be an object")),
        ('{"word": "pink"}', ("/word", "not_one_of", "must be one of 'red', 'green', 'blue'")),
        ('{"role": "king"}', ("/role", "not_one_of", "must be one of 'member', 'editor', 'admin', 'owner'")),
    ],
)
def test_an_error_in_a_body_has_a_code_and_message(text, error):
    assert collect_errors(validate_body, AllTypesBody, build_request(text), None) == [error]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('{"length": 2}', "There is no such field. Put it into `inner`."),
        ('{"lengths": 2}', "There is no such field."),
        ('{"numbr": 1}', "There is no such field. Do you mean `number`?"),
        ('{"Labels": {}}', "There is no such field. Do you mean `labels`?"),
        ('{"inner": {"text": "a", "lenght": 1}}', "There is no such field. Do you mean `length`?"),
        ('{"word": "RED"}', "must be one of 'red', 'green', 'blue'. Do you mean 'red'?"),
        ('{"role": "owners"}', "must be one of 'member', 'editor', 'admin', 'owner'. Do you mean 'owner'?"),
        ('{"word": 7}', "must be one of 'red', 'green', 'blue'"),
    ],
)
def test_an_unknown_name_gets_the_object_that_has_it_or_the_nearest_name(text, advice):
    assert [detail for _, _, detail in collect_errors(validate, text)] == [advice]
    patch = type("AllTypesPatch", (Patch, AllTypesBody), {})
    assert [detail for *_, detail in collect_errors(validate_body, patch, build_request(text), {})] == [advice]


def test_a_field_of_the_objects_in_a_list_belongs_to_no_single_object():
    errors = collect_errors(validate_body, UniquePartsBody, build_request('{"parts": [], "length": 1}'), None)
    assert errors == [("/length", "unknown_field", "There is no such field.")]


def test_an_unknown_parameter_of_a_strict_request_gets_the_nearest_one():
    ((_, _, detail),) = collect_errors(validate_query, NumberQuery, build_request(), ["numbers"])
    assert detail == "The operation has no such parameter. Do you mean `number`? It has: flag, number, text."
    ((_, _, detail),) = collect_errors(validate_query, NumberQuery, build_request(), ["sort"])
    assert detail == "The operation has no such parameter. It has: flag, number, text."


def test_suggestions_for_thousands_of_errors_take_no_time():
    body = json.dumps({"parts": [{"text": "a", **{f"lengt{n}": 1 for n in range(20)}} for _ in range(2000)]})
    started_at = time.process_time()
    assert len(collect_errors(validate_body, UniquePartsBody, build_request(body), None)) == MAX_ERRORS
    assert time.process_time() - started_at < 2


def test_null_in_a_body_equals_an_omitted_field():
    null_fields = json.dumps(dict.fromkeys(AllTypesBody.model_fields))
    assert validate(null_fields) == AllTypesBody()
    assert validate('{"inner": {"text": "a", "length": null}}') == AllTypesBody(inner=Inner(text="a", length=1))


def test_each_default_is_a_new_object():
    first, second = (validate('{"tags": null, "labels": null}') for _ in range(2))
    first.tags.append("b")
    first.labels["a"] = "b"
    assert second == AllTypesBody()


@pytest.mark.parametrize(
    ("name", "value", "code", "message"),
    [
        ("number", "1.5", "wrong_type", "must be a whole number"),
        ("number", "", "wrong_type", "must be a whole number"),
        ("number", "6", "out_of_range", "must be 5 or less"),
        ("number", "9" * 5000, "out_of_range", "must be a number of fewer digits"),
        ("flag", "maybe", "wrong_type", "must be true or false"),
        ("text", "abcde", "too_long", "must have 4 characters or fewer"),
    ],
)
def test_an_error_in_a_query_has_a_code_and_message(name, value, code, message):
    request = build_request(query={name: value})
    assert collect_errors(validate_query, NumberQuery, request) == [(f"query/{name}", code, message)]


def reject(_: str) -> str:
    raise ValueError("must not hold {braces}")


class CustomRuleBody(Input):
    text: Annotated[str, AfterValidator(reject)]


@pytest.mark.parametrize(
    ("model", "text", "errors"),
    [
        (RequiredTextPatch, "[]", [("", "not_an_object", "must be an object")]),
        (RequiredTextPatch, '{"colour": 1}', [("/colour", "unknown_field", "There is no such field.")]),
        (RequiredTextPatch, '{"text": null}', [("/text", "required", "This field is required.")]),
        (CustomRuleBody, '{"text": "a"}', [("/text", "malformed", "must not hold {braces}")]),
    ],
)
def test_errors_of_a_merge_patch_and_of_a_custom_rule_are_reported_alike(model, text, errors):
    assert collect_errors(validate_body, model, build_request(text), {"text": "a"}) == errors


def test_repeated_elements_are_reported_beside_other_errors():
    body = '{"parts": [{"text": "a"}, {"text": "b"}, {"text": "a"}, {"text": "a"}], "number": "x"}'
    message = "must differ from those of all earlier elements"
    assert collect_errors(validate_body, UniquePartsBody, build_request(body), None) == [
        *((f"/parts/{index}/text", "repeated", message) for index in (2, 3)),
        ("/number", "wrong_type", "must be a whole number"),
    ]


def test_assembled_values_are_validated_like_sent_ones():
    assert validate_value(Inner, {"text": "a"}, "/parts/2").text == "a"
    errors = collect_errors(validate_value, Inner, {"text": 1}, "/parts/2")
    assert errors == [("/parts/2/text", "wrong_type", "must be text")]


def test_only_the_first_hundred_errors_are_listed_and_a_long_field_name_is_truncated():
    with pytest.raises(ValidationProblem) as raised:
        validate(json.dumps({f"colour{n}": 1 for n in range(5000)}))
    assert raised.value.detail == "5000 fields are not valid; see errors for the first 100."
    assert [e.pointer for e in raised.value.errors] == [f"/colour{n}" for n in range(100)]
    request = build_request(json.dumps({"x" * 100_000: 1}))
    error = (f"/{'x' * 200}…", "unknown_field", "There is no such field.")
    assert collect_errors(validate_body, AllTypesBody, request, None) == [error]


def test_a_whole_number_may_be_written_with_fraction_or_exponent():
    for text in ("3", "3.0", "3e0", "0.3e1"):
        assert validate(f'{{"number": {text}}}').number == 3
    for text in ("3.5", "1e999", '"3"', "true"):
        errors = collect_errors(validate_body, AllTypesBody, build_request(f'{{"number": {text}}}'), None)
        assert errors == [("/number", "wrong_type", "must be a whole number")]


JSON_OBJECT = TypeAdapter(JsonObject)
NESTED: Any = {}
for _ in range(24):
    NESTED = {"in": NESTED}


@pytest.mark.parametrize(
    "value", [{}, {"a": [1, -2.5, None, True, "…", {"b": []}]}, {"n": 2**53 - 1, "zero": 0}, NESTED["in"]]
)
def test_a_json_object_of_any_shape_is_accepted_unchanged(value):
    assert JSON_OBJECT.validate_python(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"text": "x" * 65_536}, {(): "too_large"}),
        ({"n": 2**53, "m": -(2**53)}, {("n",): "out_of_range", ("m",): "out_of_range"}),
        ({"deep": [1, {"n": 1e-200}]}, {("deep", 1, "n"): "out_of_range"}),
        ({"": 1, "a": [{"": 1}]}, {(): "value_error", ("a", 0): "value_error"}),
        (NESTED, {("in",) * 24: "out_of_range"}),
    ],
    ids=["large", "a large number", "a small number", "an empty name", "nested"],
)
def test_json_that_cannot_be_stored_is_rejected(value, expected):
    with pytest.raises(ValidationError) as raised:
        JSON_OBJECT.validate_python(value)
    errors = raised.value.errors()
    assert {error["loc"]: error["type"] for error in errors} == expected
    assert value is not NESTED or "nested" in errors[0]["msg"]


PREFERRING_HTML = [
    *("text/html", "TEXT/HTML", "text/html, application/json", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"),
    *("application/json;q=0.5, text/html;q=0.9", "application/json;q=0, text/html", "*/*;q=0.1, text/html;q=0.2"),
    "text/html;level=1;q=0.4",
]
PREFERRING_JSON = [
    *(None, "", "*/*", "text/*", "application/json", "application/json, text/html", "text/html;q=0.1, */*"),
    *("text/html;q=0", "text/html;q=0.000, */*;q=0", "application/json;q=0.9, text/html;q=0.8", "nonsense, ;;q="),
]


def prefers_html(accept):
    request = Request("GET", "/", {}, {}, {} if accept is None else {"accept": accept}, b"", "r", "192.0.2.7")
    return request.prefers("text/html", other_type="application/json")


def test_html_with_the_higher_weight_or_first_place_is_preferred():
    assert [accept for accept in PREFERRING_HTML + PREFERRING_JSON if prefers_html(accept)] == PREFERRING_HTML
