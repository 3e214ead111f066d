"""Fixtures of the suites that check every operation: a populated tenant, restored for each test."""

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
    """The people of the tenant and of the rivals' organization."""
    emmy = issuer.person("emmy", "Emmy Noether")
    return People(ada, grace, edith, mary, emmy, stranger, operator, issuer)


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stubs for the servers outside of the service, which accept all requests."""
    let_them_take_everything(monkeypatch)


@pytest.fixture
def world(api: Api, workers: Workers, people: People, mailbox: Mailbox, strangers: None) -> World:  # noqa: ARG001
    """Two populated organizations, with e-mail and webhooks configured."""
    tenant = snapshots.once(("world",), lambda: World.made(api, workers, people))
    return replace(tenant, api=api, workers=workers)


@pytest.fixture
def begin(world: World) -> Begin:
    """A function that restores the tenant, optionally as another function has prepared it.

    Given a function and arguments, it calls the function only the first time and restores the resulting state later.
    """

    def begin(prepare: Callable[..., T] | None = None, *arguments: object) -> T | None:
        snapshots.once(("world",), lambda: world)  # Discard the changes of the test so far.
        return snapshots.once((prepare, *arguments), lambda: prepare(world, *arguments)) if prepare else None

    return begin


@pytest.fixture(autouse=True)
def _as_documented() -> Iterator[None]:
    """Check that every log record conforms to `docs/operations/logs.md`."""
    with written() as records:
        yield
    assert [error for record in records for error in faults_of(record)] == []
