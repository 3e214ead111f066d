"""Finds the places where data does not match a schema.

The library's own list of errors is not bounded: it contains an error for each element and each branch. This one walks
through schema and data together, asks the library whether parts of the data match parts of the schema, and stops when
it has compared a fixed number of bytes.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.error_messages import describe_violation
from chalicelib.features.events.types.logic.schema_keywords import REFERENCE_PREFIX, escape
from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names
from chalicelib.kernel.core.problems import MAX_ERRORS

MAX_COMPARED_BYTES: Final = 3 * 64 * 1024
"""Bytes of data that are compared with parts of the schema to find the errors in data that is not valid."""

_BYTES_PER_COMPARISON: Final = 256
_MAX_NAME_LENGTH: Final = 128
_MAX_ADVISED_ERRORS: Final = 3
_MAX_COMPARED_NAMES: Final = 100
_MEMBER_KEYWORDS: Final = ("properties", "patternProperties", "additionalProperties")
_APPLICATORS: Final = frozenset(
    {*_MEMBER_KEYWORDS, "$defs", "$ref", "allOf", "dependentSchemas", "else", "if", "items"}
)
_WALKED: Final = _APPLICATORS | {"prefixItems", "propertyNames", "then"}
"""Keywords whose subschemas are compared one by one."""


class DataError(NamedTuple):
    """An error of data. `pointer`: a JSON Pointer (RFC 6901) into the data."""

    pointer: str
    code: str
    detail: str


class _Stopped(Exception):
    """The largest number of errors is found, or of bytes compared."""


def locate_errors(schema: Mapping[str, Any], data: Any) -> list[DataError]:
    """Return the errors of data that does not match an accepted schema: at least one, and at most 20."""
    walk = _Walk(schema)
    try:
        walk.visit(schema, data, "")
    except _Stopped:
        pass
    errors = list(dict.fromkeys(walk.errors))
    return errors or [DataError(walk.pointer, "malformed", "does not match the schema of the event type")]


class _Walk:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.errors: list[DataError] = []
        self.pointer = ""
        self._definitions = root.get("$defs", {})
        self._compared_bytes = 0

    def visit(self, schema: Any, value: Any, pointer: str) -> None:
        """Add the errors of a value that a schema does not accept."""
        self.pointer = pointer
        count = len(self.errors)
        if schema is False:
            self._add(pointer, "unknown_field", "must be omitted")
        elif isinstance(schema, dict):
            self._compare_assertions(schema, value, pointer)
            if not self.errors[count:] or "type" not in schema or self._matches({"type": schema["type"]}, value):
                self._walk_in_place(schema, value, pointer)
                self._walk_members(schema, value, pointer)
        if len(self.errors) == count:
            self._add(pointer, "malformed", "does not match the schema of the event type")

    def _add(self, pointer: str, code: str, detail: str) -> None:
        self.errors.append(DataError(pointer, code, detail))
        if len(self.errors) >= MAX_ERRORS:
            raise _Stopped

    def _matches(self, schema: Any, value: Any) -> bool:
        """Return whether a part of the data matches a part of the schema."""
        if isinstance(schema, bool):
            return schema
        whole = {**schema, "$defs": self._definitions} if "$ref" in json.dumps(schema) else schema
        compared = len(json.dumps(value)) + 2 * len(json.dumps(whole)) + _BYTES_PER_COMPARISON
        self._compared_bytes += compared
        if self._compared_bytes > MAX_COMPARED_BYTES:
            raise _Stopped
        return compile_schema(whole).is_valid(value)

    def _compare_assertions(self, schema: Mapping[str, Any], value: Any, pointer: str) -> None:
        for keyword, expected in schema.items():
            if keyword in _WALKED or keyword.startswith("x-"):
                continue
            context = {each: schema[each] for each in _context_of(keyword) if each in schema}
            if self._matches({keyword: expected, **context}, value):
                continue
            for path, code, detail in describe_violation(keyword, expected, value):
                self._add(pointer + path, code, detail)

    def _walk_in_place(self, schema: Mapping[str, Any], value: Any, pointer: str) -> None:
        for part in schema.get("allOf", ()):
            self._visit_if_mismatched(part, value, pointer)
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].removeprefix(REFERENCE_PREFIX)]
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

    def _walk_members(self, schema: Mapping[str, Any], value: Any, pointer: str) -> None:
        if isinstance(value, dict):
            self._walk_names(schema, value, pointer)
            members = {keyword: schema[keyword] for keyword in _MEMBER_KEYWORDS if keyword in schema}
            for name, member in self._find_mismatches([*value.items()], lambda some: (members, dict(some))):
                self._visit_member(members, name, member, f"{pointer}/{_shorten(name)}")
        elif isinstance(value, list):
            prefix = schema.get("prefixItems", [])
            for number, (part, element) in enumerate(zip(prefix, value, strict=False)):
                self._visit_if_mismatched(part, element, f"{pointer}/{number}")
            if "items" in schema:
                rest = [*enumerate(value)][len(prefix) :]
                for number, element in self._find_mismatches(
                    rest, lambda some: ({"items": schema["items"]}, [each for _, each in some])
                ):
                    self.visit(schema["items"], element, f"{pointer}/{number}")

    def _walk_names(self, schema: Mapping[str, Any], value: Mapping[str, Any], pointer: str) -> None:
        if "propertyNames" in schema:
            names = {"propertyNames": schema["propertyNames"]}
            for name, _ in self._find_mismatches([*value.items()], lambda some: (names, dict.fromkeys(dict(some)))):
                self._add(f"{pointer}/{_shorten(name)}", "malformed", "The schema does not allow this name.")

    def _visit_member(self, members: Mapping[str, Any], name: str, member: Any, pointer: str) -> None:
        parts = [members["properties"][name]] if name in members.get("properties", {}) else []
        for pattern, part in members.get("patternProperties", {}).items():
            if self._matches({"pattern": pattern}, name):
                parts.append(part)
        if not parts and members.get("additionalProperties") is False:
            self._add(pointer, "unknown_field", f"There is no such field. {self._advise(name, members)}".rstrip())
            return
        for part in parts or [members.get("additionalProperties", True)]:
            self._visit_if_mismatched(part, member, pointer)

    def _advise(self, name: str, members: Mapping[str, Any]) -> str:
        """Return the question whether a similar name is meant, for the first errors only, because it takes long."""
        known_names = [*members.get("properties", {})]
        if len(self.errors) >= _MAX_ADVISED_ERRORS or len(known_names) > _MAX_COMPARED_NAMES:
            return ""
        return ask_whether_meant(map(repr, find_nearest_names(name, known_names)))

    def _find_mismatches(
        self, entries: list[Any], make_comparison: Callable[[list[Any]], tuple[Any, Any]]
    ) -> Iterator[Any]:
        """Yield the entries that do not match. It compares halves, and halves of those that do not match."""
        if not entries or self._matches(*make_comparison(entries)):
            return
        if len(entries) == 1:
            yield entries[0]
            return
        middle = len(entries) // 2
        yield from self._find_mismatches(entries[:middle], make_comparison)
        yield from self._find_mismatches(entries[middle:], make_comparison)


def _context_of(keyword: str) -> tuple[str, ...]:
    """Return the keywords next to a keyword that change its meaning."""
    return {"contains": ("minContains", "maxContains"), "uniqueItems": ("items",)}.get(keyword, ())


def _shorten(name: str) -> str:
    token = escape(name[:_MAX_NAME_LENGTH])
    return f"{token}…" if len(name) > _MAX_NAME_LENGTH else token
