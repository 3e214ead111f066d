"""Schemas that use one feature as often as the limits allow, and data of 64 KiB that makes it expensive."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from chalicelib.features.events.types.logic.schema_bounds import MAX_BRANCHES, find_schema_errors
from chalicelib.features.events.types.logic.schema_costs import DATA_BYTES

Schema = dict[str, Any]

VALUES: Final[tuple[Any, ...]] = (
    *(0, 1, 0.1, 1.0, 1e-100, 1.2345678901234567e-100, 123456.78901, 9007199254740991, -5e-9, 9007199254740991.0),
    *("", "a", "ab", "é", "😀", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b" * 300, True, None),
    *([], [0], [0.1], [""], [[]], [1e-100] * 15, [*range(15)], [*"abcdefghijklmno"], [0] * 300),
    *({}, {"a": 0}, {"b": ""}, {"a": {"a": {}}}, {f"{letter}": 0 for letter in "abcdefghijklmnop"}),
    *({f"a{number}": 0 for number in range(40)}, {f"a{number}": {} for number in range(200)}),
    *([number / 8 for number in range(15)], [float(number) for number in range(15)], [[], [], []]),
)
"""Short values that reach many keywords, and numbers that are expensive to compare."""


@dataclass(frozen=True)
class Container:
    """A schema that applies another one to many values. `fill` returns the data from one of the values."""

    name: str
    wrap: Callable[[Schema], Schema]
    fill: Callable[[Any, int], dict[str, Any]]


@dataclass(frozen=True)
class Candidate:
    """An accepted schema."""

    name: str
    schema: Schema
    fill: Callable[[Any, int], dict[str, Any]]


def _repeat(value: Any, size: int, most: int = DATA_BYTES) -> list[Any]:
    return [value] * min(most, max(1, (size - 20) // (len(json.dumps(value, separators=(",", ":"))) + 1)))


def _list_in_object(value: Any, size: int, most: int = DATA_BYTES) -> dict[str, Any]:
    return {"a": _repeat(value, size, most)}


def _members(value: Any, size: int) -> dict[str, Any]:
    length = len(json.dumps(value, separators=(",", ":"))) + 9
    return {f"k{number:x}": value for number in range(max(1, size // length))}


def _named_members(value: Any, size: int) -> dict[str, Any]:
    return {f"{value}{number:x}": 0 for number in range(max(1, size // (8 + len(str(value)))))}


def _object(a: Schema, **keywords: Any) -> Schema:
    return {"type": "object", "properties": {"a": a}, **keywords}


def _bounded(most: int) -> Container:
    return Container(
        f"up to {most:,} elements",
        lambda inner: _object({"type": "array", "maxItems": most, "items": inner}),
        lambda value, size: _list_in_object(value, size, most),
    )


CONTAINERS: Final = (
    Container("elements", lambda inner: _object({"items": inner}), _list_in_object),
    Container(
        "elements of lists", lambda i: _object({"items": {"items": i}}), lambda v, size: _list_in_object([v] * 20, size)
    ),
    Container(
        "first elements", lambda i: _object({"items": {"prefixItems": [i]}}), lambda v, size: _list_in_object([v], size)
    ),
    Container("contained elements", lambda i: _object({"contains": i, "minContains": 0}), _list_in_object),
    Container("members", lambda inner: {"type": "object", "additionalProperties": inner}, _members),
    Container("matching members", lambda inner: {"type": "object", "patternProperties": {"^k": inner}}, _members),
    Container("names", lambda inner: {"type": "object", "propertyNames": inner}, _named_members),
    Container(
        "members of elements",
        lambda inner: _object({"items": {"properties": {"a": inner}}}),
        lambda value, size: _list_in_object({"a": value}, size),
    ),
    Container(
        "members of other members",
        lambda inner: {"type": "object", "additionalProperties": {"additionalProperties": inner}},
        lambda value, size: _members({"a": value}, size),
    ),
    Container(
        "references",
        lambda inner: _object({"items": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}, **{"$defs": {"a": inner}}),
        _list_in_object,
    ),
    *map(_bounded, (10, 100, 1_000, 5_000)),
)

FEATURES: Final[dict[str, Callable[[int], Schema]]] = {
    "true": lambda n: {"title": f"{n}"},
    "type": lambda n: {"type": [*("string", "number", "array", "object", "boolean", "null")[n % 6 :], "integer"]},
    "any type": lambda _: {"type": ["string", "number", "array", "object", "boolean", "null"]},
    "minimum": lambda n: {"minimum": -n},
    "minimum with a fraction": lambda n: {"minimum": -n - 0.5},
    "minimum with a small fraction": lambda n: {"minimum": -(n + 1) * 1e-9},
    "number with a fraction": lambda n: {"type": "number", "exclusiveMinimum": -n - 1.2345678},
    "multiple of an integer": lambda n: {"not": {"multipleOf": n + 7}},
    "multiple of 1": lambda _: {"anyOf": [{"multipleOf": 1}, True]},
    "multiple of a fraction": lambda n: {"anyOf": [{"multipleOf": (n + 1) / 100}, True]},
    "lengths": lambda n: {"minLength": 0, "maxLength": 1000 + n},
    "pattern": lambda n: {"pattern": f"^[a-z]{{0,{n + 1}}}|"},
    "pattern that fails": lambda n: {"not": {"pattern": f"^[^b]*[^a]c{{{n + 1}}}$"}},
    "pattern with many states": lambda n: {"not": {"pattern": f"[ab]a[ab]{{5}}c{{{n + 1}}}"}},
    "texts": lambda n: {"not": {"enum": [f"b{n}", "c", "d", "e" * 30]}},
    "texts and numbers": lambda n: {"not": {"enum": ["x", None, False, *range(n + 2, n + 40, 2)]}},
    "number": lambda n: {"not": {"const": n + 2}},
    "number range": lambda n: {"not": {"enum": [*range(n + 2, n + 30)]}},
    "required": lambda n: {"not": {"required": ["a", f"z{n}"]}},
    "required members": lambda n: {"not": {"required": [*(f"a{i}" for i in range(40)), f"z{n}"]}},
    "required together": lambda n: {"dependentRequired": {f"z{n}": ["b"], "y": ["c"]}},
    "required together, present": lambda _: {"dependentRequired": {f"a{i}": ["a1", "a2", "a3"] for i in range(20)}},
    "schemas of present members": lambda n: {"dependentSchemas": {"a": {"minProperties": n % 2}, "a1": True}},
    "number of items": lambda n: {"minItems": 0, "maxItems": 1000 + n},
    "number of members": lambda n: {"minProperties": 0, "maxProperties": 1000 + n},
    "elements": lambda n: {"items": {"minimum": -n}},
    "first elements": lambda n: {"prefixItems": [{"minimum": -n}, {"minLength": 0}]},
    "contained elements": lambda n: {"contains": {"minimum": n + 1}, "minContains": 0},
    "different texts": lambda n: {"uniqueItems": True, "maxItems": 15 + n % 2, "items": {"type": "string"}},
    "different numbers": lambda n: {"uniqueItems": True, "maxItems": 15 + n % 2, "items": {"type": "integer"}},
    "a few different numbers": lambda n: {"uniqueItems": True, "maxItems": 3 + n % 2, "items": {"type": "integer"}},
    "properties": lambda n: {"properties": {f"{letter}": {"minimum": -n} for letter in "abcdef"}},
    "other properties": lambda n: {"additionalProperties": {"minLength": n % 2 - n % 2}},
    "matching properties": lambda n: {"patternProperties": {f"^[ab]{{1,{n + 1}}}": {"minimum": -1}}},
    "long matching properties": lambda n: {"patternProperties": {f"[ab]a[ab]{{4}}c{{{n + 1}}}": False}},
    "names": lambda n: {"propertyNames": {"maxLength": 1000 + n}},
    "no other properties": lambda _: {"anyOf": [{"properties": {"b": True}, "additionalProperties": False}, True]},
    "not": lambda n: {"not": {"minimum": n + 9007199254740000}},
    "if": lambda n: {"if": {"minimum": n + 1}, "then": {"maximum": 0}, "else": {"maximum": 9007199254740991 - n}},
    "anyOf": lambda n: {"anyOf": [{"minimum": n + 9007199254740000}, {"maxLength": n % 2}, True]},
    "oneOf": lambda n: {
        "oneOf": [{"type": "null", "title": f"{n}"}, {"type": ["number", "string", "array", "object"]}]
    },
}
"""Schemas that use a keyword. The number makes copies different, because the library may evaluate equal ones once."""


def iter_candidates(random: Random) -> Iterator[Candidate]:
    """Yield accepted schemas with the most copies: of each feature in each container, then of random combinations."""
    pairs = [(container, name) for container in CONTAINERS for name in FEATURES]
    random.shuffle(pairs)
    for container, name in pairs:
        yield from _find_candidate(container, name, FEATURES[name])
    while True:
        names = random.sample([*FEATURES], random.randint(2, 4))
        yield from _find_candidate(random.choice(CONTAINERS), " + ".join(names), _combine(names))


def iter_marked_candidates() -> Iterator[Candidate]:
    """Yield schemas for the measurement of personal data: in each container, with the most copies of some features."""
    for container in CONTAINERS:
        for name in ("type", "if"):
            yield from _find_candidate(container, name, FEATURES[name])


def _combine(names: list[str]) -> Callable[[int], Schema]:
    return lambda number: {"allOf": [FEATURES[name](number) for name in names]}


def _find_candidate(container: Container, name: str, feature: Callable[[int], Schema]) -> Iterator[Candidate]:
    count, schema = _saturate(container, feature)
    if schema is not None:
        yield Candidate(f"{count:,} times {name}, in {container.name}", schema, container.fill)


def _saturate(container: Container, feature: Callable[[int], Schema]) -> tuple[int, Schema | None]:
    accepted, refused = 0, 500
    best: Schema | None = None
    while refused - accepted > max(1, accepted // 20):
        count = 1 if not accepted and refused == 1 else (accepted + refused) // 2
        schema = container.wrap(repeat_feature(feature, count))
        if find_schema_errors(schema):
            refused = count
        else:
            accepted, best = count, schema
    return accepted, best


def repeat_feature(feature: Callable[[int], Schema], count: int) -> Schema:
    """Return a schema that applies copies of a feature to a value. It nests them, if there are many."""
    schemas = [feature(number) for number in range(count)]
    while len(schemas) > MAX_BRANCHES:
        schemas = [{"allOf": schemas[start : start + MAX_BRANCHES]} for start in range(0, len(schemas), MAX_BRANCHES)]
    return schemas[0] if len(schemas) == 1 else {"allOf": schemas}
