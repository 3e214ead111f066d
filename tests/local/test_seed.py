"""The seed, on the service in memory: the records it creates, repeated seeds, and seeds after an interruption."""

import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import takewhile
from typing import Any

import httpx
import pytest

from local.__main__ import main
from local.seed import seeding
from local.seed.callers import SeedFailed, Service
from local.seed.content.company import OWNER
from local.seed.content.events import EVENT_TYPES
from local.seed.leads import operator_caller
from local.seed.library import ensure_research_library
from local.seed.organization import Company, person_by_username
from local.seed.seeding import seed
from local.server.issuer import Issuer
from tests.harness import snapshots
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.seeded_service import InMemoryTransport, comparable_records, read_all_records
from tests.local.conftest import write_settings

SERVICE_URL = "http://127.0.0.1:8000"
Response = tuple[int, dict[str, str], Any]
FAILING_CHANGES = (12, *[45] * 20)
"""The change at which each seed is interrupted. The first interruption leaves an invitation without a response."""


@pytest.fixture(autouse=True)
def no_workers(monkeypatch):
    """Skip the step that waits for workers, because none runs here."""
    monkeypatch.setattr("local.seed.library.ensure_research_library", lambda *_: None)


@pytest.fixture
def create_service(configure, tmp_path):
    """A function that returns the service with a transport, as the seed calls it."""
    issuer = Issuer(tmp_path / "issuer")
    configure(**issuer.settings(), webhook_allow_private="1")
    with ExitStack() as services:

        def create(transport: InMemoryTransport) -> Service:
            service = Service.at_url(SERVICE_URL, issuer, transport)
            services.enter_context(service.http)
            return service

        yield create


@pytest.fixture
def service(api, create_service):
    return create_service(InMemoryTransport(api))


@pytest.fixture
def seeded_records(service):
    """All records that a seed creates."""
    return cached_scenario("seeded", lambda: seed(service) and read_all_records(service))


def values(records, collection, field):
    return {record[field] for record in records[collection]}


def test_organization_has_members_of_every_role_and_leads_and_invitations_of_every_status(seeded_records):
    roles = Counter(member["role"] for member in seeded_records["organizations/members"])
    assert roles["owner"] == 1
    assert min(roles[role] for role in ("admin", "editor", "member")) >= 2
    assert values(seeded_records, "organizations/invitations", "status") == {"accepted", "declined", "pending"}
    assert values(seeded_records, "platforms/members", "role") == {"admin", "editor", "member"}
    members = values(seeded_records, "organizations/members", "userId")
    assert values(seeded_records, "platforms/members", "userId") - members
    statuses = {"new", "contacted", "qualified", "converted", "unqualified", "spam"}  # all except withdrawn
    assert values(seeded_records, "leads", "status") == statuses
    assert any(lead["notes"] for lead in seeded_records["leads"])
    sources = {submission["source"] for lead in seeded_records["leads"] for submission in lead["submissions"]}
    assert sources > {"open day"}


def test_two_platforms_are_configured(seeded_records):
    published, draft = seeded_records["platforms"]
    assert (published["status"], published["joinPolicy"], draft["status"]) == ("published", "open", "draft")
    for platform in (published, draft):
        assert platform["warnings"] == []
        assert platform["theme"]["colors"]
        assert platform["navigation"]["items"]
        assert platform["home"]["blocks"]
        assert platform["home"]["spaceId"] in values(seeded_records, "spaces", "id")
        spaces = [space for space in seeded_records["spaces"] if space["platformId"] == platform["id"]]
        assert {space["visibility"] for space in spaces} == {"open", "private"}
    assert published["home"]["siteId"] == seeded_records["sites"][0]["id"]
    domains = seeded_records["organizations/domains/inventory"]
    assert [domain["verificationStatus"] for domain in domains] == ["pending", "none"]
    assert values(seeded_records, "platforms/modules", "locked") == {True, False}
    for collection in ("spaces/capabilities", "spaces/module-overrides", "platforms/project-blocks"):
        assert len(seeded_records[collection]) > 2
    assert values(seeded_records, "platforms/taxonomy-nodes", "depth") == {1, 2, 3}
    assert values(seeded_records, "platforms/taxonomy-nodes", "kind") == {"term", "system"}
    assert values(seeded_records, "platforms/taxonomy-attachments", "entityType") == {"space", "page"}


def test_a_site_of_a_dozen_pages_is_published(seeded_records):
    pages = seeded_records["sites/pages"]
    statuses = Counter(page["status"] for page in pages)
    assert statuses["published"] >= 12
    assert (statuses["draft"], statuses["scheduled"]) == (1, 1)
    assert seeded_records["sites"][0]["status"] == "published"
    assert max(page["path"].count("/") for page in pages) == 3
    assert any(page["hasUnpublishedChanges"] for page in pages if page["status"] == "published")
    block_types = {block["type"] for page in pages for block in page["blocks"]}
    expected = {"heading", "text", "list", "quote", "code", "image", "button", "columns", "divider", "embed", "custom"}
    assert block_types == expected
    assert len(seeded_records["sites/navigation"]) == 2

    published = {page["path"] for page in pages if page["status"] == "published"}
    text = json.dumps([page["blocks"] for page in pages])
    links = re.findall(r"\]\((/[^)]*)\)", text) + re.findall(r'"url": "(/[^"]*)"', text)
    assert len(links) > 5
    targets = {path for path in values(seeded_records, "sites/redirects", "toPath") if path.startswith("/")}
    assert {*links, *targets} - {"/guides/:splat"} <= published


def test_three_event_types_are_declared_and_an_event_of_each_is_reported(service, seeded_records):
    events = seeded_records["organizations/events"][::-1]
    assert [event["type"] for event in events] == [*EVENT_TYPES]
    assert ["asserted" in event["actor"] for event in events] == [True, True, False]
    assert {event["reportedBy"]["name"] for event in events} == {"Maud Ellery"}
    for name in EVENT_TYPES:
        assert service.anonymous_caller().find(f"/event-types/{name}") is None
        assert operator_caller(service).get(f"/event-types/{name}")["version"] == 1


def test_the_report_shows_ids_and_commands(service, seeded_records):
    report = seed(service)
    assert seeded_records["organizations"][0]["id"] in report
    assert "python -m local token --name maud" in report
    assert f"python -m local receive --port {seeding.receiver_port(8000)}" in report


def test_a_second_seed_makes_no_changes(api, create_service, seeded_records):
    before, second_transport = snapshots.items_by_key(), InMemoryTransport(api)
    seed(create_service(second_transport))
    assert second_transport.change_count == 0
    assert snapshots.items_by_key() == before


def test_a_second_seed_keeps_edits(service, seeded_records):
    owner = service.caller_for(person_by_username(OWNER))
    owner.patch(f"/platforms/{seeded_records['platforms'][0]['id']}/theme", {"mode": "dark"})
    owner.patch(f"/organizations/{seeded_records['organizations'][0]['id']}", {"slug": "harrowmere-group"})
    lead = next(lead for lead in seeded_records["leads"] if lead["status"] == "contacted")
    operator_caller(service).patch(f"/marketing-leads/{lead['id']}/status", {"status": "withdrawn"})
    edited = snapshots.items_by_key()
    seed(service)
    assert snapshots.items_by_key() == edited


@pytest.mark.exhaustive
@pytest.mark.parametrize("answered", [True, False])
def test_further_seeds_complete_an_interrupted_one(api, create_service, seeded_records, *, answered):
    snapshots.restore_snapshot({})
    transports = [InMemoryTransport(api, fail_at_change=n, fail_after_response=answered) for n in FAILING_CHANGES]
    interrupted = list(takewhile(lambda transport: not seed_completes(create_service(transport)), transports))
    assert 3 < len(interrupted) < len(FAILING_CHANGES)
    completed_records = read_all_records(create_service(InMemoryTransport(api)))
    assert comparable_records(completed_records) == comparable_records(seeded_records)
    assert count_events(completed_records) == count_events(seeded_records)


def seed_completes(service):
    """Seed, and return whether the seed completed."""
    try:
        seed(service)
    except SeedFailed:
        return False
    return True


def count_events(seeded_records):
    """Return the number of each event, except of invitations, which an interrupted seed revokes and creates again."""
    types = [entry["type"] for entry in seeded_records["organizations/audit-log"]]
    return Counter(event for event in types if ".invitation." not in event)


def seed_error(*responses: Response, seed: Callable[[Service], object] = seed) -> str:
    """Return the error message of a seed that receives these responses, one after the other."""
    contents = [
        (status, headers, body if isinstance(body, str) else json.dumps(body)) for status, headers, body in responses
    ]
    replies = iter([httpx.Response(status, headers=headers, content=content) for status, headers, content in contents])
    http = httpx.Client(base_url=SERVICE_URL, transport=httpx.MockTransport(lambda _: next(replies)))
    with http, pytest.raises(SeedFailed) as raised:
        seed(Service(http, lambda _: "token"))
    return str(raised.value)


def test_the_error_message_contains_the_details_of_the_problem_or_says_that_there_is_none():
    error = {"pointer": "/slug", "code": "reserved", "detail": "Choose another."}
    problem = {"title": "The request is not valid", "detail": "One field is wrong.", "errors": [error]}
    assert seed_error((422, {}, problem)) == (
        f"GET {SERVICE_URL}/organizations/by-slug/harrowmere failed with 422. The request is not valid: One field"
        " is wrong.\n  /slug: Choose another."
    )
    assert "Is Atrium listening there?" in seed_error((403, {}, "<h1>Forbidden</h1>"))
    assert "Is Atrium listening there?" in seed_error((403, {}, ["forbidden"]))


def test_a_short_retry_after_is_waited_for(monkeypatch):
    sleeps: list[int] = []
    monkeypatch.setattr("local.seed.callers.time.sleep", sleeps.append)
    problem = {"title": "Later", "detail": "Too often."}
    retries = [(429, {"Retry-After": "7"}, problem), (503, {"Retry-After": "1"}, problem)]
    assert "401" in seed_error(*retries, (401, {}, problem))
    assert sleeps == [7, 1]
    assert "429" in seed_error((429, {"Retry-After": "3600"}, problem))
    assert "503" in seed_error((503, {}, problem))
    assert sleeps == [7, 1]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": "failed", "error": "refused_by_source", "detail": "Refused."}, "failed (refused_by_source)"),
        ({"status": "running"}, "takes longer than 0.1 s"),
    ],
)
def test_a_research_job_that_does_not_complete_is_reported(fields, expected, monkeypatch):
    monkeypatch.setattr("local.seed.library._MAX_JOB_SECONDS", 0.1)
    job = {"id": "1", "kind": "import", "status": "queued"}
    bodies = [(200, {"items": [], "nextCursor": None}), (202, job), *[(200, {**job, **fields})] * 99]

    def seed_library(service: Service) -> None:
        ensure_research_library(service, Company(service, "1", "/organizations/1", service.anonymous_caller()))

    assert expected in seed_error(*((status, {}, body) for status, body in bodies), seed=seed_library)


def test_an_ended_run_is_reported(local_state, capsys):
    assert main(["seed", "--port", "1"]) == 1
    assert "No service responds at http://127.0.0.1:1" in capsys.readouterr().err
    write_settings(local_state, public_url="http://127.0.0.1:1")
    assert main(["seed"]) == 1
    assert "No service responds at http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("port", [1, 8000, 64_063, 64_064, 65_535])
def test_the_receiver_of_a_run_has_another_valid_port(port):
    assert seeding.receiver_port(port) != port
    assert 1 <= seeding.receiver_port(port) <= 65_535
