"""Finds and calls the examples of all operations."""

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
    """Return the example of an operation for a tenant."""
    name = feature_of(operation)
    create_example = _module(name).EXAMPLES.get(operation.id)
    assert create_example, (
        f"{operation.id} has no example: add one to tests/catalogue/examples/{name.replace('.', '_')}.py"
    )
    example: Example = create_example(world)
    return example


def caller_of(operation: Operation, world: World) -> Person | None:
    """Return the least privileged caller of an operation's example, or None if it is anonymous."""
    return example_of(operation, world).only or world.entitled(operation)


def perform(operation: Operation, world: World, example: Example | None = None, **options: Any) -> Answer:
    """Call an operation with its example, or another one. `options` are those of `Api.request`.

    The default caller is the least privileged one. Options replace the caller and the body of the example, and extend
    its query and headers.
    """
    example = example or example_of(operation, world)
    request_options = {"as_": example.only or world.entitled(operation), "json": example.body} | options
    request_options["query"] = {**example.query, **(options.get("query") or {})}
    request_options["headers"] = {**example.headers, **(options.get("headers") or {})}
    return world.api.request(operation.method, example.path(operation), **request_options)


def look(operation: Operation, world: World, path: str) -> Answer:
    """Read a path as a caller who sees all records of the operation's kind."""
    reader = world.people.operator if operation.access is Caller.OPERATOR else world.people.owner
    return world.api.get(path, as_=reader, headers=example_of(operation, world).headers)


def crowd(world: World, number: int) -> None:
    """Add neighbours to the records that the examples read, in every feature."""
    for name in sorted({feature_of(operation) for operation in operations()}):
        crowd_of(name, world, number)


def crowd_of(feature: str, world: World, number: int) -> None:
    """Add neighbours to the records that the examples of a feature read."""
    _module(feature).add_neighbours(world, number)


def feature_of(operation: Operation) -> str:
    """Return the name of an operation's feature: its package below `chalicelib.features`, or its entrypoint."""
    return operation.function.__module__.removeprefix("chalicelib.").partition(".")[2].removesuffix(".operations")


def _module(name: str) -> ModuleType:
    return import_module(f"tests.catalogue.examples.{name.replace('.', '_')}")
