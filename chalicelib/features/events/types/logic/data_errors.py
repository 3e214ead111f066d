"""Finds the places where data does not match a schema.

The library's own list of errors is not bounded: it contains an error for each element and each branch. This one walks
through schema and data together, asks the library whether parts of the data match parts of the schema, and stops when
the estimated time of these comparisons reaches a limit.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from chalicelib.features.events.types.logic.error_messages import describe_violation
from chalicelib.features.events.types.logic.schema_keywords import REFERENCE_PREFIX, escape
from chalicelib.features.events.types.logic.schema_parts import SchemaParts
from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names
from chalicelib.kernel.core.problems import FieldError

MAX_DATA_ERRORS: Final = 20
"""Errors that are reported of the data of an event."""

MAX_COMPARISON_MILLISECONDS: Final = 11
"""Estimated time to locate the errors in data that is not valid. Then only the errors found so far are reported."""

_NANOSECONDS_PER_COMPARISON: Final = 10_000
_NANOSECONDS_PER_BYTE: Final = 8
_MAX_NAME_LENGTH: Final = 128
_MAX_ADVISED_ERRORS: Final = 3
_MAX_COMPARED_NAMES: Final = 100
_MEMBER_KEYWORDS: Final = ("properties", "patternProperties", "additionalProperties")
_ELEMENTS: Final = ("items", "maxItems")
_WALKED: Final = frozenset(
    {
        *(*_MEMBER_KEYWORDS, "propertyNames", "items", "prefixItems"),
        *("$defs", "$ref", "allOf", "dependentSchemas", "if", "then", "else"),
    }
)
"""Keywords whose subschemas are compared one by one."""

_COUNTED_FIRST: Final = ("type", "maxItems", "maxLength", "maxProperties")
"""Keywords that bound the time of the others. Nothing else is compared with a value that does not match them."""

_CONTEXT: Final = {"contains": ("minContains", "maxContains", "maxItems"), "uniqueItems": _ELEMENTS}
"""Keywords that change the meaning or the time of another one next to them."""

_SIZED: Final = frozenset({"anyOf", "contains", "not", "oneOf", "pattern", "uniqueItems"})
"""Keywords without subschemas to walk through whose time depends on the size of the data."""

_MISMATCH: Final = "does not match the schema of the event type"


class _Stopped(Exception):
    """Enough errors are found, or enough data has been compared."""


def locate_errors(parts: SchemaParts, data: Any) -> list[FieldError]:
    """Return the errors of data that does not match a schema: at least one, and at most 20, with pointers into it."""
    walk = _Walk(parts)
    with suppress(_Stopped):
        walk.visit(parts.schema, data, "")
    errors = list(dict.fromkeys(walk.errors))
    return errors or [FieldError(walk.pointer, "malformed", _MISMATCH)]


class _Walk:
    """A walk through schema and data. `pointer`: the innermost value that is known to have errors."""

    def __init__(self, parts: SchemaParts) -> None:
        self.errors: list[FieldError] = []
        self.pointer = ""
        self._parts = parts
        self._nanoseconds = 0.0

    def visit(self, schema: Any, value: Any, pointer: str) -> None:
        """Add the errors of a value that a schema does not accept."""
        self.pointer = pointer
        count = len(self.errors)
        if schema is False:
            self._add(pointer, "unknown_field", "must be omitted")
        elif not self._exceeds_bounds(schema, value, pointer):
            self._compare_assertions(schema, value, pointer)
            self._walk_in_place(schema, value, pointer)
            if isinstance(value, dict):
                self._walk_members(schema, value, pointer)
            elif isinstance(value, list):
                self._walk_elements(schema, value, pointer)
        if len(self.errors) == count:
            self._add(pointer, "malformed", _MISMATCH)

    def _add(self, pointer: str, code: str, detail: str) -> None:
        self.errors.append(FieldError(pointer, code, detail))
        if len(self.errors) >= MAX_DATA_ERRORS:
            raise _Stopped

    def _matches(self, schema: Any, value: Any, keywords: tuple[str, ...] = (), size: int | None = None) -> bool:
        """Return whether a value matches a subschema, or some keywords of it. Raises _Stopped."""
        if not isinstance(schema, dict):
            return schema is not False
        part = self._parts.get(schema, keywords, self._charge)
        if size is None:
            size = len(json.dumps(value))
        self._charge(part.nanoseconds_for(size) + _NANOSECONDS_PER_BYTE * size + _NANOSECONDS_PER_COMPARISON)
        return bool(part.is_valid(value))

    def _charge(self, nanoseconds: float) -> None:
        """Add to the estimated time. Raises _Stopped."""
        self._nanoseconds += nanoseconds
        if self._nanoseconds > MAX_COMPARISON_MILLISECONDS * 1e6:
            raise _Stopped

    def _exceeds_bounds(self, schema: Mapping[str, Any], value: Any, pointer: str) -> bool:
        for keyword in _COUNTED_FIRST:
            if keyword in schema and not self._matches(schema, value, (keyword,), 0):
                self._add_violations(schema, keyword, value, pointer)
                return True
        return False

    def _compare_assertions(self, schema: Mapping[str, Any], value: Any, pointer: str) -> None:
        for keyword in sorted(schema.keys() - _WALKED - {*_COUNTED_FIRST}):
            if keyword.startswith("x-") or (keyword == "uniqueItems" and not self._matches(schema, value, _ELEMENTS)):
                continue
            size = None if keyword in _SIZED else 0
            if not self._matches(schema, value, (keyword, *_CONTEXT.get(keyword, ())), size):
                self._add_violations(schema, keyword, value, pointer)

    def _add_violations(self, schema: Mapping[str, Any], keyword: str, value: Any, pointer: str) -> None:
        for path, code, detail in describe_violation(keyword, schema[keyword], value):
            self._add(pointer + path, code, detail)

    def _walk_in_place(self, schema: Mapping[str, Any], value: Any, pointer: str) -> None:
        for part in schema.get("allOf", ()):
            self._visit_if_mismatched(part, value, pointer)
        if "$ref" in schema:
            target = self._parts.definitions[schema["$ref"].removeprefix(REFERENCE_PREFIX)]
            self._visit_if_mismatched(target, value, pointer)
        if "if" in schema:
            branch = "then" if self._matches(schema["if"], value) else "else"
            self._visit_if_mismatched(schema.get(branch, True), value, pointer)
        for name, part in schema.get("dependentSchemas", {}).items():
            if isinstance(value, dict) and name in value:
                self._visit_if_mismatched(part, value, pointer)

    def _visit_if_mismatched(self, schema: Any, value: Any, pointer: str) -> None:
        if not self._matches(schema, value):
            self.visit(schema, value, pointer)

    def _walk_members(self, schema: Mapping[str, Any], value: Mapping[str, Any], pointer: str) -> None:
        entries = [*value.items()]
        if "propertyNames" in schema:
            named = ("propertyNames", "maxProperties")
            for name, _ in self._find_mismatches(schema, entries, lambda some: dict.fromkeys(dict(some)), named):
                self._add(f"{pointer}/{_shorten(name)}", "malformed", "The schema does not allow this name.")
        if any(keyword in schema for keyword in _MEMBER_KEYWORDS):
            for name, member in self._find_mismatches(schema, entries, dict, (*_MEMBER_KEYWORDS, "maxProperties")):
                self._visit_member(schema, name, member, f"{pointer}/{_shorten(name)}")

    def _walk_elements(self, schema: Mapping[str, Any], value: list[Any], pointer: str) -> None:
        prefix = schema.get("prefixItems", [])
        for number, (part, element) in enumerate(zip(prefix, value, strict=False)):
            self._visit_if_mismatched(part, element, f"{pointer}/{number}")
        if "items" in schema:
            rest = [*enumerate(value)][len(prefix) :]
            for number, element in self._find_mismatches(
                schema, rest, lambda some: [each for _, each in some], _ELEMENTS
            ):
                self.visit(schema["items"], element, f"{pointer}/{number}")

    def _visit_member(self, schema: Mapping[str, Any], name: str, member: Any, pointer: str) -> None:
        properties, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        parts = [properties[name]] if name in properties else []
        for pattern, part in schema.get("patternProperties", {}).items():
            if self._matches(self._parts.pattern_schema(pattern), name):
                parts.append(part)
        if not parts and other is False:
            self._add(pointer, "unknown_field", f"There is no such field. {self._advise(name, properties)}".rstrip())
            return
        if len(parts) < 2:  # noqa: PLR2004 - the comparison that found the member had one subschema for it
            self.visit(parts[0] if parts else other, member, pointer)
            return
        for part in parts:
            self._visit_if_mismatched(part, member, pointer)

    def _advise(self, name: str, properties: Mapping[str, Any]) -> str:
        """Return the question whether a similar name is meant, for the first errors only, because it takes long."""
        if len(self.errors) >= _MAX_ADVISED_ERRORS or len(properties) > _MAX_COMPARED_NAMES:
            return ""
        return ask_whether_meant(map(repr, find_nearest_names(name, properties)))

    def _find_mismatches(
        self,
        schema: Mapping[str, Any],
        entries: list[tuple[Any, Any]],
        make_value: Callable[[list[tuple[Any, Any]]], Any],
        keywords: tuple[str, ...],
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the entries that do not match some keywords.

        It compares 1, 2, 4 … entries at once, so it finds early errors soon, and halves of those that do not match.
        """
        start, count = 0, 1
        while start < len(entries):
            pending = [entries[start : start + count]]
            while pending:
                some = pending.pop()
                if self._matches(schema, make_value(some), keywords):
                    continue
                if len(some) == 1:
                    yield some[0]
                else:
                    middle = len(some) // 2
                    pending += some[middle:], some[:middle]
            start, count = start + count, count * 2


def _shorten(name: str) -> str:
    token = escape(name[:_MAX_NAME_LENGTH])
    return f"{token}…" if len(name) > _MAX_NAME_LENGTH else token
