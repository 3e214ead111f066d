"""JSON made to break what reads it: each operation that takes a body refuses it in words, before it has any effect."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import MAX_BODY_BYTES, validate_body
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.api import Answer, Api
from tests.harness.by_operation import by_operation
from tests.security.json_bombs import INSIDE, KEPT, VALUES, WHOLE, Place, places

REFUSED: Final = ("400 malformed_json", "413 payload_too_large", "422 validation_failed")
MOST_READS: Final = 4
MOST_SENT_BACK: Final = 64 * 1024
TAKES_ALL_TEXT: Final = {
    "create_public_lead": ("website",),  # A trap for programs: whatever is in it, they are told that all is well.
    "respond_to_invitation": ("token",),  # Any text: what is no token is one that nobody has.
    "resolve_platform_config": ("host", "path"),  # Any text: what leads nowhere leads nowhere.
}
TEXT: Final = ("a control character", "text that is too long")
FREE: Final = [(o, place) for o in operations() if o.body for place in places(o.body.__name__, "free")]
KEEPS: Final = [(o, place) for o, place in FREE if place.path != ("tokens",)]
"""Design tokens are text that can stand in a style sheet; all others keep any."""
LISTS: Final = [(o, place) for o in operations() if o.body for place in places(o.body.__name__, "lists")]


def takes_a_body(operation: Operation) -> bool:
    return operation.method in ("POST", "PUT", "PATCH")


def at_each(found: list[tuple[Operation, Place]]) -> pytest.MarkDecorator:
    """Run a test for each place in the operations' bodies."""
    return pytest.mark.parametrize(("operation", "place"), found, ids=[f"{o.id}-{place}" for o, place in found])


def sent(operation: Operation, world: World, body: bytes) -> Answer:
    return perform(operation, world, json=None, body=body, headers={"Content-Type": "application/json"})


def refused(operation: Operation, world: World, body: bytes, why: str) -> None:
    """Assert that a body is refused as one, in a few words, before anything is written or told."""
    answer = sent(operation, world, body)
    assert answer.code in REFUSED, f"{why}: {answer.text[:500]}"
    assert len(answer.text) < MOST_SENT_BACK, f"{why}: {len(answer.text)} characters"
    assert answer.calls.names == answer.calls.reads, why
    assert len(answer.calls.names) <= MOST_READS, why


def with_value(operation: Operation, world: World, value: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each field, and the example's body with a value in place of that field's own."""
    assert operation.body
    usual = example_of(operation, world).body or {}
    for name in (field.alias or name for name, field in operation.body.model_fields.items()):
        others = [f"{json.dumps(n)}:{json.dumps(v)}".encode() for n, v in usual.items() if n != name]
        yield name, b"{" + b",".join([*others, json.dumps(name).encode() + b":" + value]) + b"}"


def parsing(operation: Operation, place: Place, length: int) -> float:
    """Return the seconds of CPU that it takes to read, or refuse, a body whose list there is so long."""
    assert operation.body
    elements = json.dumps([numbered(place.element(), n) for n in range(length)]).encode()
    request = Request(operation.method, "/", {}, {}, {}, place.body(elements), "id", "192.0.2.7")
    assert len(request.body) < MAX_BODY_BYTES
    began = time.process_time()
    with suppress(ValidationProblem):
        validate_body(operation.body, request, {})
    return time.process_time() - began


def numbered(element: Any, number: int) -> Any:
    """Return an element that is another than those of other numbers."""
    if isinstance(element, dict):
        return {n: f"{v}{number}" if n.lower().endswith(("id", "key")) else v for n, v in element.items()}
    return f"{element}{number}" if isinstance(element, str) else element


@by_operation(takes_a_body)
def test_invalid_bodies_are_rejected(operation: Operation, world: World) -> None:
    before = snapshots.stored()
    for why, whole in WHOLE.items():
        refused(operation, world, whole, why)
    assert snapshots.stored() == before


@by_operation(lambda o: takes_a_body(o) and o.body)
def test_invalid_values_are_rejected_in_each_field(operation: Operation, world: World) -> None:
    before, tolerant = snapshots.stored(), TAKES_ALL_TEXT.get(operation.id, ())
    for why, value in VALUES.items():
        for name, whole in with_value(operation, world, value):
            if not (name in tolerant and why in TEXT):
                refused(operation, world, whole, f"{why} in {name}")
    assert snapshots.stored() == before


@by_operation(lambda o: o.id in TAKES_ALL_TEXT)
def test_free_text_fields_accept_unusual_text(operation: Operation, world: World, begin: Begin) -> None:
    for name in TAKES_ALL_TEXT[operation.id]:
        bodies = [whole for why in TEXT for field, whole in with_value(operation, world, VALUES[why]) if field == name]
        answers = []
        for whole in bodies:
            begin()
            answers.append(sent(operation, world, whole))
        assert {answer.status for answer in answers} <= {operation.success, 404, 422}
        assert any(answer.status != 422 for answer in answers), f"{name} is no longer tolerant: take it off the list"


@at_each(FREE)
def test_free_form_objects_that_cannot_be_stored_are_rejected(
    operation: Operation, place: Place, world: World
) -> None:
    before = snapshots.stored()
    for why, value in INSIDE.items():
        refused(operation, world, place.body(value), why)
    assert snapshots.stored() == before


@at_each(KEEPS)
def test_free_form_objects_are_stored_and_logged_unchanged(
    operation: Operation, place: Place, world: World, begin: Begin
) -> None:
    for why, (value, reads_back) in KEPT.items():
        begin()
        answer = sent(operation, world, place.body(value))
        assert answer.status == operation.success, f"{why}: {answer.text[:500]}"
        entry = world.api.get(f"{world.organization.path}/audit-log", as_=world.people.owner).json["items"][0]
        for said in (answer.json, entry["data"]):
            assert reads_back in [*objects_of(said)], why


def objects_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects within a value of JSON."""
    if isinstance(value, dict):
        yield value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        yield from objects_of(member)


@at_each(LISTS)
def test_validation_time_is_linear_in_the_length_of_lists(operation: Operation, place: Place, api: Api) -> None:  # noqa: ARG001
    parsing(operation, place, 2)  # What is built when it is first needed is built.
    short, long = (min(parsing(operation, place, length) for _ in range(2)) for length in (1_500, 6_000))
    assert long < 9 * max(short, 0.001), "four times the elements should cost some four times the work"
