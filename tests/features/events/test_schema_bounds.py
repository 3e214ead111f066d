"""Which schemas of event types are accepted, and where and why others are refused."""

import json
import time
from typing import Any, Final

import pytest

from chalicelib.features.events.types.logic.pattern_states import MAX_PATTERN_STATES, count_pattern_states
from chalicelib.features.events.types.logic.pattern_syntax import UnsupportedPattern
from chalicelib.features.events.types.logic.schema_bounds import (
    MAX_BRANCHES,
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_ERRORS,
    MAX_SUBSCHEMAS,
    MAX_UNIQUE_ITEMS,
    find_schema_errors,
)
from chalicelib.features.events.types.logic.schema_keywords import DIALECT

MAX_CHECK_SECONDS: Final = 2.0
"""Processor time to refuse or accept any schema, with room for slow machines."""


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def with_definitions(schema: Any, **definitions: Any) -> dict[str, Any]:
    return {**an_object(a=schema), "$defs": definitions}


def a_reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def nested(keyword: str, levels: int, innermost: Any) -> Any:
    for _ in range(levels):
        innermost = {keyword: [innermost] if keyword in {"allOf", "anyOf", "oneOf", "prefixItems"} else innermost}
    return innermost


def doubling_references(levels: int) -> dict[str, Any]:
    """Return definitions of which each refers twice to the next one."""
    definitions = {f"d{number}": {"allOf": [a_reference(f"d{number + 1}")] * 2} for number in range(levels)}
    return with_definitions(a_reference("d0"), **definitions, **{f"d{levels}": {"type": "string"}})


LINE: Final = {
    "type": "object",
    "required": ["sku", "quantity"],
    "properties": {
        "sku": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[A-Z]{2,4}-[0-9]+$"},
        "quantity": {"type": "integer", "minimum": 1},
        "note": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 500, "x-personal-data": True}]},
    },
    "additionalProperties": False,
}
INVOICE: Final = {
    "$schema": DIALECT,
    "title": "Invoice",
    "type": "object",
    "required": ["number", "lines"],
    "properties": {
        "number": {"type": "string", "pattern": "^INV-[0-9]{4,8}$", "examples": ["INV-0001"]},
        "amount": {"type": "number", "minimum": 0, "multipleOf": 0.01},
        "currency": {"enum": ["EUR", "USD", "GBP"], "default": "EUR"},
        "approvedBy": {"type": "string", "format": "email", "maxLength": 254, "x-personal-data": True},
        "approvedAt": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "uniqueItems": True, "maxItems": 20, "items": {"type": "string", "maxLength": 40}},
        "lines": {"type": "array", "minItems": 1, "items": a_reference("line")},
        "labels": {"type": "object", "maxProperties": 50, "additionalProperties": {"type": "string"}},
    },
    "if": {"properties": {"currency": {"const": "GBP"}}, "required": ["currency"]},
    "then": {"required": ["approvedBy"]},
    "dependentRequired": {"approvedAt": ["approvedBy"]},
    "$defs": {"line": LINE},
}

ACCEPTED: Final[dict[str, dict[str, Any]]] = {
    "no properties": {"type": "object"},
    "an invoice": INVOICE,
    "400 properties": an_object(**{f"field{n}": {"type": "string", "maxLength": 200} for n in range(400)}),
    "a reference to a definition": with_definitions(a_reference("b"), b={"type": "string"}),
    "references to one definition": with_definitions(
        {"items": a_reference("b")}, b=an_object(c=a_reference("c")), c={"maxLength": 5}
    ),
    "true and false": {"type": "object", "properties": {"a": True, "b": False}, "additionalProperties": False},
    "annotations": an_object(a={"x-owner": {"team": [1]}, "deprecated": True, "$comment": "c", "default": [{}]}),
    "different elements, with a limit": an_object(a={"uniqueItems": True, "maxItems": 9, "items": {"type": "integer"}}),
    "elements that may repeat": an_object(a={"uniqueItems": False}),
    "a bounded number of amounts": an_object(a={"maxItems": 300, "items": {"type": "number", "multipleOf": 0.01}}),
    "nested lists": an_object(a={"items": {"items": {"items": {"type": "integer"}}}}),
    "six levels of references": doubling_references(6),
    "a name with escaped characters": an_object(**{"a/b~c": {"$comment": "fine"}}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_these_schemas_are_accepted(name):
    assert find_schema_errors(ACCEPTED[name]) == []


REFUSED: Final[list[tuple[str, Any, str, str, str]]] = [
    ("no type", {}, "/type", "required", "is an object"),
    ("another type", {"type": "array"}, "/type", "malformed", "is an object"),
    ("several types", {"type": ["object", "null"]}, "/type", "malformed", "is an object"),
    ("a large schema", an_object(a={"title": "a" * MAX_SCHEMA_BYTES}), "", "too_large", f"{MAX_SCHEMA_BYTES} bytes"),
    (
        "an old dialect",
        {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
        "/$schema",
        "malformed",
        DIALECT,
    ),
    ("a property that is no schema", an_object(a="string"), "/properties/a", "malformed", "true or false"),
    ("an unknown type", an_object(a={"type": "strng"}), "/properties/a/type", "malformed", "one of array"),
    ("a type twice", an_object(a={"type": ["null", "null"]}), "/properties/a/type", "malformed", "different"),
    ("a misspelt keyword", an_object(a={"maxlength": 3}), "/properties/a/maxlength", "unsupported", "`x-`"),
    ("an old keyword", an_object(a={"definitions": {}}), "/properties/a/definitions", "unsupported", "$defs"),
    ("a keyword of OpenAPI 3.0", an_object(a={"nullable": True}), "/properties/a/nullable", "unsupported", '"null"'),
    ("a negative length", an_object(a={"minLength": -1}), "/properties/a/minLength", "malformed", "whole number"),
    ("half an item", an_object(a={"maxItems": 1.5}), "/properties/a/maxItems", "malformed", "whole number"),
    ("true as a number", an_object(a={"minimum": True}), "/properties/a/minimum", "malformed", "number"),
    ("a huge number", an_object(a={"maximum": 10**400}), "/properties/a/maximum", "out_of_range", "9007199254740991"),
    ("a tiny number", an_object(a={"minimum": 1e-300}), "/properties/a/minimum", "malformed", "1e-9"),
    ("a tiny step", an_object(a={"multipleOf": 1e-100}), "/properties/a/multipleOf", "malformed", "1e-9"),
    ("no step", an_object(a={"multipleOf": 0}), "/properties/a/multipleOf", "malformed", "1e-9"),
    ("no options", an_object(a={"enum": []}), "/properties/a/enum", "malformed", "one or more"),
    ("an object as an option", an_object(a={"enum": [{"b": 1}]}), "/properties/a/enum", "malformed", "text"),
    ("a fraction as an option", an_object(a={"const": 0.5}), "/properties/a/const", "malformed", "whole number"),
    ("a name twice", {"type": "object", "required": ["a", "a"]}, "/required", "malformed", "different names"),
    (
        "a mark that is no flag",
        an_object(a={"x-personal-data": "yes"}),
        "/properties/a/x-personal-data",
        "malformed",
        "true or false",
    ),
    (
        "a remote reference",
        an_object(a={"$ref": "https://example.com/a"}),
        "/properties/a/$ref",
        "unknown",
        "#/$defs/NAME",
    ),
    ("a file", an_object(a={"$ref": "file:///etc/passwd"}), "/properties/a/$ref", "unknown", "#/$defs/NAME"),
    ("a reference to the root", an_object(a={"$ref": "#"}), "/properties/a/$ref", "unknown", "#/$defs/NAME"),
    (
        "a reference into properties",
        an_object(a={"$ref": "#/properties/b"}, b=True),
        "/properties/a/$ref",
        "unknown",
        "$defs",
    ),
    ("a missing definition", with_definitions(a_reference("c"), b=True), "/properties/a/$ref", "unknown", "$defs"),
    (
        "recursion",
        with_definitions(a_reference("b"), b={"items": a_reference("b")}),
        "/$defs/b",
        "unsupported",
        "itself",
    ),
    (
        "recursion through another definition",
        with_definitions({}, b={"items": a_reference("c")}, c={"not": a_reference("b")}),
        "/$defs/b",
        "unsupported",
        "itself",
    ),
    ("a dynamic reference", an_object(a={"$dynamicRef": "#b"}), "/properties/a/$dynamicRef", "unsupported", "$ref"),
    ("an anchor", an_object(a={"$anchor": "b"}), "/properties/a/$anchor", "unsupported", "#/$defs/NAME"),
    ("an id", {"type": "object", "$id": "https://example.com/"}, "/$id", "unsupported", "#/$defs/NAME"),
    ("nested definitions", an_object(a={"$defs": {}}), "/properties/a/$defs", "misplaced", "root"),
    (
        "unevaluated properties",
        {"type": "object", "unevaluatedProperties": False},
        "/unevaluatedProperties",
        "unsupported",
        "additionalProperties",
    ),
    (
        "different elements without a limit",
        an_object(a={"uniqueItems": True, "items": {"type": "string"}}),
        "/properties/a/uniqueItems",
        "too_complex",
        "maxItems",
    ),
    (
        "too many different elements",
        an_object(a={"uniqueItems": True, "maxItems": MAX_UNIQUE_ITEMS + 1, "items": {"type": "string"}}),
        "/properties/a/uniqueItems",
        "too_complex",
        "maxItems",
    ),
    (
        "different objects",
        an_object(a={"uniqueItems": True, "maxItems": 9, "items": {"type": "object"}}),
        "/properties/a/uniqueItems",
        "too_complex",
        '"string"',
    ),
    (
        "too many alternatives",
        an_object(a={"anyOf": [{"title": "a"}] * (MAX_BRANCHES + 1)}),
        "/properties/a/anyOf",
        "too_many",
        "`enum`",
    ),
    ("no alternatives", an_object(a={"oneOf": []}), "/properties/a/oneOf", "malformed", "one or more"),
    ("a lookahead", an_object(a={"pattern": "^(?=a)"}), "/properties/a/pattern", "too_complex", "lookarounds"),
    ("a back-reference", an_object(a={"pattern": r"(a)\1"}), "/properties/a/pattern", "too_complex", "escapes"),
    (
        "a large count",
        an_object(a={"pattern": "a{1,100000}"}),
        "/properties/a/pattern",
        "too_complex",
        "count is too large",
    ),
    ("a surrogate", an_object(a={"pattern": r"[\ud800]"}), "/properties/a/pattern", "too_complex", "not a character"),
    ("an open group", an_object(a={"pattern": "(a"}), "/properties/a/pattern", "too_complex", "group"),
    (
        "a pattern with many states",
        an_object(a={"pattern": "a[ab]{20}$|[ab]{20}b"}),
        "/properties/a/pattern",
        "too_complex",
        "states",
    ),
    (
        "a pattern with large counts",
        an_object(a={"pattern": "^(a{1,99}){1,99}$"}),
        "/properties/a/pattern",
        "too_complex",
        "maxLength",
    ),
    ("a long pattern", an_object(a={"pattern": "a" * 501}), "/properties/a/pattern", "too_complex", "500"),
    (
        "a pattern of names",
        {"type": "object", "patternProperties": {"/(?!a)": True}},
        "/patternProperties/~1(?!a)",
        "too_complex",
        "lookarounds",
    ),
    ("fractions in a list", an_object(a={"items": {"minimum": 0.5}}), "/properties/a/items", "too_complex", "maxItems"),
    (
        "many keywords for each element",
        an_object(a={"items": {"allOf": [{"minimum": -n} for n in range(19)]}}),
        "/properties/a/items",
        "too_complex",
        "maxItems",
    ),
    ("deep references", doubling_references(12), "", "too_many", f"{MAX_SUBSCHEMAS} or fewer"),
    (
        "many subschemas",
        an_object(**{f"{n:x}": True for n in range(MAX_SUBSCHEMAS)}),
        "",
        "too_many",
        f"{MAX_SUBSCHEMAS} or fewer",
    ),
    ("deep negation", an_object(a=nested("not", 22, {})), "", "too_deep", "24"),
    (
        "a deep chain of references",
        with_definitions(
            a_reference("d0"), d99=True, **{f"d{n}": a_reference(f"d{n + 1}" if n < 40 else "d99") for n in range(41)}
        ),
        "",
        "too_deep",
        "levels of subschemas",
    ),
    (
        "many patterns",
        an_object(**{f"p{n}": {"pattern": f"^a{{{200 + n}}}$"} for n in range(12)}),
        "",
        "too_complex",
        "states",
    ),
]


@pytest.mark.parametrize(
    ("schema", "pointer", "code", "advice"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_these_schemas_are_refused(schema, pointer, code, advice):
    errors = find_schema_errors(schema)
    assert [(error.pointer, error.code) for error in errors] == [(pointer, code)]
    assert advice in errors[0].detail
    assert len(errors[0].detail) < 300


def test_all_errors_are_reported_up_to_a_limit():
    assert len(find_schema_errors(an_object(a={"type": "x", "minLength": "1"}, b={"enum": 5}))) == 3
    assert len(find_schema_errors(an_object(**{f"p{n}": {"pattern": "("} for n in range(100)}))) == MAX_SCHEMA_ERRORS


ATTACKS: Final[dict[str, Any]] = {
    "deep objects": an_object(a=nested("items", 2_000, {})),
    "exponential references": doubling_references(250),
    "many long patterns": an_object(**{f"p{n}": {"pattern": "[a-z]?" * 50 + "[ab]" * 50 + f"{n}"} for n in range(90)}),
    "many states": an_object(**{f"p{n}": {"pattern": f"^{'[a-y]?' * 60}b{n}"} for n in range(70)}),
    "nested counts": an_object(a={"pattern": "(((((a{99}){99}){99}){99}){99}){99}"}),
    "counts of nothing": an_object(a={"pattern": "((((){99}){99}){99}){99999}"}),
    "nested groups": an_object(a={"pattern": "(" * 250 + ")" * 250}),
    "unclosed sets": an_object(a={"pattern": "[" * 500}),
    "many definitions": with_definitions({}, **{f"d{n}": a_reference(f"d{n + 1}") for n in range(1_300)}, d1300=True),
    "a cycle of definitions": with_definitions(
        {}, **{f"d{n}": a_reference(f"d{(n + 1) % 1300}") for n in range(1_300)}
    ),
    "many errors": {"type": "object", **{f"k{n}": n for n in range(2_500)}},
    "many options": an_object(a={"items": {"enum": [*range(0, 9_000, 2)]}}),
    "many names": {"type": "object", "required": [f"a{n}" for n in range(4_000)]},
    "names of other types": {"type": "object", "required": [[]], "properties": [], "$defs": 5, "allOf": {}},
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_schema_is_decided_soon(name):
    started_at = time.process_time()
    find_schema_errors(ATTACKS[name])
    assert time.process_time() - started_at < MAX_CHECK_SECONDS


@pytest.mark.parametrize("value", [None, True, 0, -1, 0.5, "", "a", [], [1], {}, {"a": 1}, [[]], [{}], [None], 1e308])
def test_any_value_of_any_keyword_is_refused_or_accepted(value):
    """No value makes the check fail."""
    for keyword in (
        "$defs",
        "$ref",
        "allOf",
        "const",
        "dependentRequired",
        "enum",
        "if",
        "items",
        "maxItems",
        "pattern",
        "patternProperties",
        "properties",
        "required",
        "type",
        "uniqueItems",
        "x-a",
        "multipleOf",
        "$schema",
    ):
        for schema in ({"type": "object", keyword: value}, an_object(a={keyword: value})):
            json.dumps([vars(error) for error in find_schema_errors(schema)])


STATES: Final = {
    "": 1,
    "^[a-z]+$": 2,
    "^ab$": 3,
    "a[ab]{5}c": 65,
    "^[A-Z]{2}-[0-9]{6}$": 10,
    "^(?:a|b)*a(?:a|b){6}$": 129,
    "^[ab]{6}a[ab]*$": 129,
}


@pytest.mark.parametrize(("pattern", "states"), STATES.items())
def test_the_states_of_a_pattern_are_counted_in_both_directions(pattern, states):
    assert count_pattern_states(pattern) == states


@pytest.mark.parametrize("pattern", ["a[ab]{9}c", "^[ab]*a[ab]{9}$", "[ab]{3}a[ab]*a[ab]{9}$", "^.{0,260}$"])
def test_a_pattern_that_needs_too_many_states_is_refused(pattern):
    with pytest.raises(UnsupportedPattern, match=f"more than {MAX_PATTERN_STATES} states"):
        count_pattern_states(pattern)
