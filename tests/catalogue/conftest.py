"""What the suites that hold for every operation share: a world to call it in, each time as it was first made."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from tests.catalogue.tenant_fixture import People, World
from tests.harness import snapshots
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.external_servers import let_them_take_everything
from tests.harness.log_fields import faults_of
from tests.harness.log_lines import written
from tests.harness.mailbox import Mailbox
from tests.harness.workers import Workers

T = TypeVar("T")
Begin = Callable[..., Any]


@pytest.fixture(scope="session")
def people(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person, issuer: Issuer
) -> People:
    """Who is in the world."""
    emmy = issuer.person("emmy", "Emmy Noether")
    return People(ada, grace, edith, mary, emmy, stranger, operator, issuer)


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers outside of the service, which take everything."""
    let_them_take_everything(monkeypatch)


@pytest.fixture
def world(api: Api, workers: Workers, people: People, mailbox: Mailbox, strangers: None) -> World:  # noqa: ARG001
    """An organization with its people, and another beside it, where mail and webhooks are sent."""
    made = snapshots.once(("world",), lambda: World.made(api, workers, people))
    return replace(made, api=api, workers=workers)


@pytest.fixture
def begin(world: World) -> Begin:
    """Begin with what a function has made of the world: `begin(function, *arguments)` calls it but once.

    Without a function the world is as it was made.
    """

    def begin(prepare: Callable[..., T] | None = None, *arguments: object) -> T | None:
        snapshots.once(("world",), lambda: world)  # What the test did before is no part of a beginning.
        return snapshots.once((prepare, *arguments), lambda: prepare(world, *arguments)) if prepare else None

    return begin


@pytest.fixture(autouse=True)
def _as_documented() -> Iterator[None]:
    """Hold every line that is written against `docs/operations/logs.md`."""
    with written() as lines:
        yield
    assert [fault for line in lines for fault in faults_of(line)] == []
