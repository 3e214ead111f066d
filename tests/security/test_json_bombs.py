"""JSON that breaks parsers: each operation rejects it with a problem before any effect."""

import json
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.entrypoints.openapi.examples import example_for_schema
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import MAX_BODY_BYTES, validate_body
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, field_names, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.conformance import openapi_document
from tests.harness.parametrize_operations import (
    body_rule_of,
    parametrize_operations,
    parametrize_representatives,
    takes_a_body,
)

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
        components, items = openapi_document()["components"]["schemas"], self.schemas[-1]["items"]
        if elements := example_for_schema(self.schemas[-1], components):
            return elements[0]
        return example_for_schema(items, components) if "examples" in items else _example(items)

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


INVALID: Final = ("400 malformed_json", "422 validation_failed")
MAX_READS: Final = 4
MAX_RESPONSE_LENGTH: Final = 64 * 1024
FREE_TEXT_FIELDS: Final = {
    "create_public_lead": ("website",),  # A honeypot: any value gets a successful response.
    "respond_to_invitation": ("token",),  # Any text: an invalid token is an unknown one.
    "resolve_platform_config": ("host", "path"),  # Any text: unknown hosts and paths resolve to nothing.
}
TEXT_LABELS: Final = ("a control character", "text that is too long")


def locations(kind: str) -> list[tuple[Operation, BodyLocation]]:
    models = [(operation, operation.body_model) for operation in all_operations() if operation.body_model]
    return [(operation, location) for operation, model in models for location in find_locations(model.__name__, kind)]


def for_each_location(operations_and_locations: list[tuple[Operation, BodyLocation]]) -> pytest.MarkDecorator:
    """Parametrize a test with locations in the operations' bodies."""
    ids = [f"{operation.id}-{location}" for operation, location in operations_and_locations]
    return pytest.mark.parametrize(("operation", "location"), operations_and_locations, ids=ids)


def send(operation: Operation, tenant: TenantFixture, body: bytes) -> ApiResponse:
    return call_operation(operation, tenant, json=None, body=body, headers={"Content-Type": "application/json"})


def assert_rejected(
    operation: Operation, tenant: TenantFixture, body: bytes, label: str, *problems: str
) -> ApiResponse:
    """Assert that a body is rejected by a short problem before any write, and return the response."""
    response = send(operation, tenant, body)
    assert response.status_and_code in problems, f"{label}: {response.text[:500]}"
    assert len(response.text) < MAX_RESPONSE_LENGTH, f"{label}: {len(response.text)} characters"
    assert response.calls.call_names == response.calls.read_names, label
    assert len(response.calls.call_names) <= MAX_READS, label
    return response


def body_with_value(operation: Operation, tenant: TenantFixture, names: Collection[str], value: bytes) -> bytes:
    """Return the example body in which these fields have the given value."""
    members = {
        name: json.dumps(member).encode() for name, member in (get_example(operation, tenant).body or {}).items()
    }
    members |= dict.fromkeys(names, value)
    return b"{" + b",".join(json.dumps(name).encode() + b":" + member for name, member in members.items()) + b"}"


def validation_seconds(operation: Operation, location: BodyLocation, length: int) -> float:
    """Return the CPU seconds of the validation of a body with a list of this length."""
    assert operation.body_model
    elements = json.dumps([make_unique(location.example_element(), n) for n in range(length)]).encode()
    request = Request(operation.method, "/", {}, {}, {}, location.body(elements), "id", "192.0.2.7")
    assert len(request.body) < MAX_BODY_BYTES
    started_at = time.process_time()
    with suppress(ValidationProblem):
        validate_body(operation.body_model, request, {})
    return time.process_time() - started_at


def make_unique(element: Any, number: int) -> Any:
    if isinstance(element, dict):
        return {n: f"{v}{number}" if n.lower().endswith(("id", "key")) else v for n, v in element.items()}
    return f"{element}{number}" if isinstance(element, str) else element


@parametrize_representatives(body_rule_of, takes_a_body)
def test_invalid_bodies_are_rejected(operation, tenant, unchanged):
    for label, body in INVALID_BODIES.items():
        larger_limit = operation.max_body_bytes - MAX_BODY_BYTES if label == "more than 1 MiB" else 0
        padded = body + b" " * larger_limit
        assert_rejected(operation, tenant, padded, label, REJECTIONS.get(label, "400 malformed_json"))


@parametrize_operations(lambda o: takes_a_body(o) and o.body_model)
def test_invalid_values_are_rejected_in_each_field(operation, tenant, unchanged):
    for label, value in INVALID_VALUES.items():
        free_text_fields = FREE_TEXT_FIELDS.get(operation.id, ()) if label in TEXT_LABELS else ()
        invalid = {*field_names(operation.body_model)} - {*free_text_fields}
        body = body_with_value(operation, tenant, invalid, value)
        response = assert_rejected(operation, tenant, body, label, *INVALID) if invalid else None
        if response and response.status == 422:
            assert {pointer.split("/")[1] for pointer in response.errors} >= invalid, label


@parametrize_operations(lambda o: o.id in FREE_TEXT_FIELDS)
def test_free_text_fields_accept_unusual_text(operation, tenant, restore_tenant):
    for name in FREE_TEXT_FIELDS[operation.id]:
        responses = []
        for label in TEXT_LABELS:
            restore_tenant()
            responses.append(send(operation, tenant, body_with_value(operation, tenant, [name], INVALID_VALUES[label])))
        statuses = {response.status for response in responses}
        assert statuses <= {operation.success, 404, 422}
        assert statuses != {422}, f"{name} no longer accepts any text: remove it from the list"


@for_each_location(locations("free"))
def test_free_form_objects_that_cannot_be_stored_are_rejected(operation, location, tenant, unchanged):
    for label, value in INVALID_OBJECTS.items():
        assert_rejected(operation, tenant, location.body(value), label, *INVALID)


# The text of design tokens must be safe in a style sheet, a schema must be one, and the data of events must match one.
@for_each_location([each for each in locations("free") if each[1].path[-1] not in ("tokens", "schema", "data")])
def test_free_form_objects_are_stored_and_logged_unchanged(operation, location, tenant, restore_tenant):
    for label, (value, reads_back) in STORABLE_OBJECTS.items():
        restore_tenant()
        response = send(operation, tenant, location.body(value))
        assert response.status == operation.success, f"{label}: {response.text[:500]}"
        entry = tenant.api.get(f"{tenant.organization.path}/audit-log", caller=tenant.people.owner).json["items"][0]
        for document in (response.json, entry["data"]):
            assert reads_back in [*iter_objects(document)], label


def iter_objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        yield from iter_objects(member)


@for_each_location(locations("lists"))
def test_validation_time_is_linear_in_the_length_of_lists(operation, location, api):
    validation_seconds(operation, location, 2)  # Build what is built lazily.
    short_seconds, long_seconds = (
        min(validation_seconds(operation, location, length) for _ in range(2)) for length in (500, 2_000)
    )
    assert long_seconds < 9 * max(short_seconds, 0.001), "four times the elements should take about four times as long"
