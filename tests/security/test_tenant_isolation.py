"""What belongs to others is answered like what there is not: to the byte, and after as many calls of AWS."""

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

ONCE: Final = {"Idempotency-Key": "3f0c"}
SPARED: Final = ("join_platform", "leave_platform", "leave_space")
"""Are for those who have no role there, and find out themselves what they may know of: they take a read less where the
process has met the place."""


def keys_of(world: World) -> list[Caller]:
    return [world.key("admin"), world.key("read")]


def callers_of(operation: Operation, world: World, begin: Begin) -> list[Caller]:
    """Everybody who has no part in the place of others, and could do it at a place of their own."""
    keys = begin(keys_of) if operation.scope else []
    for key in keys:
        assert world.api.get("/status", as_=key).status == 200  # The process knows the key from now on.
    return [world.people.owner, world.people.member, world.people.operator, *keys]


def said(answer: Answer) -> tuple[Any, ...]:
    """All of an answer byte for byte, but for the id of its request and the path that was asked for."""
    headers = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
    text = answer.text.replace(answer.request_id, "REQUEST").replace(f'"{answer.path}"', '"PATH"')
    return answer.status, headers, text


def both(
    operation: Operation, world: World, foreign: Example, missing: Example, caller: Caller | None
) -> tuple[Answer, Answer]:
    """What somebody is told of what others have, and of what there is not."""
    once = ONCE if operation.method == "POST" else None
    return (
        perform(operation, world, foreign, as_=caller, headers=once),
        perform(operation, world, missing, as_=caller, headers=once),
    )


def asked(answer: Answer) -> list[str]:
    return sorted(answer.calls.names)


@by_operation(lambda o: isinstance(o.access, RequireRole) and not is_shown(o))
def test_foreign_container_is_indistinguishable_from_a_missing_one(operation: Operation, world: World, begin: Begin) -> None:
    assert isinstance(operation.access, RequireRole)
    example, needs = example_of(operation, world), operation.access
    foreign, missing = example.at(needs, world.rivals_own(needs.parameter)), example.at(needs)
    for caller in callers_of(operation, world, begin):
        theirs, nobodys = both(operation, world, foreign, missing, caller)
        again = perform(operation, world, foreign, as_=caller, headers=ONCE)
        assert theirs.status in (403, 404)
        assert said(theirs) == said(nobodys) == said(again)
        assert asked(theirs) == asked(again) == asked(nobodys) or operation.id in SPARED


# What a PUT names and isn't there, it makes.
@by_operation(lambda o: o.records and isinstance(o.access, RequireRole) and o.method != "PUT")
def test_foreign_record_is_indistinguishable_from_a_missing_one(operation: Operation, world: World) -> None:
    example = example_of(operation, world)
    world.met()
    for record in operation.records.values():
        name = record.parameter
        foreign, missing = example.but(**{name: world.rivals_own(name)}), example.of_nothing(name)
        for caller in (world.people.owner, world.people.member):
            theirs, nobodys = both(operation, world, foreign, missing, caller)
            assert theirs.status in (403, 404)
            assert said(theirs) == said(nobodys)
            assert asked(theirs) == asked(nobodys)
