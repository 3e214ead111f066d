"""The errors, the personal data and the examples of data of application events."""

import json
from dataclasses import astuple
from itertools import count
from typing import Any, Final

import pytest

from chalicelib.features.events.types.logic import data_validation
from chalicelib.features.events.types.logic.data_errors import MAX_DATA_ERRORS
from chalicelib.features.events.types.logic.data_examples import example_or_none
from chalicelib.features.events.types.logic.data_validation import list_data_errors
from chalicelib.features.events.types.logic.personal_data import PersonalDataFinder
from chalicelib.features.events.types.logic.schema_bounds import find_schema_errors
from chalicelib.features.events.types.logic.schema_parts import SchemaParts
from tests.features.events.test_schema_bounds import ACCEPTED, INVOICE, a_reference, an_object, with_definitions
from tests.harness.cpu_time import shortest_cpu_seconds

LINE: Final = {"sku": "AB-1", "quantity": 1}
DATA: Final = {"number": "INV-1234", "lines": [LINE]}
VERSIONS: Final = count(1)
MAX_SECONDS: Final = 1.0
"""Processor time to validate 64 KiB of data and to locate its errors or its personal data.

It takes at most 25 ms on an idle machine. Measuring the coverage multiplies this time by up to 7.
"""


def list_errors(schema: dict[str, Any], data: Any) -> list[tuple[Any, ...]]:
    assert find_schema_errors(schema) == []
    version = next(VERSIONS)  # The process has not compiled the schema before.
    return [astuple(error) for error in list_data_errors(("a.b", version, json.dumps(schema)), schema, data)]


def pointers_and_codes(schema: dict[str, Any], data: Any) -> set[tuple[str, str]]:
    return {error[:2] for error in list_errors(schema, data)}


INVALID: Final[list[tuple[dict[str, Any], Any, str, str, str]]] = [
    (INVOICE, {"lines": [LINE]}, "/number", "required", "This field is required."),
    (INVOICE, DATA | {"number": 5}, "/number", "wrong_type", "must be text"),
    (INVOICE, DATA | {"number": "1"}, "/number", "malformed", "must match ^INV-[0-9]{4,8}$"),
    (INVOICE, DATA | {"amount": -1}, "/amount", "out_of_range", "must be 0 or more"),
    (INVOICE, DATA | {"amount": 0.001}, "/amount", "malformed", "must be a multiple of 0.01"),
    (INVOICE, DATA | {"currency": "CHF"}, "/currency", "not_one_of", "must be one of EUR, USD, GBP"),
    (INVOICE, DATA | {"tags": ["a", "a"]}, "/tags", "repeated", "must not contain the same element twice"),
    (INVOICE, DATA | {"tags": [*map(str, range(21))]}, "/tags", "too_many", "must have 20 items or fewer"),
    (INVOICE, DATA | {"tags": ["a", 5]}, "/tags/1", "wrong_type", "must be text"),
    (INVOICE, DATA | {"lines": []}, "/lines", "too_few", "must have 1 or more items"),
    (INVOICE, DATA | {"lines": [LINE, {"quantity": 1}]}, "/lines/1/sku", "required", "This field is required."),
    (
        INVOICE, DATA | {"lines": [LINE | {"skus": 1}]}, "/lines/0/skus", "unknown_field",
        "There is no such field. Do you mean 'sku'?",
    ),
    (
        INVOICE, DATA | {"lines": [LINE | {"note": 5}]}, "/lines/0/note", "malformed",
        "must match one of the alternatives of the schema",
    ),
    (INVOICE, DATA | {"labels": {"a/b": 5}}, "/labels/a~1b", "wrong_type", "must be text"),
    (INVOICE, DATA | {"currency": "GBP"}, "/approvedBy", "required", "This field is required."),
    (
        INVOICE, DATA | {"approvedAt": "x"}, "/approvedBy", "required",
        "This field is required together with approvedAt.",
    ),
    (an_object(a=False), {"a": 1}, "/a", "unknown_field", "must be omitted"),
    (an_object(a={"const": True}), {"a": 1}, "/a", "not_one_of", "must be true"),
    (an_object(a={"enum": [None, 1, 2, 5]}), {"a": 3}, "/a", "not_one_of", "must be one of null, 1, 2, 5"),
    (an_object(a={"not": {"minimum": 5}}), {"a": 5}, "/a", "malformed", "must not match the schema under `not`"),
    (
        an_object(a={"oneOf": [{"minimum": 1}, {"minimum": 2}]}), {"a": 5}, "/a", "malformed",
        "must match exactly one of the alternatives of the schema",
    ),
    (
        an_object(a={"allOf": [{"maximum": 3}, {"exclusiveMaximum": 7}]}), {"a": 5}, "/a", "out_of_range",
        "must be 3 or less",
    ),
    (
        an_object(a={"prefixItems": [{"minLength": 2}], "items": False}), {"a": ["b"]}, "/a/0", "too_short",
        "must have 2 or more characters",
    ),
    (an_object(a={"prefixItems": [True], "items": False}), {"a": [1, 2]}, "/a/1", "unknown_field", "must be omitted"),
    (
        an_object(a={"contains": {"const": 1}, "maxContains": 1}), {"a": [1, 1]}, "/a", "malformed",
        "must contain the number of matching elements that the schema asks for",
    ),
    (
        an_object(a={"propertyNames": {"maxLength": 1}}), {"a": {"bc": 1}}, "/a/bc", "malformed",
        "The schema does not allow this name.",
    ),
    (
        an_object(a={"patternProperties": {"^x": {"type": "string"}}}), {"a": {"xa": 1, "b": 1}}, "/a/xa",
        "wrong_type", "must be text",
    ),
    (
        an_object(a={"dependentSchemas": {"b": {"maxProperties": 1}}}), {"a": {"b": 1, "c": 1}}, "/a",
        "too_many", "must have 1 fields or fewer",
    ),
    (
        with_definitions(a_reference("b"), b={"type": ["null", "boolean"]}), {"a": 1}, "/a", "wrong_type",
        "must be null or true or false",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "data", "pointer", "code", "detail"), INVALID)
def test_an_error_says_what_is_wrong_and_where(schema, data, pointer, code, detail):
    assert list_errors(schema, data) == [(pointer, code, detail)]


def test_all_errors_are_reported_up_to_a_limit():
    data = {"amount": -1, "currency": 5, "lines": [LINE | {"quantity": 0}, 5]}
    assert pointers_and_codes(INVOICE, data) == {
        ("/number", "required"),
        ("/amount", "out_of_range"),
        ("/currency", "not_one_of"),
        ("/lines/0/quantity", "out_of_range"),
        ("/lines/1", "wrong_type"),
    }
    assert len(list_errors(INVOICE, DATA | {"lines": [{}] * 100})) == MAX_DATA_ERRORS


def test_numbers_are_compared_by_value():
    schema = an_object(a={"enum": [1, 2, 3, 7]}, b={"uniqueItems": True, "maxItems": 5, "items": {"type": "integer"}})
    assert list_errors(schema, {"a": 2.0, "b": [1, 2]}) == []
    assert pointers_and_codes(schema, {"a": 2.5, "b": [1, 1.0]}) == {("/a", "not_one_of"), ("/b", "repeated")}
    assert pointers_and_codes(schema, {"a": True}) == {("/a", "not_one_of")}
    assert pointers_and_codes(schema, {"a": 4}) == {("/a", "not_one_of")}


def test_errors_never_contain_the_data():
    secret = "s3cret" * 1_000
    schema = an_object(a={"enum": ["b"]}, c={"type": "object", "additionalProperties": False})
    errors = list_errors(schema, {"a": secret, "c": {secret: secret}})
    assert [(len(pointer) < 200, len(detail) < 200) for pointer, _, detail in errors] == [(True, True)] * 2
    assert "s3cret" not in json.dumps([detail for _, _, detail in errors])


PERSONAL: Final = {"type": "string", "x-personal-data": True}
PERSONAL_DATA: Final[list[tuple[dict[str, Any], Any, dict[str, Any]]]] = [
    (an_object(a={"type": "string"}), {"a": "x"}, {}),
    (an_object(a={"type": "string", "x-personal-data": False}), {"a": "x"}, {}),
    (an_object(a=PERSONAL, b=PERSONAL), {"a": "x", "c": "y"}, {"/a": "x"}),
    (an_object(a={"items": PERSONAL}), {"a": ["x", "y"]}, {"/a/0": "x", "/a/1": "y"}),
    (an_object(a={"prefixItems": [PERSONAL]}), {"a": ["x", "y"]}, {"/a/0": "x"}),
    (an_object(a={"x-personal-data": True}), {"a": {"b": [1]}}, {"/a": {"b": [1]}}),
    (with_definitions(a_reference("p"), p=PERSONAL), {"a": "x"}, {"/a": "x"}),
    (an_object(a={"allOf": [{"minLength": 1}, PERSONAL]}), {"a": "x"}, {"/a": "x"}),
    (an_object(a={"anyOf": [{"type": "null"}, PERSONAL]}), {"a": "x"}, {"/a": "x"}),
    (an_object(a={"anyOf": [{"type": "integer"}, PERSONAL]}), {"a": 5}, {}),
    (an_object(a={"oneOf": [PERSONAL, {"type": "integer"}]}), {"a": "x"}, {"/a": "x"}),
    (an_object(a={"not": {"not": PERSONAL}}), {"a": "x"}, {}),
    ({"type": "object", "additionalProperties": PERSONAL}, {"a": "x", "b/~": "y"}, {"/a": "x", "/b~1~0": "y"}),
    ({"type": "object", "patternProperties": {"^x": PERSONAL}}, {"xa": "x", "b": "y"}, {"/xa": "x"}),
    (
        {"type": "object", "if": {"required": ["b"]}, "then": {"properties": {"a": PERSONAL}}},
        {"a": "x", "b": 1},
        {"/a": "x"},
    ),
    ({"type": "object", "dependentSchemas": {"b": {"properties": {"a": PERSONAL}}}}, {"a": "x", "b": 1}, {"/a": "x"}),
    ({"type": "object", "x-personal-data": True}, {"a": "x"}, {"": {"a": "x"}}),
]


@pytest.mark.parametrize(("schema", "data", "expected"), PERSONAL_DATA)
def test_values_that_the_schema_marks_are_personal_data(schema, data, expected):
    assert list_errors(schema, data) == []
    assert dict(PersonalDataFinder(schema).find(data)) == expected


MARKED: Final = {"x-personal-data": True}
REPEATED: Final = {"a": [1] * 32_000}
EXPENSIVE: Final[dict[str, tuple[dict[str, Any], Any, int]]] = {
    "annotations of many subschemas": (
        an_object(a={"items": {"allOf": [{"minimum": -n, **MARKED} for n in range(16)]}}), REPEATED, 20,
    ),
    "a long property": (an_object(**{"a" * 30_000: {"items": MARKED}}), {"a" * 30_000: [1] * 15_000}, 20),
    "a long name": ({"type": "object", "additionalProperties": {"items": MARKED}}, {"a" * 40_000: [1] * 10_000}, 20),
    "a long reference": (
        with_definitions({"items": a_reference("b" * 30_000)}, **{"b" * 30_000: MARKED}), REPEATED, 20,
    ),
    "values in errors": (
        an_object(a={"allOf": [{"if": {"enum": [str(n)], **MARKED}} for n in range(20)] * 15}), REPEATED, 0,
    ),
}  # fmt: skip
"""Schemas, data that takes too much, and the number of marked values among the first 20 of these data."""


@pytest.mark.parametrize("name", EXPENSIVE)
def test_all_data_is_personal_if_evaluating_it_takes_too_much(name):
    schema, data, marked_count = EXPENSIVE[name]
    finder = PersonalDataFinder(schema)
    assert finder.find(data) == [("", data)]
    assert shortest_cpu_seconds(lambda: finder.find(data)) < MAX_SECONDS
    found = dict(finder.find({name: value[:20] for name, value in data.items()}))
    assert (len(found), "" in found) == (marked_count, False)


def test_keywords_that_mark_nothing_cost_nothing():
    others = {"description": "d" * 30_000, "allOf": [{"minimum": -n} for n in range(16)], "x-owner": "o" * 1_000}
    schema = an_object(a={"items": {**others, "type": "integer"}}, b={**others, **MARKED})
    assert PersonalDataFinder(schema).find(REPEATED | {"b": 5}) == [("/b", 5)]


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_accepted_schema_has_an_example(name):
    schema = ACCEPTED[name]
    example = example_or_none(schema)
    assert example is not None
    assert list_errors(schema, example) == []
    assert example_or_none(json.loads(json.dumps(schema))) == example


def required_objects(levels: int, innermost: Any) -> dict[str, Any]:
    """Return a schema of objects in one another, each of which requires the next one."""
    for _ in range(levels):
        innermost = {**an_object(a=innermost), "required": ["a"]}
    return innermost


def referring_objects(levels: int) -> dict[str, Any]:
    first, second = required_objects(8, a_reference("second")), required_objects(levels - 16, {})
    return {**required_objects(8, a_reference("first")), "$defs": {"first": first, "second": second}}


def required_array(size: int, items: Any) -> dict[str, Any]:
    return {**an_object(a={"type": "array", "minItems": size, "maxItems": size, "items": items}), "required": ["a"]}


EXAMPLES: Final[list[tuple[dict[str, Any], Any]]] = [
    ({**an_object(a={"type": "string"}), "examples": [{"a": 5}, {"a": "b"}]}, {"a": "b"}),
    (an_object(a={"pattern": "^[A-Z]{2}-(x|y)[^a]\\d+$"}), {"a": "AA-xA1"}),
    (an_object(a={"type": "string", "pattern": "^[a-z]*$", "minLength": 5}), {"a": "aaaaa"}),
    (an_object(a={"type": "integer", "exclusiveMinimum": 5, "multipleOf": 4}), {"a": 8}),
    (an_object(a={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}), {"a": 0.5}),
    (
        an_object(a={"type": "array", "minItems": 2, "maxItems": 5, "uniqueItems": True, "items": {"type": "integer"}}),
        {"a": [1, 2]},
    ),
    (an_object(a={"type": "string", "format": "email"}), {"a": "ada@example.com"}),
    ({"type": "object", "required": ["a"], "maxProperties": 1, "properties": {"a": True, "b": True}}, {"a": "example"}),
    ({"type": "object", "minProperties": 2}, {"field1": "example", "field2": "example"}),
    (an_object(a={"not": {}}), {}),
    ({"type": "object", "not": {}}, None),
    (an_object(a={"type": "array", "minItems": 10**6}), {}),
    ({**an_object(a={"type": "array", "minItems": 10**6}), "required": ["a"]}, None),
    ({**an_object(a={"type": "string", "minLength": 10**9}), "required": ["a"]}, None),
    ({"type": "object", "minProperties": 10**12}, None),
    (an_object(a={"type": "array", "minItems": 180, "items": {"default": "x" * 30_000}}), {}),
    (required_array(180, {"type": "string", "default": "x" * 30_000}), None),
    (required_array(3, {"type": "object", "required": ["x" * 25_000]}), None),
    (required_array(2, {"type": "string", "pattern": "^a{100}b{100}$"}), {"a": ["a" * 100 + "b" * 100] * 2}),
    (required_array(400, {"type": "string", "pattern": "^a{100}b{100}$"}), None),
    (referring_objects(23), json.loads('{"a":' * 23 + '"example"' + "}" * 23)),
    (referring_objects(25), None),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "example"), EXAMPLES)
def test_an_example_is_found_or_none(schema, example):
    assert find_schema_errors(schema) == []
    assert example_or_none(schema) == example


def test_a_process_keeps_a_limited_number_of_compiled_schemas(monkeypatch):
    compiled: list[str] = []
    compile_schema = SchemaParts

    def count(schema: Any) -> Any:
        compiled.append(schema["title"])
        return compile_schema(schema)

    monkeypatch.setattr(data_validation, "SchemaParts", count)
    monkeypatch.setattr(data_validation, "MAX_COMPILED_SCHEMAS", 2)
    for title in ("a", "b", "a", "c", "a", "b"):
        list_data_errors(("a.b", 1, title), {"type": "object", "title": title}, {})
    assert compiled == ["a", "b", "c", "b"]


def in_lists(levels: int, innermost: Any) -> Any:
    for _ in range(levels):
        innermost = [innermost]
    return innermost


HOSTILE: Final[dict[str, tuple[dict[str, Any], Any]]] = {
    "wrong elements": (INVOICE, DATA | {"lines": [0] * 32_000}),
    "a wrong last element": (INVOICE, DATA | {"lines": [LINE] * 2_000 + [{}]}),
    "unknown fields": (an_object(a={"additionalProperties": False}), {"a": {f"k{n}": n for n in range(6_000)}}),
    "missing fields": (an_object(a={"items": {"required": [*map(str, range(100))]}}), {"a": [{}] * 20_000}),
    "no alternative": (an_object(a={"items": {"anyOf": [{"type": "null"}, {"const": 5}]}}), {"a": [0] * 32_000}),
    "numbers": (INVOICE, DATA | {"amount": 1e-100, "lines": [1e-100] * 9_000}),
    "deep data": (an_object(a={"items": {"items": {"items": {"type": "string"}}}}), {"a": in_lists(22, 0)}),
    "a long text": (INVOICE, DATA | {"number": "INV-" + "1" * 65_000}),
    "a long name": (INVOICE, DATA | {"labels": {"a" * 65_000: 1}}),
    "many branches": (
        an_object(a={"allOf": [{"if": {"minItems": n}, "then": {"items": {"minimum": n}}} for n in range(5)]}),
        {"a": [2] * 30_000},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_errors_in_hostile_data_are_found_soon(name):
    schema, data = HOSTILE[name]
    assert 1 <= len(list_errors(schema, data)) <= MAX_DATA_ERRORS
    assert shortest_cpu_seconds(lambda: list_errors(schema, data)) < MAX_SECONDS
