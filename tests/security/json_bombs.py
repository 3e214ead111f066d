"""JSON that breaks parsers, and the locations in documented bodies where it can be inserted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.entrypoints.openapi.examples import example_for_schema
from tests.harness.conformance import openapi_document

DEPTH: Final = 100_000
_TOO_MANY_DIGITS: Final = 5_000
"""More digits than Python accepts in an integer."""

INVALID_BODIES: Final[Mapping[str, bytes]] = {
    "nested lists": b"[" * DEPTH + b"]" * DEPTH,
    "nested objects": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
    "unterminated lists": b"[" * 1_000_000,
    "many members": b"{" + b",".join(b'"%d":1' % n for n in range(20_000)) + b"}",
    "more than 1 MiB": b"{}" + b" " * (1 << 20),
    "a very long name": b'{"' + b"x/" * 100_000 + b'":1}',
    "binary data": b"\xff\xfe\x00{}",
    "overlong UTF-8": b'{"name":"\xc0\x80"}',
    "a surrogate in UTF-8": b'{"name":"\xed\xa0\x80"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"name":"x"}'.encode("utf-16"),
    "a trailing null byte": b"{}\x00",
    "two objects": b"{}{}",
    "a name that is a lone surrogate": b'{"\\ud800":1}',
    "a name that is a control character": b'{"\\u0000":1}',
    "names with a special meaning": b'{"__proto__":{"a":1},"__class__":1,"constructor":{"prototype":{}}}',
}
"""Bodies that every operation rejects."""

REJECTIONS: Final[Mapping[str, str]] = {
    "more than 1 MiB": "413 payload_too_large",
    "many members": "422 validation_failed",
    "a very long name": "422 validation_failed",
    "a name that is a control character": "422 validation_failed",
    "names with a special meaning": "422 validation_failed",
}
"""The problems of invalid bodies that are not `400 malformed_json`."""

INVALID_VALUES: Final[Mapping[str, bytes]] = {
    "nested lists": b"[" * 150 + b"]" * 150,
    "nested objects": b'{"a":' * 150 + b"1" + b"}" * 150,
    "a number that overflows": b"1e999999",
    "a negative number that overflows": b"-1e999999",
    "a number of many digits": b"9" * 4_000,
    "a number of too many digits": b"9" * _TOO_MANY_DIGITS,
    "NaN": b"NaN",
    "infinity": b"-Infinity",
    "a lone surrogate": b'"\\ud800"',
    "reversed surrogates": b'"\\udc00\\ud800"',
    "a control character": b'"\\u0000"',
    "text that is too long": b'"' + b"x" * 66_000 + b'"',
}
"""Values that fields reject."""

INVALID_OBJECTS: Final[Mapping[str, bytes]] = {
    "nested objects": b'{"a":' * 60 + b"1" + b"}" * 60,
    "nested lists": b'{"a":' + b"[" * 60 + b"]" * 60 + b"}",
    "a number that overflows": b'{"n":[1e999999]}',
    "a number of many digits": b'{"n":' + b"9" * 4_000 + b"}",
    "a number of too many digits": b'{"n":' + b"9" * _TOO_MANY_DIGITS + b"}",
    "NaN": b'{"n":[NaN]}',
    "a lone surrogate": b'{"n":"\\ud800"}',
    "a name that is a lone surrogate": b'{"\\ud800":1}',
    "an empty name": b'{"n":{"":1}}',
    "many members": b"{" + b",".join(b'"%d":1' % n for n in range(10_000)) + b"}",
    "a very long name": b'{"' + b"n" * 66_000 + b'":1}',
}
"""Objects that even free-form fields reject."""

STORABLE_OBJECTS: Final[Mapping[str, tuple[bytes, Any]]] = {
    "control characters": (b'{"n":"a\\u0000\\u001f\\u007f"}', {"n": "a\x00\x1f\x7f"}),
    "line separators and directional marks": (b'{"n":"\\u2028\\u202e\\ufeff\\r\\n"}', {"n": "\u2028\u202e\ufeff\r\n"}),
    "characters beyond the basic plane": (b'{"\\ud83d\\ude00":"\\ud83d\\ude00"}', {"😀": "😀"}),
    "duplicate names, of which the last counts": (b'{"n":1,"n":2}', {"n": 2}),
    "names with a special meaning": (b'{"__proto__":{"$ref":"#/"}}', {"__proto__": {"$ref": "#/"}}),
    "composed and decomposed accents": ('{"é":1,"e\u0301":2}'.encode(), {"é": 1, "e\u0301": 2}),
}
"""Objects that free-form fields store unchanged, and the value that is read back."""

_PLACEHOLDER: Final = "a hole in a body"


@dataclass(frozen=True)
class BodyLocation:
    """A location in a documented body. `path` has the names that lead to it, and `[]` for an element of a list."""

    model: str
    path: tuple[str, ...]
    schemas: tuple[Mapping[str, Any], ...]
    """The schemas along the path. The last one is that of the location."""

    def __str__(self) -> str:
        return ".".join((self.model, *self.path))

    def body(self, value: bytes) -> bytes:
        """Return the model's example with a value at this location."""
        return json.dumps(self._fill(0)).replace(f'"{_PLACEHOLDER}"', "%s", 1).encode() % value

    def example_element(self) -> Any:
        """Return an example of an element of the list at this location."""
        elements = example_for_schema(self.schemas[-1], openapi_document()["components"]["schemas"])
        return elements[0] if elements else _example(self.schemas[-1]["items"])

    def _fill(self, at: int) -> Any:
        if at == len(self.path):
            return _PLACEHOLDER
        inner = self._fill(at + 1)
        if self.path[at] == "[]":
            return [inner]
        container = _example(self.schemas[at])
        own_id = {"id": f"{container['id']}-{at}"} if "id" in container else {}
        return {**container, **own_id, self.path[at]: inner}


def find_locations(model: str, kind: str) -> Iterator[BodyLocation]:
    """Yield the locations in a model that are `lists` or `free`-form objects."""
    for path, schemas in _walk_schema({"$ref": f"#/components/schemas/{model}"}, (), (), frozenset()):
        types = schemas[-1].get("type")
        is_list = "items" in schemas[-1]
        is_free_form = "object" in (types or ()) and schemas[-1].get("additionalProperties") is True
        if (kind == "lists" and is_list) or (kind == "free" and is_free_form and "properties" not in schemas[-1]):
            yield BodyLocation(model, path, schemas)


def _walk_schema(schema: Any, path: Any, ancestors: Any, seen_schemas: frozenset[str]) -> Iterator[tuple[Any, Any]]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen_schemas:
            yield from _walk_schema(
                openapi_document()["components"]["schemas"][name], path, ancestors, seen_schemas | {name}
            )
        return
    alternatives = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    for alternative in alternatives:
        yield from _walk_schema(alternative, path, ancestors, seen_schemas)
    if alternatives:
        return
    yield path, (*ancestors, schema)
    for name, field in schema.get("properties", {}).items():
        yield from _walk_schema(field, (*path, name), (*ancestors, schema), seen_schemas)
    if "items" in schema:
        yield from _walk_schema(schema["items"], (*path, "[]"), (*ancestors, schema), seen_schemas)


def _example(schema: Mapping[str, Any]) -> Any:
    schema_without_examples = {name: value for name, value in schema.items() if name not in ("default", "examples")}
    return example_for_schema(schema_without_examples, openapi_document()["components"]["schemas"])
