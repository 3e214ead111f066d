"""Makes an example of data that the schema of an event type accepts, for the documentation of the type."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.pattern_syntax import (
    Characters,
    Choice,
    Expression,
    Repetition,
    UnsupportedPattern,
    parse_pattern,
)
from chalicelib.features.events.types.logic.schema_costs import DATA_BYTES
from chalicelib.features.events.types.logic.schema_keywords import REFERENCE_PREFIX
from chalicelib.kernel.http.fields import JsonObject

MAX_EXAMPLE_VALUES: Final = 500
"""Values in a generated example, without those that `examples`, `default`, `const` and `enum` name."""

_EVENT_DATA: Final[TypeAdapter[dict[str, Any]]] = TypeAdapter(JsonObject)
_MAX_REPETITIONS: Final = 100
_MERGED: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
"""Keywords whose subschemas are merged into the schema that contains them."""

_PREFERRED_CHARACTERS: Final = "aA1-_. "
_FORMATS: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:30:00Z",
    "duration": "P1D",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "09:30:00Z",
    "uri": "https://example.com/",
    "uuid": "018f4c1e-7d2a-7c3b-9a4d-5e6f7a8b9c0d",
}


class _TooLarge(Exception):
    """The example would contain too many values, or be larger than the largest data of an event."""


def example_or_none(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return data that an accepted schema accepts and an event can contain, or None if none is found.

    It is the first valid element of `examples` at the root of the schema, or else a generated object: with all
    properties, or with the required ones only. Equal schemas have equal examples.
    """
    validator = compile_schema(schema)
    for candidate in _iter_candidates(schema):
        if isinstance(candidate, dict) and _is_event_data(candidate) and validator.is_valid(candidate):
            return candidate
    return None


def _is_event_data(candidate: dict[str, Any]) -> bool:
    """Return whether the `data` of an event can be this object, which is neither too large nor too deep."""
    try:
        _EVENT_DATA.validate_python(candidate)
    except ValidationError:
        return False
    return True


def _iter_candidates(schema: Mapping[str, Any]) -> Iterator[Any]:
    yield from schema.get("examples", ())
    for has_optional in (True, False):
        try:
            yield _Generator(schema, has_optional=has_optional).generate(schema)
        except _TooLarge:
            continue


class _Generator:
    def __init__(self, root: Mapping[str, Any], *, has_optional: bool) -> None:
        self._definitions = root.get("$defs", {})
        self._has_optional = has_optional
        self._count = 0
        self._size = 0

    def generate(self, schema: Any) -> Any:
        """Return a value for a schema. Raises _TooLarge."""
        self._count += 1
        if self._count > MAX_EXAMPLE_VALUES:
            raise _TooLarge
        if not isinstance(schema, dict):
            return self._add_size_of("example")
        schema = self._merge(schema)
        for keyword in ("const", "default"):
            if keyword in schema:
                return self._add_size_of(schema[keyword])
        for keyword in ("examples", "enum"):
            if schema.get(keyword) and "properties" not in schema:
                return self._add_size_of(schema[keyword][0])
        return self._generate_typed(schema, _type_of(schema))

    def _add_size_of(self, value: Any) -> Any:
        """Return a value or a name of the example. Raises _TooLarge if the example gets larger than data can be."""
        self._size += len(to_json(value))
        if self._size > DATA_BYTES:
            raise _TooLarge
        return value

    def _merge(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return a schema together with the one it refers to, those in `allOf` and the first alternatives."""
        parts = [*schema.get("allOf", ()), *schema.get("anyOf", ())[:1], *schema.get("oneOf", ())[:1]]
        if "$ref" in schema:
            parts.insert(0, self._definitions[schema["$ref"].removeprefix(REFERENCE_PREFIX)])
        merged: dict[str, Any] = {}
        own = {keyword: value for keyword, value in schema.items() if keyword not in _MERGED}
        for part in [*(self._merge(each) for each in parts if isinstance(each, dict)), own]:
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*merged.get("required", ()), *part.get("required", ())]
            merged |= {**part, "properties": properties, "required": required}
        return {
            keyword: value for keyword, value in merged.items() if value or keyword not in ("properties", "required")
        }

    def _generate_typed(self, schema: Mapping[str, Any], type_name: str) -> Any:
        if type_name == "object":
            return self._generate_object(schema)
        if type_name == "array":
            return self._generate_array(schema)
        if type_name in ("integer", "number"):
            return self._add_size_of(_generate_number(schema, type_name))
        constants = {"boolean": True, "null": None}
        return self._add_size_of(constants[type_name] if type_name in constants else _generate_text(schema))

    def _generate_object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        names = [*properties, *required] if self._has_optional else required
        other = schema.get("additionalProperties", True)
        result = {
            self._add_size_of(name): self.generate(properties.get(name, other))
            for name in dict.fromkeys(names)
            if properties.get(name, other) is not False
        }
        for number in range(schema.get("minProperties", 0)):
            if len(result) >= schema["minProperties"]:
                break
            result.setdefault(f"field{number + 1}", self.generate(other))
        return result

    def _generate_array(self, schema: Mapping[str, Any]) -> list[Any]:
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", schema.get("contains", True))
        least = schema.get("minItems", max(schema.get("minContains", 0), 1 if self._has_optional else 0))
        least = min(least, schema.get("maxItems", least))
        elements = [self.generate(each) for each in prefix]
        if items is not False:
            elements += (self.generate(items) for _ in range(int(least) - len(elements)))
        return _make_unique(elements) if schema.get("uniqueItems") else elements


def _type_of(schema: Mapping[str, Any]) -> str:
    types = schema.get("type", ())
    if types:
        return types if isinstance(types, str) else str(types[0])
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema or "contains" in schema:
        return "array"
    return "number" if {"minimum", "maximum", "multipleOf"} & schema.keys() else "string"


def _make_unique(elements: list[Any]) -> list[Any]:
    return [each if not number else _vary(each, number) for number, each in enumerate(elements)]


def _vary(element: Any, number: int) -> Any:
    if isinstance(element, str):
        return f"{element}{number + 1}"
    return element + number if isinstance(element, int | float) and not isinstance(element, bool) else element


def _generate_number(schema: Mapping[str, Any], type_name: str) -> int | float:
    step = schema.get("multipleOf", 1)
    low = max(schema.get("minimum", -float("inf")), schema.get("exclusiveMinimum", -float("inf")))
    high = min(schema.get("maximum", float("inf")), schema.get("exclusiveMaximum", float("inf")))
    if low == -float("inf"):
        low = min(high, step) if high < step else step
    number = -(-low // step) * step
    if number == schema.get("exclusiveMinimum") or number < low:
        number += step
    if (number > high or number == schema.get("exclusiveMaximum")) and type_name == "number":
        number = (low + high) / 2
    return int(number) if number == int(number) else number


def _generate_text(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", 2**53)
    if "pattern" in schema:
        try:
            return _match(parse_pattern(schema["pattern"])[0].expression, int(least))
        except UnsupportedPattern:
            return ""
    text = _FORMATS.get(schema.get("format", ""), "example")
    if least > _MAX_REPETITIONS * len(text):
        raise _TooLarge
    return (text * (int(least) // len(text) + 1))[: int(max(least, min(most, len(text))))]


def _match(expression: Expression, least: int = 0) -> str:
    """Return a text that matches an expression. `least`: the length that a repetition should reach."""
    if isinstance(expression, Characters):
        return _choose_character(expression)
    if isinstance(expression, Choice):
        return _match(expression.options[0], least)
    if isinstance(expression, Repetition):
        part = _match(expression.part)
        wanted = max(expression.least, -(-least // max(len(part), 1)))
        count = wanted if expression.most is None else min(wanted, expression.most)
        return part * min(count, _MAX_REPETITIONS) if part else ""
    texts = [_match(each) for each in expression.parts]
    for position, each in enumerate(expression.parts):
        missing = least - sum(map(len, texts))
        if missing > 0:
            texts[position] = _match(each, missing + len(texts[position]))
    return "".join(texts)


def _choose_character(characters: Characters) -> str:
    for preferred in _PREFERRED_CHARACTERS:
        if any(low <= ord(preferred) <= high for low, high in characters.ranges):
            return preferred
    printable = (low for low, high in characters.ranges if low > ord(" "))
    return chr(next(printable, characters.ranges[0][0] if characters.ranges else ord("a")))
