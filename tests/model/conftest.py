"""Fixtures of the model tests: the initial state of stories, created once over HTTP and then restored."""

import time
from collections.abc import Callable, Mapping

import pytest

from chalicelib.kernel.outbound import webhook_client
from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.external_servers import stub_external_servers
from tests.harness.reference_data import load_small_dataset
from tests.harness.workers import Workers
from tests.model.fake_endpoints import FakeEndpoints
from tests.model.initial_state import run_initial_steps
from tests.model.model_run import ModelRun


@pytest.fixture(scope="session")
def people_by_username(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person, issuer: Issuer
) -> Mapping[str, Person]:
    """The people in a story, by username."""
    emmy = issuer.create_person("emmy", "Emmy Noether")
    return {person.username: person for person in (ada, grace, edith, mary, stranger, operator, emmy)}


@pytest.fixture
def begin_run(
    api: ApiClient,
    workers: Workers,
    clock: Clock,
    people_by_username: Mapping[str, Person],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], ModelRun]:
    """A function that begins a story in the initial state."""
    stub_external_servers(monkeypatch)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    initial_time = clock.freeze("2026-11-20T09:30:00.000Z")

    def create_initial_state() -> ModelRun:
        endpoints = FakeEndpoints()
        monkeypatch.setattr(webhook_client, "post_webhook", endpoints.post)
        load_small_dataset()
        return run_initial_steps(ModelRun(api, workers, clock, people_by_username, endpoints))

    def begin() -> ModelRun:
        clock.freeze(initial_time)
        initial = snapshots.create_or_restore(("the beginning of stories",), create_initial_state)
        clock.freeze(initial_time)
        clock.shift(seconds=initial.elapsed_seconds)
        story = initial.continue_from(api, workers, clock)
        monkeypatch.setattr(webhook_client, "post_webhook", story.endpoints.post)
        return story

    return begin
