"""Fixtures of the model tests: the initial state of stories, created once over HTTP and then restored."""

import time
from collections.abc import Callable, Mapping

import pytest

from chalicelib.kernel.outbound import webhook_client
from tests.harness import snapshots
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.external_servers import let_them_take_everything
from tests.harness.reference import load_few
from tests.harness.workers import Workers
from tests.model.endpoints import Endpoints
from tests.model.initial_state import begun
from tests.model.story import Story


@pytest.fixture(scope="session")
def known(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person, issuer: Issuer
) -> Mapping[str, Person]:
    """The people in a story, by username."""
    emmy = issuer.person("emmy", "Emmy Noether")
    return {person.username: person for person in (ada, grace, edith, mary, stranger, operator, emmy)}


@pytest.fixture
def begin(
    api: Api, workers: Workers, clock: Clock, known: Mapping[str, Person], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Story]:
    """A function that begins a story in the initial state."""
    let_them_take_everything(monkeypatch)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    initial_time = clock.freeze("2026-11-20T09:30:00.000Z")

    def create_initial_state() -> Story:
        endpoints = Endpoints()
        monkeypatch.setattr(webhook_client, "post_webhook", endpoints.post)
        load_few()
        return begun(Story(api, workers, clock, known, endpoints))

    def begin() -> Story:
        clock.freeze(initial_time)
        initial = snapshots.once(("the beginning of stories",), create_initial_state)
        clock.freeze(initial_time)
        clock.shift(seconds=initial.seconds)
        story = initial.goes_on(api, workers, clock)
        monkeypatch.setattr(webhook_client, "post_webhook", story.endpoints.post)
        return story

    return begin
