"""Schemas of event types and their data, compared with another implementation of JSON Schema."""

from typing import Any, Final

import jsonschema
from hypothesis import assume, given
from hypothesis import strategies as st

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.data_errors import locate_errors
from chalicelib.features.events.types.logic.data_examples import example_or_none
from chalicelib.features.events.types.logic.data_validation import list_data_errors
from chalicelib.features.events.types.logic.pattern_states import count_pattern_states
from chalicelib.features.events.types.logic.pattern_syntax import UnsupportedPattern
from chalicelib.features.events.types.logic.personal_data import PersonalDataFinder
from chalicelib.features.events.types.logic.schema_bounds import MAX_VALIDATION_MILLISECONDS, find_schema_errors
from chalicelib.features.events.types.logic.schema_costs import DATA_BYTES, estimate_cost, estimate_part_cost
from chalicelib.features.events.types.logic.schema_keywords import convert_subschemas
from chalicelib.features.events.types.logic.schema_parts import SchemaParts

NAMES: Final = ("a", "b", "a/b", "é")
PATTERNS: Final = ("^a", "b$", "^[ab]{1,2}$", "a|b", "^(?:a|[^a])+$", "")

names = st.sampled_from(NAMES)
numbers = st.integers(-3, 5) | st.sampled_from([0.5, 1.0, 2.0, -1.5])
options = st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["", "a", "b", "ab"])
values = st.recursive(
    options | numbers,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
counts = st.integers(0, 3)


def _keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(names, inner, max_size=3)
    types = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
    return {
        **dict.fromkeys(("maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"), counts),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), numbers),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
        **dict.fromkeys(("items", "contains", "not", "if", "then", "else", "additionalProperties"), inner),
        "properties": by_name,
        "dependentSchemas": by_name,
        "propertyNames": inner,
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
        "pattern": st.sampled_from(PATTERNS),
        "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
        "enum": st.lists(options, min_size=1, max_size=5),
        "const": options,
        "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
        "required": st.lists(names, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True), max_size=2),
        "minContains": counts,
        "maxContains": counts,
        "x-personal-data": st.booleans(),
        "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"]),
    }


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    unique = st.builds(
        lambda most, name: {"uniqueItems": True, "maxItems": most, "items": {"type": name}},
        counts,
        st.sampled_from(["string", "integer"]),
    )
    keywords = _keywords(inner)
    chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True).flatmap(
        lambda some: st.fixed_dictionaries({keyword: keywords[keyword] for keyword in some})
    )
    return chosen | unique


subschemas = st.recursive(st.booleans() | _schemas(st.booleans()), _schemas, max_leaves=6)
definitions = st.fixed_dictionaries({"a": _schemas(st.booleans()), "b": st.just({"type": ["string", "null"]})})
schemas = st.builds(
    lambda some, defined: {"type": "object", "properties": some, "$defs": defined},
    st.dictionaries(names, subschemas, min_size=1, max_size=3),
    definitions,
)
data = st.dictionaries(names, values, max_size=4)


@given(schemas, data)
def test_data_has_errors_if_and_only_if_another_implementation_rejects_it(schema, data):
    assume(find_schema_errors(schema) == [])
    jsonschema.Draft202012Validator.check_schema(schema)
    is_valid = jsonschema.Draft202012Validator(schema).is_valid(data)
    assert compile_schema(schema).is_valid(data) == is_valid
    errors = list_data_errors(("a.b", 1, repr(schema)), schema, data)
    assert (errors == []) == is_valid


@given(schemas, data)
def test_errors_are_located_at_values_that_exist_or_are_required(schema, data):
    assume(find_schema_errors(schema) == [])
    parts = SchemaParts(schema)
    for error in [] if parts.validator.is_valid(data) else locate_errors(parts, data):
        if error.pointer == "":
            continue
        *parents, last = [token.replace("~1", "/").replace("~0", "~") for token in error.pointer.split("/")[1:]]
        value: Any = data
        for name in parents:
            value = value[int(name)] if isinstance(value, list) else value[name]
        if error.code != "required":
            assert int(last) < len(value) if isinstance(value, list) else last in value


def _mark_subschemas_with(keyword: str, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    marked = convert_subschemas(schema, lambda each: _mark_subschemas_with(keyword, each.schema))
    return {**marked, "x-personal-data": True} if keyword in schema else marked


@given(schemas, st.sampled_from(["$ref", "if", "items", "minimum", "not", "required", "type"]), data)
def test_personal_data_is_what_the_library_finds_with_the_whole_schema(schema, keyword, data):
    schema = convert_subschemas(schema, lambda each: _mark_subschemas_with(keyword, each.schema))
    assume(find_schema_errors(schema) == [] and jsonschema.Draft202012Validator(schema).is_valid(data))
    annotations = compile_schema(schema).evaluate(data).annotations()
    marked = {
        each["instanceLocation"]
        for each in annotations
        if isinstance(each["annotations"], dict) and each["annotations"].get("x-personal-data") is True
    }
    assert dict(PersonalDataFinder(schema).find(data)).keys() == marked


@given(schemas)
def test_an_example_is_valid(schema):
    assume(find_schema_errors(schema) == [])
    example = example_or_none(schema)
    assert example is None or jsonschema.Draft202012Validator(schema).is_valid(example)


@given(schemas, st.sampled_from([2, 100, 10_000, DATA_BYTES]))
def test_the_estimated_time_is_within_the_limit_and_grows_with_the_size(schema, size):
    assume(find_schema_errors(schema) == [])
    cost = estimate_cost(schema)
    assert 0 < cost.nanoseconds <= MAX_VALIDATION_MILLISECONDS * 1e6
    part = estimate_part_cost(schema, schema["$defs"], size)
    assert min(part.per_value, part.per_byte, part.per_value_byte) >= 0


@given(schemas, names)
def test_a_reference_costs_more_than_its_target(schema, name):
    assume(find_schema_errors(schema) == [])
    target = schema["properties"].get(name)
    assume(target is not None)
    referring = {**schema, "properties": schema["properties"] | {name: {"$ref": "#/$defs/c"}}}
    referring["$defs"] = schema["$defs"] | {"c": target}
    assert estimate_cost(referring).nanoseconds >= estimate_cost(schema).nanoseconds


@given(st.text("ab^$.*+?{}()[]|\\-:1,", max_size=12))
def test_a_supported_pattern_is_compiled_by_the_library(pattern):
    try:
        count_pattern_states(pattern)
    except UnsupportedPattern:
        return
    assert compile_schema({"pattern": pattern}).is_valid(5)
