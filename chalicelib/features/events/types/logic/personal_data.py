"""Finds the personal data of events, in a time and memory that are limited for every accepted schema.

The library stores an annotation with its location for each keyword and each value that the keyword applies to. With an
accepted schema, 64 KiB of data could take seconds and a gigabyte. So only what decides about `x-personal-data` is
evaluated, and only if its estimated memory is within a limit.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema, to_fast_schema
from chalicelib.features.events.types.logic.schema_keywords import (
    PERSONAL_DATA,
    REFERENCE_PREFIX,
    SUBSCHEMA_KEYWORDS,
    SUBSCHEMA_LIST_KEYWORDS,
    SUBSCHEMA_MAP_KEYWORDS,
    Subschema,
    convert_subschemas,
    is_annotation,
    iter_subschemas,
)

MAX_EVALUATION_BYTES: Final = 64 * 1024 * 1024
"""Estimated memory to evaluate the data of an event. Above it, all of the data counts as personal."""

_BYTES_PER_VALUE: Final = 1_024
_BYTES_PER_KEYWORD: Final = 128
# An annotation contains up to four locations, and a character takes up to 4 bytes.
_BYTES_PER_LOCATION_CHARACTER: Final = 16
# Each conditional subschema that does not accept a value produces an error message that contains the value.
_BYTES_PER_VALUE_CHARACTER: Final = 4

_CONDITIONAL: Final = frozenset({"$defs", "anyOf", "contains", "if", "not", "oneOf"})
"""Keywords with subschemas that do not have to accept valid data, or to which such subschemas can refer."""

_BRANCHES: Final = frozenset({"if", "then", "else"})
_ASSERTIONS: Final = frozenset({"anyOf", "contains", "not", "oneOf"})
_RETAINED: Final = frozenset(
    {
        *(PERSONAL_DATA, "$ref", "minContains", "maxContains"),
        *SUBSCHEMA_KEYWORDS,
        *SUBSCHEMA_LIST_KEYWORDS,
        *SUBSCHEMA_MAP_KEYWORDS,
    }
)
"""Keywords that mark values or contain subschemas that may."""


class PersonalDataFinder:
    """Finds the values in data that a schema marks with `x-personal-data: true`. It compiles the schema once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        reduced = _reduce(schema) if _marks_values(schema) else None
        self._validator = compile_schema(reduced) if reduced else None
        self._evaluated_schema = to_fast_schema(reduced)

    def find(self, data: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return the pointers and values in valid data that are marked, or all data if evaluating it takes too much.

        An annotation applies to a value if the subschema with it accepts the value (JSON Schema 2020-12, section 7.7).
        """
        if self._validator is None:
            return []
        if not self.can_evaluate(data):
            return [("", data)]
        pointers = {
            each["instanceLocation"]: None
            for each in self._validator.evaluate(data).annotations()
            if isinstance(each["annotations"], dict) and each["annotations"].get(PERSONAL_DATA) is True
        }
        return [(pointer, _value_at(data, pointer)) for pointer in pointers]

    def list_values(self, data: Mapping[str, Any]) -> list[Any]:
        """Return the values that `find` returns."""
        return [value for _, value in self.find(data)]

    def can_evaluate(self, data: Mapping[str, Any]) -> bool:
        """Return whether the estimated memory to evaluate data is within the limit."""
        try:
            _MemoryEstimate(self._evaluated_schema).add_root(data)
        except _TooLarge:
            return False
        return True


def _reduce(schema: Any, *, is_conditional: bool = False) -> Any:
    """Return a schema that marks the same values of valid data, with as few other keywords as possible.

    A subschema that marks nothing becomes True, unless it is conditional and so decides whether another one applies.
    """
    if not isinstance(schema, dict):
        return schema
    if is_conditional:
        reduced = {keyword: value for keyword, value in schema.items() if not is_annotation(keyword)}
    elif _may_mark_values(schema):
        reduced = {keyword: value for keyword, value in schema.items() if _is_needed(schema, keyword)}
    else:
        return True
    converted = convert_subschemas(
        reduced, lambda each: _reduce(each.schema, is_conditional=is_conditional or each.keyword in _CONDITIONAL)
    )
    parts = [part for part in converted.pop("allOf", ()) if part is not True]
    return {**converted, "allOf": parts} if parts else converted


def _is_needed(schema: Mapping[str, Any], keyword: str) -> bool:
    """Return whether a keyword decides about marks, in a schema that is known to accept the data."""
    if keyword in _BRANCHES:
        return _may_mark_values({name: part for name, part in schema.items() if name in _BRANCHES})
    if keyword in _ASSERTIONS:
        return _may_mark_values({keyword: schema[keyword]})
    return keyword in _RETAINED


def _marks_values(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        schema.get(PERSONAL_DATA) is True or any(_marks_values(each.schema) for each in iter_subschemas(schema))
    )


def _may_mark_values(schema: Any) -> bool:
    """Return whether a subschema marks values. A reference counts as one that does."""
    return isinstance(schema, dict) and (
        schema.get(PERSONAL_DATA) is True
        or "$ref" in schema
        or any(_may_mark_values(each.schema) for each in iter_subschemas(schema) if each.keyword != "not")
    )


class _TooLarge(Exception):
    """The estimated memory is above the limit."""


class _MemoryEstimate:
    """An upper bound for the memory that the library takes to evaluate data, and Python to read its result."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._bytes = 0
        self._lengths: dict[int, int] = {}
        self._subschemas: dict[int, list[tuple[Subschema, int]]] = {}

    def add_root(self, data: Mapping[str, Any]) -> None:
        """Add the memory to evaluate data. Raises _TooLarge."""
        self._add(self._schema, data, 0, is_conditional=False)

    def _add(self, schema: Any, value: Any, location_length: int, *, is_conditional: bool) -> None:
        self._bytes += _BYTES_PER_VALUE + _BYTES_PER_LOCATION_CHARACTER * location_length
        if is_conditional:
            self._bytes += _BYTES_PER_VALUE_CHARACTER * self._length_of(value)
        if self._bytes > MAX_EVALUATION_BYTES:
            raise _TooLarge
        if not isinstance(schema, dict):
            return
        self._bytes += _BYTES_PER_KEYWORD * len(schema)
        if "$ref" in schema:
            reference = schema["$ref"]
            target = self._schema["$defs"][reference.removeprefix(REFERENCE_PREFIX)]
            self._add(target, value, location_length + len(reference), is_conditional=is_conditional)
        for each, path_length in self._subschemas_of(schema):
            length, conditional = location_length + path_length, is_conditional or each.keyword in _CONDITIONAL
            for name, part in _iter_values(schema, each, value):
                self._add(each.schema, part, length + len(name), is_conditional=conditional)

    def _subschemas_of(self, schema: Mapping[str, Any]) -> list[tuple[Subschema, int]]:
        """Return the subschemas of a schema, with the lengths of their paths."""
        if id(schema) not in self._subschemas:
            self._subschemas[id(schema)] = [(each, len(each.path)) for each in iter_subschemas(schema)]
        return self._subschemas[id(schema)]

    def _length_of(self, value: Any) -> int:
        if id(value) not in self._lengths:
            self._lengths[id(value)] = len(json.dumps(value))
        return self._lengths[id(value)]


def _iter_values(schema: Mapping[str, Any], subschema: Subschema, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values to which a subschema may apply, with the last token of their pointers, "" for `value` itself."""
    keyword, name = subschema.keyword, subschema.name
    if keyword in ("items", "contains", "prefixItems"):
        elements = [*enumerate(value)] if isinstance(value, list) else []
        if keyword == "prefixItems":
            elements = elements[int(name or 0) :][:1]
        elif keyword == "items":
            elements = elements[len(schema.get("prefixItems", ())) :]
        yield from ((str(number), element) for number, element in elements)
    elif keyword in ("additionalProperties", "patternProperties", "properties", "propertyNames"):
        members = value if isinstance(value, dict) else {}
        if keyword == "properties":
            members = {name: members[name]} if name in members else {}
        elif keyword == "additionalProperties":
            members = {key: member for key, member in members.items() if key not in schema.get("properties", {})}
        yield from ((key, key if keyword == "propertyNames" else member) for key, member in members.items())
    elif keyword != "$defs" and (keyword != "dependentSchemas" or (isinstance(value, dict) and name in value)):
        yield "", value


def _value_at(data: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer (RFC 6901)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data
