"""Estimates the longest time that data of 64 KiB can take to validate with a schema, before any data exists.

The estimate is an upper bound that depends on nothing but the schema. It adds the measured nanoseconds of each keyword
(`python -m benchmarks.schemas` verifies them) for every value that the keyword can apply to. An array without
`maxItems` can have one element for each two bytes of data, and an object one member for each six. `maxItems`,
`maxProperties` and `type` limit what is counted, because the library checks them first.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.features.events.types.logic.pattern_states import count_pattern_states
from chalicelib.features.events.types.logic.schema_keywords import (
    COUNT_KEYWORDS,
    LIMIT_KEYWORDS,
    REFERENCE_PREFIX,
    Subschema,
    iter_subschemas,
)

DATA_BYTES: Final = 64 * 1024
"""Size of an event's data that the estimate is for."""

NANOSECONDS_PER_STATE: Final = 1500
"""Time to build a state of a pattern's automaton, when the pattern is used for the first time."""

_MIN_VALUE_BYTES: Final = {"integer": 2, "number": 2, "string": 3, "array": 3, "object": 3, "boolean": 5, "null": 5}
"""Bytes of the shortest value of each type, with the comma after it."""

_MIN_MEMBER_BYTES: Final = 6
"""Bytes of the shortest member of an object: `"a":0` and a comma."""

_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose subschemas apply to the same value."""

_TYPE_OF_KEYWORD: Final = {
    **dict.fromkeys(("maxLength", "minLength", "pattern"), "string"),
    **dict.fromkeys(("contains", "items", "maxItems", "minItems", "prefixItems", "uniqueItems"), "array"),
    **dict.fromkeys(("additionalProperties", "dependentRequired", "dependentSchemas", "maxProperties"), "object"),
    **dict.fromkeys(("minProperties", "patternProperties", "properties", "propertyNames", "required"), "object"),
    **dict.fromkeys((*LIMIT_KEYWORDS, "multipleOf"), "number"),
}
"""The type of values that a keyword applies to, where it is only one."""

_NANOSECONDS: Final = {
    **dict.fromkeys(COUNT_KEYWORDS, 9),
    "$ref": 12,
    "allOf": 10,
    "anyOf": 10,
    "oneOf": 10,
    "not": 12,
    "if": 20,
    "type": 9,
    "required": 15,
    "items": 20,
    "prefixItems": 20,
    "contains": 20,
    "properties": 15,
    "additionalProperties": 25,
    "patternProperties": 20,
    "propertyNames": 25,
}
"""Time of a keyword for each value, without that of its subschemas."""

_NANOSECONDS_PER_BYTE: Final = 16
"""Time to read the data, whatever the schema is."""

_VISIT: Final = 5
_PATTERN: Final = 60
_PATTERN_BYTE: Final = 3
_ENUM: Final = 25
_OPTION: Final = 50
_WHOLE_NUMBER: Final = 22
_MEMBER: Final = 30
_MEMBER_NAME: Final = 15
_COMPARED_TEXTS: Final = 45
_COMPARED_NUMBERS: Final = 650
_MAX_COMPARED_PAIRS: Final = 15 * 14 // 2
"""The library compares each pair of up to 15 elements, and sorts longer arrays."""

_FRACTION: Final = 7_000, 600.0
"""Comparing a number with a fraction converts both to ratios of large integers. The second value is for each byte."""

_MULTIPLE_OF_FRACTION: Final = 12_500, 1_200.0
_MULTIPLE_OF_INTEGER: Final = 1_300, 95.0


class Cost:
    """An upper bound: validating a value of B bytes takes at most `per_value + per_byte * B` nanoseconds.

    `per_value_byte`: `per_value` divided by the bytes of the shortest value that takes so long, so N values of B bytes
    in total take at most `(per_value_byte + per_byte) * B`. `size`: the bytes of a typical value. `parts`: the costs of
    subschemas, with their pointers and the nanoseconds that they contribute for a typical value.
    """

    def __init__(self, size: float, per_value: float = 0.0, per_value_byte: float = 0.0, per_byte: float = 0.0) -> None:
        self.size = size
        self.per_value = per_value
        self.per_value_byte = per_value_byte
        self.per_byte = per_byte
        self.parts: list[tuple[str, float, Cost]] = []

    def add(self, per_value: float, min_bytes: float, per_byte: float = 0.0) -> None:
        """Add the time of a keyword for values of at least `min_bytes` bytes."""
        self.per_value += per_value
        self.per_value_byte += per_value / min_bytes
        self.per_byte += per_byte

    def include(self, other: "Cost", pointer: str, part: "Cost | None" = None) -> None:
        """Add the cost of other keywords that apply to the same value. `part`: the cost of the subschema in them."""
        self.per_value += other.per_value
        self.per_value_byte += other.per_value_byte
        self.per_byte += other.per_byte
        self.parts.append((pointer, other.per_value + other.per_byte * self.size, part or other))

    @property
    def nanoseconds(self) -> float:
        """The time for a typical value."""
        return self.per_value + self.per_byte * self.size

    def find_largest_part(self) -> str:
        """Return the pointer of the innermost subschema that takes more than half of the time."""
        for pointer, nanoseconds, part in self.parts:
            if nanoseconds * 2 > self.nanoseconds:
                return pointer + part.find_largest_part()
        return ""


def estimate_cost(root: Mapping[str, Any]) -> Cost:
    """Return the cost of a schema with valid keywords and references, without recursion.

    Building the automata of its patterns is included.
    """
    cost = estimate_part_cost(root, root.get("$defs", {}), DATA_BYTES)
    cost.per_byte += _NANOSECONDS_PER_BYTE
    cost.per_value += NANOSECONDS_PER_STATE * count_states_of_patterns(root)
    return cost


def estimate_part_cost(schema: Mapping[str, Any], definitions: Mapping[str, Any], size: int) -> Cost:
    """Return the cost of a part of a schema. The bound is tight for data of `size` bytes, and holds for other sizes."""
    return _Estimate(definitions).cost_of(schema, size, 2)


def count_states_of_patterns(schema: Any) -> int:
    """Return the states of the automata of all patterns in a schema, each subschema counted once."""
    if not isinstance(schema, dict):
        return 0
    patterns = [schema["pattern"]] if "pattern" in schema else []
    patterns += schema.get("patternProperties", ())
    return sum(map(count_pattern_states, patterns)) + sum(
        count_states_of_patterns(each.schema) for each in iter_subschemas(schema)
    )


class _Estimate:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def cost_of(self, schema: Any, size: float, min_bytes: float) -> Cost:
        """Return the cost of a subschema. `size`: the bytes of a typical value, for which the bound is tight."""
        cost = Cost(size)
        cost.add(_VISIT, min_bytes)
        if not isinstance(schema, dict):
            return cost
        types = _types_of(schema)
        if "type" in schema:
            cost.add(_NANOSECONDS["type"], min_bytes)
            min_bytes = max(min_bytes, min(_MIN_VALUE_BYTES[name] for name in types))
        for keyword, value in schema.items():
            type_name = _TYPE_OF_KEYWORD.get(keyword)
            if type_name is None or type_name in types:
                least = max(min_bytes, _MIN_VALUE_BYTES[type_name] if type_name else 0)
                _add_assertion(cost, keyword, value, least)
                if keyword in _NANOSECONDS and keyword != "type":
                    cost.add(_NANOSECONDS[keyword], least)
        self._add_in_place(cost, schema, size, min_bytes)
        if "array" in types:
            self._add_elements(cost, schema, size)
        if "object" in types:
            self._add_members(cost, schema, size)
        return cost

    def _add_in_place(self, cost: Cost, schema: Mapping[str, Any], size: float, min_bytes: float) -> None:
        for subschema in iter_subschemas(schema):
            if subschema.keyword in _IN_PLACE:
                cost.include(self.cost_of(subschema.schema, size, min_bytes), subschema.path)
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].removeprefix(REFERENCE_PREFIX)]
            cost.include(self.cost_of(target, size, min_bytes), "/$ref")

    def _add_elements(self, cost: Cost, schema: Mapping[str, Any], size: float) -> None:
        if schema.get("uniqueItems"):
            _add_unique_items(cost, schema)
        most = min(schema.get("maxItems", DATA_BYTES), DATA_BYTES)
        if "prefixItems" in schema:
            for subschema in _subschemas_of(schema, "prefixItems"):
                part = self.cost_of(subschema.schema, size, 2)
                cost.include(_repeated(part, 1, size, 2), subschema.path, part)
        for keyword in ("items", "contains"):
            for subschema in _subschemas_of(schema, keyword):
                part = self.cost_of(subschema.schema, max(2.0, size / max(most, 1)), 2)
                cost.include(_repeated(part, most, size, 2), subschema.path, part)

    def _add_members(self, cost: Cost, schema: Mapping[str, Any], size: float) -> None:
        most = min(schema.get("maxProperties", DATA_BYTES), DATA_BYTES)
        typical = max(float(_MIN_MEMBER_BYTES), size / max(most, 1))
        for subschema in iter_subschemas(schema):
            if subschema.keyword not in ("additionalProperties", "patternProperties", "propertyNames"):
                continue
            part = self.cost_of(subschema.schema, typical, 2)
            part.add(_MEMBER, _MIN_MEMBER_BYTES)
            if subschema.keyword == "patternProperties":
                part.add(_PATTERN, _MIN_MEMBER_BYTES, _PATTERN_BYTE)
            cost.include(_repeated(part, most, size, _MIN_MEMBER_BYTES), subschema.path, part)
        self._add_properties(cost, schema, size)

    def _add_properties(self, cost: Cost, schema: Mapping[str, Any], size: float) -> None:
        """Add the cost of `properties`. Each name occurs at most once in an object."""
        parts = [(each, self.cost_of(each.schema, size, 2)) for each in _subschemas_of(schema, "properties")]
        for each, part in parts:
            part.add(_MEMBER, _member_bytes(each))
        if sum(_member_bytes(each) for each, _ in parts) <= size:
            per_byte = max((part.per_byte for _, part in parts), default=0.0)
            for each, part in parts:
                cost.add(part.per_value, _member_bytes(each))
                cost.parts.append((each.path, part.per_value + part.per_byte * size, part))
            cost.per_byte += per_byte
        else:
            rates = [(_dense_rate(part, _member_bytes(each)), each, part) for each, part in parts]
            rate, subschema, part = max(rates, key=lambda each: each[0])
            cost.include(Cost(size, per_byte=rate), subschema.path, part)


def _types_of(schema: Mapping[str, Any]) -> set[str]:
    names = schema.get("type", [*_MIN_VALUE_BYTES])
    types = {names} if isinstance(names, str) else {*names}
    return types | {"number"} if "integer" in types else types


def _subschemas_of(schema: Mapping[str, Any], keyword: str) -> Iterator[Subschema]:
    return iter_subschemas({keyword: schema[keyword]} if keyword in schema else {})


def _member_bytes(subschema: Subschema) -> int:
    return len(str(subschema.name)) + 5


def _dense_rate(part: Cost, min_bytes: float) -> float:
    """Return the nanoseconds of each byte if as many values as possible are as short as possible."""
    return min(part.per_value_byte, part.per_value / min_bytes) + part.per_byte


def _repeated(part: Cost, most: float, size: float, min_bytes: float) -> Cost:
    """Return the cost of an array or object with up to `most` values that each have the cost `part`."""
    if most * min_bytes <= size:
        per_value = part.per_value * most
        return Cost(size, per_value, per_value / 3, part.per_byte)
    return Cost(size, per_byte=_dense_rate(part, min_bytes))


def _add_assertion(cost: Cost, keyword: str, value: Any, min_bytes: float) -> None:
    """Add the cost of a keyword that compares the value itself."""
    if keyword in LIMIT_KEYWORDS:
        _add_number(cost, _FRACTION if isinstance(value, float) else None, min_bytes)
    elif keyword == "multipleOf":
        _add_number(cost, _MULTIPLE_OF_FRACTION if isinstance(value, float) else _MULTIPLE_OF_INTEGER, min_bytes)
    elif keyword == "pattern":
        cost.add(_PATTERN, min_bytes, _PATTERN_BYTE)
    elif keyword in ("enum", "const"):
        options = value if keyword == "enum" else [value]
        others = [option for option in options if not isinstance(option, str)]
        cost.add(_ENUM + _OPTION * len(others), min_bytes, 0.5)
    elif keyword == "required":
        cost.add(0, min_bytes, _MEMBER_NAME / _MIN_MEMBER_BYTES)
    elif keyword == "dependentRequired":
        cost.add(sum(15 + _MEMBER_NAME * len(names) for names in value.values()), min_bytes)
    elif keyword == "dependentSchemas":
        cost.add(15 * len(value), min_bytes)


def _add_number(cost: Cost, rates: tuple[int, float] | None, min_bytes: float) -> None:
    if rates is None:
        cost.add(_WHOLE_NUMBER, min_bytes)
    else:
        cost.per_value += rates[0]
        cost.per_value_byte += rates[1]


def _add_unique_items(cost: Cost, schema: Mapping[str, Any]) -> None:
    """Add the cost of `uniqueItems`, which applies only to text and whole numbers."""
    most = min(schema["maxItems"], DATA_BYTES)
    has_numbers = _types_of(schema["items"]) != {"string"}
    pairs = min(most * (most - 1) // 2, _MAX_COMPARED_PAIRS)
    per_value = pairs * (_COMPARED_NUMBERS if has_numbers else _COMPARED_TEXTS)
    cost.add(per_value, max(3.0, min(most, 15) * (4.0 if has_numbers else 3.0)), 60 if has_numbers else 40)
