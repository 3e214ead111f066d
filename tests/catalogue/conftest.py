"""What the suites that hold for every operation share: a world to call it in, each time as it was first made."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import pytest

from tests.catalogue import snapshots
from tests.catalogue.world import People, World
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.workers import Workers

_made: Final[dict[tuple[object, ...], tuple[Any, snapshots.Snapshot]]] = {}
T = TypeVar("T")
Begin = Callable[..., Any]


@pytest.fixture(scope="session")
def people(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person, issuer: Issuer
) -> People:
    """Who is in the world."""
    return People(ada, grace, edith, mary, stranger, operator, issuer)


@pytest.fixture
def world(api: Api, workers: Workers, people: People) -> World:
    """An organization with its people, and another beside it."""
    made = _once(("world",), lambda: World.made(api, workers, people))
    return replace(made, api=api, workers=workers)


@pytest.fixture
def begin(world: World) -> Begin:
    """Begin with what a function has made of the world: `begin(function, *arguments)` calls it but once.

    Without a function the world is as it was made.
    """

    def begin(prepare: Callable[..., T] | None = None, *arguments: object) -> T | None:
        if prepare is None or (prepare, *arguments) not in _made:
            _once(("world",), lambda: world)  # What the test did before is no part of a beginning.
        return _once((prepare, *arguments), lambda: prepare(world, *arguments)) if prepare else None

    return begin


def _once(name: tuple[object, ...], make: Callable[[], T]) -> T:
    if name not in _made:
        _made[name] = (make(), snapshots.taken())
    made, snapshot = _made[name]
    snapshots.put_back(snapshot)
    found: T = made
    return found
