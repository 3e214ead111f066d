"""What breaks readers of JSON, and where in the documented bodies there is room for it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.entrypoints.openapi.examples import example_of
from tests.harness.conformance import document

DEEP: Final = 100_000
_DIGITS: Final = 5_000
"""More than a whole number may have where Python reads one."""

WHOLE: Final[Mapping[str, bytes]] = {
    "lists in lists": b"[" * DEEP + b"]" * DEEP,
    "objects in objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "lists that never end": b"[" * 1_000_000,
    "many members": b"{" + b",".join(b'"%d":1' % n for n in range(20_000)) + b"}",
    "more than a mebibyte": b"{}" + b" " * (1 << 20),
    "a name without end": b'{"' + b"x/" * 100_000 + b'":1}',
    "no text": b"\xff\xfe\x00{}",
    "overlong UTF-8": b'{"name":"\xc0\x80"}',
    "a surrogate in UTF-8": b'{"name":"\xed\xa0\x80"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"name":"x"}'.encode("utf-16"),
    "a zero behind it": b"{}\x00",
    "two of them": b"{}{}",
    "a name that is half a character": b'{"\\ud800":1}',
    "a name that is a control character": b'{"\\u0000":1}',
    "names that mean something to programs": b'{"__proto__":{"a":1},"__class__":1,"constructor":{"prototype":{}}}',
}
"""Bodies that no operation takes."""

VALUES: Final[Mapping[str, bytes]] = {
    "lists in lists": b"[" * 150 + b"]" * 150,
    "objects in objects": b'{"a":' * 150 + b"1" + b"}" * 150,
    "a number beyond all": b"1e999999",
    "one below all": b"-1e999999",
    "one of many digits": b"9" * 4_000,
    "one of too many digits": b"9" * _DIGITS,
    "no number": b"NaN",
    "infinity": b"-Infinity",
    "half a character": b'"\\ud800"',
    "halves in disorder": b'"\\udc00\\ud800"',
    "a control character": b'"\\u0000"',
    "text that is too long": b'"' + b"x" * 66_000 + b'"',
}
"""Values that fields refuse."""

INSIDE: Final[Mapping[str, bytes]] = {
    "objects in objects": b'{"a":' * 60 + b"1" + b"}" * 60,
    "lists in lists": b'{"a":' + b"[" * 60 + b"]" * 60 + b"}",
    "a number beyond all": b'{"n":[1e999999]}',
    "one of many digits": b'{"n":' + b"9" * 4_000 + b"}",
    "one of too many digits": b'{"n":' + b"9" * _DIGITS + b"}",
    "no number": b'{"n":[NaN]}',
    "half a character": b'{"n":"\\ud800"}',
    "a name that is half a character": b'{"\\ud800":1}',
    "no name": b'{"n":{"":1}}',
    "many members": b"{" + b",".join(b'"%d":1' % n for n in range(10_000)) + b"}",
    "a name without end": b'{"' + b"n" * 66_000 + b'":1}',
}
"""Objects that no field keeps, be it ever so free in form."""

KEPT: Final[Mapping[str, tuple[bytes, Any]]] = {
    "control characters": (b'{"n":"a\\u0000\\u001f\\u007f"}', {"n": "a\x00\x1f\x7f"}),
    "lines and directions": (b'{"n":"\\u2028\\u202e\\ufeff\\r\\n"}', {"n": "\u2028\u202e\ufeff\r\n"}),
    "what stands beyond the first plane": (b'{"\\ud83d\\ude00":"\\ud83d\\ude00"}', {"😀": "😀"}),
    "the last of two of one name": (b'{"n":1,"n":2}', {"n": 2}),
    "names that mean something to programs": (b'{"__proto__":{"$ref":"#/"}}', {"__proto__": {"$ref": "#/"}}),
    "accents apart and together": ('{"é":1,"e\u0301":2}'.encode(), {"é": 1, "e\u0301": 2}),
}
"""Objects that it keeps as they are; what reads back."""

_HOLE: Final = "a hole in a body"


@dataclass(frozen=True)
class Place:
    """Where in a documented body something can be put: the names that lead there, `[]` for an element of a list."""

    model: str
    path: tuple[str, ...]
    schemas: tuple[Mapping[str, Any], ...]
    """What is on the way, with what is there as the last."""

    def __str__(self) -> str:
        return ".".join((self.model, *self.path))

    def body(self, value: bytes) -> bytes:
        """Return the model's example with this value there."""
        return json.dumps(self._filled(0)).replace(f'"{_HOLE}"', "%s", 1).encode() % value

    def element(self) -> Any:
        """Return an example of the elements of the list that is there."""
        listed = example_of(self.schemas[-1], document()["components"]["schemas"])
        return listed[0] if listed else _example(self.schemas[-1]["items"])

    def _filled(self, at: int) -> Any:
        if at == len(self.path):
            return _HOLE
        inner = self._filled(at + 1)
        if self.path[at] == "[]":
            return [inner]
        around = _example(self.schemas[at])
        own = {"id": f"{around['id']}-{at}"} if "id" in around else {}
        return {**around, **own, self.path[at]: inner}


def places(model: str, kind: str) -> Iterator[Place]:
    """Yield where a model has something of a kind: `lists`, or what is `free` in form."""
    for path, schemas in _walked({"$ref": f"#/components/schemas/{model}"}, (), (), frozenset()):
        types = schemas[-1].get("type")
        is_list = "items" in schemas[-1]
        free = "object" in (types or ()) and schemas[-1].get("additionalProperties") is True
        if (kind == "lists" and is_list) or (kind == "free" and free and "properties" not in schemas[-1]):
            yield Place(model, path, schemas)


def _walked(schema: Any, path: Any, above: Any, seen: frozenset[str]) -> Iterator[tuple[Any, Any]]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from _walked(document()["components"]["schemas"][name], path, above, seen | {name})
        return
    alternatives = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    for alternative in alternatives:
        yield from _walked(alternative, path, above, seen)
    if alternatives:
        return
    yield path, (*above, schema)
    for name, field in schema.get("properties", {}).items():
        yield from _walked(field, (*path, name), (*above, schema), seen)
    if "items" in schema:
        yield from _walked(schema["items"], (*path, "[]"), (*above, schema), seen)


def _example(schema: Mapping[str, Any]) -> Any:
    bare = {name: value for name, value in schema.items() if name not in ("default", "examples")}
    return example_of(bare, document()["components"]["schemas"])
