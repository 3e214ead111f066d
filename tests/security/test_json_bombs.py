"""JSON that breaks parsers: each operation rejects it with a problem before any effect."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import MAX_BODY_BYTES, validate_body
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_operations
from tests.security.json_bombs import (
    INVALID_BODIES,
    INVALID_OBJECTS,
    INVALID_VALUES,
    STORABLE_OBJECTS,
    BodyLocation,
    find_locations,
)

REJECTION_CODES: Final = ("400 malformed_json", "413 payload_too_large", "422 validation_failed")
MAX_READS: Final = 4
MAX_RESPONSE_LENGTH: Final = 64 * 1024
FREE_TEXT_FIELDS: Final = {
    "create_public_lead": ("website",),  # A honeypot: any value gets a successful response.
    "respond_to_invitation": ("token",),  # Any text: an invalid token is an unknown one.
    "resolve_platform_config": ("host", "path"),  # Any text: unknown hosts and paths resolve to nothing.
}
TEXT_LABELS: Final = ("a control character", "text that is too long")
FREE_FORM_LOCATIONS: Final = [
    (o, location)
    for o in all_operations()
    if o.body_model
    for location in find_locations(o.body_model.__name__, "free")
]
STORING_LOCATIONS: Final = [(o, location) for o, location in FREE_FORM_LOCATIONS if location.path != ("tokens",)]
"""All free-form locations but design tokens, whose text must be safe in a style sheet."""
LIST_LOCATIONS: Final = [
    (o, location)
    for o in all_operations()
    if o.body_model
    for location in find_locations(o.body_model.__name__, "lists")
]


def takes_a_body(operation: Operation) -> bool:
    return operation.method in ("POST", "PUT", "PATCH")


def for_each_location(locations: list[tuple[Operation, BodyLocation]]) -> pytest.MarkDecorator:
    """Parametrize a test with locations in the operations' bodies."""
    return pytest.mark.parametrize(
        ("operation", "location"), locations, ids=[f"{o.id}-{location}" for o, location in locations]
    )


def send(operation: Operation, world: TenantFixture, body: bytes) -> ApiResponse:
    return call_operation(operation, world, json=None, body=body, headers={"Content-Type": "application/json"})


def assert_rejected(operation: Operation, world: TenantFixture, body: bytes, label: str) -> None:
    """Assert that a body is rejected by a short problem before any write."""
    response = send(operation, world, body)
    assert response.status_and_code in REJECTION_CODES, f"{label}: {response.text[:500]}"
    assert len(response.text) < MAX_RESPONSE_LENGTH, f"{label}: {len(response.text)} characters"
    assert response.calls.call_names == response.calls.read_names, label
    assert len(response.calls.call_names) <= MAX_READS, label


def bodies_with_value(operation: Operation, world: TenantFixture, value: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each field with the example body in which it has the given value."""
    assert operation.body_model
    example_body = get_example(operation, world).body or {}
    for name in (field.alias or name for name, field in operation.body_model.model_fields.items()):
        other_members = [f"{json.dumps(n)}:{json.dumps(v)}".encode() for n, v in example_body.items() if n != name]
        yield name, b"{" + b",".join([*other_members, json.dumps(name).encode() + b":" + value]) + b"}"


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
    """Return an element that differs from those of other numbers."""
    if isinstance(element, dict):
        return {n: f"{v}{number}" if n.lower().endswith(("id", "key")) else v for n, v in element.items()}
    return f"{element}{number}" if isinstance(element, str) else element


@parametrize_operations(takes_a_body)
def test_invalid_bodies_are_rejected(operation, tenant):
    before = snapshots.items_by_key()
    for label, body in INVALID_BODIES.items():
        assert_rejected(operation, tenant, body, label)
    assert snapshots.items_by_key() == before


@parametrize_operations(lambda o: takes_a_body(o) and o.body_model)
def test_invalid_values_are_rejected_in_each_field(operation, tenant):
    before, free_text_fields = snapshots.items_by_key(), FREE_TEXT_FIELDS.get(operation.id, ())
    for label, value in INVALID_VALUES.items():
        for name, body in bodies_with_value(operation, tenant, value):
            if not (name in free_text_fields and label in TEXT_LABELS):
                assert_rejected(operation, tenant, body, f"{label} in {name}")
    assert snapshots.items_by_key() == before


@parametrize_operations(lambda o: o.id in FREE_TEXT_FIELDS)
def test_free_text_fields_accept_unusual_text(operation, tenant, restore_tenant):
    for name in FREE_TEXT_FIELDS[operation.id]:
        bodies = [
            body
            for label in TEXT_LABELS
            for field, body in bodies_with_value(operation, tenant, INVALID_VALUES[label])
            if field == name
        ]
        responses = []
        for body in bodies:
            restore_tenant()
            responses.append(send(operation, tenant, body))
        assert {response.status for response in responses} <= {operation.success, 404, 422}
        assert any(response.status != 422 for response in responses), (
            f"{name} no longer accepts any text: remove it from the list"
        )


@for_each_location(FREE_FORM_LOCATIONS)
def test_free_form_objects_that_cannot_be_stored_are_rejected(operation, location, tenant):
    before = snapshots.items_by_key()
    for label, value in INVALID_OBJECTS.items():
        assert_rejected(operation, tenant, location.body(value), label)
    assert snapshots.items_by_key() == before


@for_each_location(STORING_LOCATIONS)
def test_free_form_objects_are_stored_and_logged_unchanged(operation, location, tenant, restore_tenant):
    for label, (value, reads_back) in STORABLE_OBJECTS.items():
        restore_tenant()
        response = send(operation, tenant, location.body(value))
        assert response.status == operation.success, f"{label}: {response.text[:500]}"
        entry = tenant.api.get(f"{tenant.organization.path}/audit-log", caller=tenant.people.owner).json["items"][0]
        for document in (response.json, entry["data"]):
            assert reads_back in [*iter_objects(document)], label


def iter_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects within a JSON value."""
    if isinstance(value, dict):
        yield value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        yield from iter_objects(member)


@for_each_location(LIST_LOCATIONS)
def test_validation_time_is_linear_in_the_length_of_lists(
    operation,
    location,
    api,
):
    validation_seconds(operation, location, 2)  # Build what is built lazily.
    short_seconds, long_seconds = (
        min(validation_seconds(operation, location, length) for _ in range(2)) for length in (1_500, 6_000)
    )
    assert long_seconds < 9 * max(short_seconds, 0.001), "four times the elements should take about four times as long"
