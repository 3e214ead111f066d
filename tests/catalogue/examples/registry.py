"""Every operation's example, found by the operation's feature."""

from importlib import import_module
from types import ModuleType
from typing import Any

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.example import Example
from tests.catalogue.tenant_fixture import World
from tests.harness.api import Answer
from tests.harness.callers import Person


def example_of(operation: Operation, world: World) -> Example:
    """Return an operation's example in a world."""
    name = feature_of(operation)
    made = _module(name).EXAMPLES.get(operation.id)
    assert made, f"{operation.id} has no example: give it one in tests/catalogue/examples/{name.replace('.', '_')}.py"
    found: Example = made(world)
    return found


def caller_of(operation: Operation, world: World) -> Person | None:
    """Return who has just the right to an operation's example, and no more; None needs no credential."""
    return example_of(operation, world).only or world.entitled(operation)


def perform(operation: Operation, world: World, example: Example | None = None, **words: Any) -> Answer:
    """Call an operation as its example says, or another; `words` are those of `Api.request`.

    The caller is who has just the right to it, and the body is the example's, unless the words say otherwise; what
    they say of the query and of headers is added to the example's.
    """
    example = example or example_of(operation, world)
    sent = {"as_": example.only or world.entitled(operation), "json": example.body} | words
    sent["query"] = {**example.query, **(words.get("query") or {})}
    sent["headers"] = {**example.headers, **(words.get("headers") or {})}
    return world.api.request(operation.method, example.path(operation), **sent)


def look(operation: Operation, world: World, path: str) -> Answer:
    """Return what stands at a path, to whom nothing of the kind is hidden that the operation is about."""
    sees_all = world.people.operator if operation.access is Caller.OPERATOR else world.people.owner
    return world.api.get(path, as_=sees_all, headers=example_of(operation, world).headers)


def crowd(world: World, number: int) -> None:
    """Put so many neighbours beside whatever the examples look at, in every feature."""
    for name in sorted({feature_of(operation) for operation in operations()}):
        crowd_of(name, world, number)


def crowd_of(feature: str, world: World, number: int) -> None:
    """Put so many neighbours beside whatever the examples of one feature look at."""
    _module(feature).crowd(world, number)


def feature_of(operation: Operation) -> str:
    """Return the name of an operation's feature: its package below `chalicelib.features`, or its entrypoint."""
    return operation.function.__module__.removeprefix("chalicelib.").partition(".")[2].removesuffix(".operations")


def _module(name: str) -> ModuleType:
    return import_module(f"tests.catalogue.examples.{name.replace('.', '_')}")
