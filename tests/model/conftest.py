"""Fixtures of the model tests: the initial state of stories, created once over HTTP and then restored."""

import time
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from chalicelib.kernel.outbound import webhook_client
from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.event_types import declare_event_type
from tests.harness.external_servers import stub_external_servers
from tests.harness.reference_data import load_small_dataset
from tests.harness.workers import Workers
from tests.model.model_run import FakeEndpoints, ModelRun
from tests.model.service_model import SYSTEM, ExpectedEntry, Json


def _sender(who: str | int = "ada") -> Json:
    return {"by": {"who": who}}


def _invite_and_accept(whom: str, role: str) -> list[tuple[str, Json]]:
    return [
        ("invite_to_organization", {**_sender(), "place": 0, "whom": whom, "role": role, "days": 7}),
        ("respond_as_invitee", {**_sender(), "invitation": 0, "decision": "accept", "link_choice": 1}),
    ]


INITIAL_STEPS: Final[list[tuple[str, Json]]] = [
    ("create_organization", {**_sender("stranger"), "fields": {"name": "Rivals", "slug": "rivals"}}),
    ("create_webhook", {**_sender("stranger"), "place": 0, "fields": {}}),
    ("create_platform", {**_sender("stranger"), "place": 0, "fields": {"name": "Rivals' own"}}),
    ("create_organization", {**_sender(), "fields": {"name": "Bletchley", "slug": "bletchley"}}),
    ("create_webhook", {**_sender(), "place": 0, "fields": {}}),
    ("create_integration_channel", {**_sender(), "place": 0, "fields": {}}),
    ("create_log_stream", {**_sender(), "place": 0, "fields": {"startAt": 1}, "layout": "ndjson"}),
    ("create_service_key", {**_sender("operator"), "scopes": ["events:write"], "types": None, "days": 40}),
    *_invite_and_accept("grace", "admin"),
    *_invite_and_accept("edith", "editor"),
    *_invite_and_accept("mary", "member"),
    *(
        ("create_api_key", {**_sender(), "place": 0, "name": "Key", "scopes": scopes, "days": None})
        for scopes in (["read"], ["write"], ["admin"], ["members:write"])
    ),
    ("create_platform", {**_sender(), "place": 0, "fields": {"name": "Engines", "joinPolicy": "open"}}),
    ("create_space", {**_sender("grace"), "platform": 0, "fields": {"name": "Looms"}}),
    ("create_space", {**_sender(), "platform": 0, "fields": {"name": "Mills", "visibility": "private"}}),
    ("update_platform_member", {**_sender(), "platform": 0, "whom": "edith", "role": "editor"}),
    ("create_taxonomy_node", {**_sender(), "platform": 0, "letter": "a", "parent": None}),
    ("create_taxonomy_node", {**_sender(), "platform": 0, "letter": "b", "parent": 0}),
    ("create_site", {**_sender(), "place": 0, "fields": {"name": "The mill"}}),
    ("publish_site", {**_sender(), "site": 0, "status": "published"}),
    ("create_page", {**_sender(), "site": 0, "slug": "a", "parent": None, "home": False}),
    ("create_page", {**_sender(), "site": 0, "slug": "b", "parent": None, "home": False}),
    ("publish_page", {**_sender(), "page": 0, "earlier": 3}),
    ("create_event", {**_sender(), "place": 0, "event_type": "invoice.approved", "amount": 2}),
    ("create_public_lead", {**_sender("nobody"), "name": "Charles", "message": None}),
    ("settle", {}),
]
"""Two organizations, their members, and a record of each kind."""


@pytest.fixture(scope="session")
def people_by_username(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person, issuer: Issuer
) -> Mapping[str, Person]:
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
        run = ModelRun(api, workers, clock, people_by_username, endpoints)
        operator = people_by_username["operator"]
        declare_event_type(api, operator)
        declaration = ExpectedEntry("system.event_type.created", "invoice.approved", operator.id, "put_event_type")
        run.model.expected_entries[SYSTEM] = [declaration]
        run.model.event_types["invoice.approved"] = {"deprecated": False, "min_amounts": [1]}
        for name, arguments in INITIAL_STEPS:
            run.execute_step(name, arguments)
        return run

    def begin() -> ModelRun:
        clock.freeze(initial_time)
        initial = snapshots.create_or_restore(("the beginning of stories",), create_initial_state)
        clock.freeze(initial_time)
        clock.shift(seconds=initial.elapsed_seconds)
        story = initial.continue_from(api, workers, clock)
        monkeypatch.setattr(webhook_client, "post_webhook", story.endpoints.post)
        return story

    return begin
