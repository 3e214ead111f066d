"""Responses for foreign and missing records are equal byte for byte, after the same AWS calls."""

from typing import Any, Final

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.example import Example
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.catalogue.test_permissions import is_shown
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.callers import Caller

IDEMPOTENCY_HEADERS: Final = {"Idempotency-Key": "3f0c"}
EXEMPT_OPERATIONS: Final = ("join_platform", "leave_platform", "leave_space")
"""Operations for callers without a role, which check visibility themselves. They make one read less if the process has
the container cached."""


def create_keys(world: World) -> list[Caller]:
    return [world.key("admin"), world.key("read")]


def callers_without_access(operation: Operation, world: World, begin: Begin) -> list[Caller]:
    """Return callers without access to the foreign container who could call the operation in their own."""
    keys = begin(create_keys) if operation.scope else []
    for key in keys:
        assert world.api.get("/status", as_=key).status == 200  # Let the process cache the key.
    return [world.people.owner, world.people.member, world.people.operator, *keys]


def comparable(response: Answer) -> tuple[Any, ...]:
    """Return all parts of a response but its request id and path."""
    headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
    text = response.text.replace(response.request_id, "REQUEST").replace(f'"{response.path}"', '"PATH"')
    return response.status, headers, text


def request_both(
    operation: Operation, world: World, foreign: Example, missing: Example, caller: Caller | None
) -> tuple[Answer, Answer]:
    """Return the responses for a foreign and for a missing record."""
    headers = IDEMPOTENCY_HEADERS if operation.method == "POST" else None
    return (
        perform(operation, world, foreign, as_=caller, headers=headers),
        perform(operation, world, missing, as_=caller, headers=headers),
    )


def call_names(response: Answer) -> list[str]:
    return sorted(response.calls.names)


@by_operation(lambda o: isinstance(o.access, RequireRole) and not is_shown(o))
def test_foreign_container_is_indistinguishable_from_a_missing_one(
    operation: Operation, world: World, begin: Begin
) -> None:
    assert isinstance(operation.access, RequireRole)
    example, rule = example_of(operation, world), operation.access
    foreign, missing = example.at(rule, world.rivals_own(rule.parameter)), example.at(rule)
    for caller in callers_without_access(operation, world, begin):
        foreign_response, missing_response = request_both(operation, world, foreign, missing, caller)
        repeated_response = perform(operation, world, foreign, as_=caller, headers=IDEMPOTENCY_HEADERS)
        assert foreign_response.status in (403, 404)
        assert comparable(foreign_response) == comparable(missing_response) == comparable(repeated_response)
        assert (
            call_names(foreign_response) == call_names(repeated_response) == call_names(missing_response)
            or operation.id in EXEMPT_OPERATIONS
        )


# A PUT creates missing records.
@by_operation(lambda o: o.records and isinstance(o.access, RequireRole) and o.method != "PUT")
def test_foreign_record_is_indistinguishable_from_a_missing_one(operation: Operation, world: World) -> None:
    example = example_of(operation, world)
    world.met()
    for record in operation.records.values():
        name = record.parameter
        foreign, missing = example.but(**{name: world.rivals_own(name)}), example.of_nothing(name)
        for caller in (world.people.owner, world.people.member):
            foreign_response, missing_response = request_both(operation, world, foreign, missing, caller)
            assert foreign_response.status in (403, 404)
            assert comparable(foreign_response) == comparable(missing_response)
            assert call_names(foreign_response) == call_names(missing_response)
