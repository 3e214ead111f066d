"""The seed, on the service in memory: the records it creates, repeated seeds, and seeds after an interruption."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.__main__ import main
from local.seed import seeding
from local.seed.callers import SeedFailed, Service
from local.seed.content.company import OWNER
from local.seed.leads import operator_caller
from local.seed.library import ensure_research_library
from local.seed.organization import Company, person_by_username
from local.seed.seeding import seed
from local.server.issuer import Issuer
from tests.conftest import SettingsOverride
from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.seeded_service import InMemoryTransport, Records, comparable_records, read_all_records

SERVICE_URL = "http://127.0.0.1:8000"
FAILING_CHANGES = (12, *[31] * 20)
"""The change at which each seed is interrupted. The first interruption leaves an invitation without a response."""

ServiceFactory = Callable[[InMemoryTransport], Service]


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the step that waits for workers, because none runs here."""
    monkeypatch.setattr("local.seed.library.ensure_research_library", lambda *_: None)


@pytest.fixture
def create_service(configure: SettingsOverride, tmp_path: Path) -> Iterator[ServiceFactory]:
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
def service(api: ApiClient, create_service: ServiceFactory) -> Service:
    return create_service(InMemoryTransport(api))


@pytest.fixture
def seeded_records(service: Service) -> Records:
    """All records that a seed creates."""

    def seed_and_collect() -> Records:
        seed(service)
        return read_all_records(service)

    return cached_scenario("seeded", seed_and_collect)


def test_members_have_every_role_and_invitations_every_status(seeded_records):
    roles = Counter(member["role"] for member in seeded_records["organizations/members"])
    assert roles["owner"] == 1
    assert min(roles[role] for role in ("admin", "editor", "member")) >= 2
    statuses = {invitation["status"] for invitation in seeded_records["organizations/invitations"]}
    assert statuses == {"accepted", "declined", "pending"}
    assert {member["role"] for member in seeded_records["platforms/members"]} == {"admin", "editor", "member"}
    outsiders = {m["userId"] for m in seeded_records["platforms/members"]} - {
        m["userId"] for m in seeded_records["organizations/members"]
    }
    assert outsiders


def test_two_platforms_are_configured(seeded_records):
    published, draft = seeded_records["platforms"]
    assert (published["status"], published["joinPolicy"], draft["status"]) == ("published", "open", "draft")
    for platform in (published, draft):
        assert platform["warnings"] == []
        assert platform["theme"]["colors"]
        assert platform["navigation"]["items"]
        assert platform["home"]["blocks"]
        assert platform["home"]["spaceId"] in {space["id"] for space in seeded_records["spaces"]}
    assert published["home"]["siteId"] == seeded_records["sites"][0]["id"]
    assert [domain["verificationStatus"] for domain in seeded_records["organizations/domains/inventory"]] == [
        "pending",
        "none",
    ]
    assert {module["locked"] for module in seeded_records["platforms/modules"]} == {True, False}
    for platform in (published, draft):
        visibilities = {
            space["visibility"] for space in seeded_records["spaces"] if space["platformId"] == platform["id"]
        }
        assert visibilities == {"open", "private"}
    for collection in ("spaces/capabilities", "spaces/module-overrides", "platforms/project-blocks"):
        assert len(seeded_records[collection]) > 2


def test_the_taxonomy_has_three_levels_and_attachments_to_spaces_and_pages(seeded_records):
    assert {node["depth"] for node in seeded_records["platforms/taxonomy-nodes"]} == {1, 2, 3}
    assert {node["kind"] for node in seeded_records["platforms/taxonomy-nodes"]} == {"term", "system"}
    assert {attachment["entityType"] for attachment in seeded_records["platforms/taxonomy-attachments"]} == {
        "space",
        "page",
    }


def test_a_site_of_a_dozen_pages_is_published(seeded_records):
    statuses = Counter(page["status"] for page in seeded_records["sites/pages"])
    assert statuses["published"] >= 12
    assert (statuses["draft"], statuses["scheduled"]) == (1, 1)
    assert seeded_records["sites"][0]["status"] == "published"
    assert max(page["path"].count("/") for page in seeded_records["sites/pages"]) == 3
    assert any(page["hasUnpublishedChanges"] for page in seeded_records["sites/pages"] if page["status"] == "published")
    blocks = [block for page in seeded_records["sites/pages"] for block in page["blocks"]]
    block_types = {
        "heading",
        "text",
        "list",
        "quote",
        "code",
        "image",
        "button",
        "columns",
        "divider",
        "embed",
        "custom",
    }
    assert {block["type"] for block in blocks} == block_types
    assert len(seeded_records["sites/navigation"]) == 2


def test_every_internal_link_of_the_site_points_to_a_published_page(seeded_records):
    published = {page["path"] for page in seeded_records["sites/pages"] if page["status"] == "published"}
    text = json.dumps([page["blocks"] for page in seeded_records["sites/pages"]])
    links = re.findall(r"\]\((/[^)]*)\)", text) + re.findall(r'"url": "(/[^"]*)"', text)
    assert len(links) > 5
    assert set(links) <= published
    targets = {
        redirect["toPath"] for redirect in seeded_records["sites/redirects"] if redirect["toPath"].startswith("/")
    }
    assert targets - {"/guides/:splat"} <= published


def test_leads_have_every_status_except_withdrawn(seeded_records):
    statuses = {"new", "contacted", "qualified", "converted", "unqualified", "spam"}
    assert {lead["status"] for lead in seeded_records["leads"]} == statuses
    assert any(lead["notes"] for lead in seeded_records["leads"])
    assert {submission["source"] for lead in seeded_records["leads"] for submission in lead["submissions"]} > {
        "open day"
    }


def test_the_report_shows_ids_and_commands(service, seeded_records):
    report = seed(service)
    (organization,) = seeded_records["organizations"]
    assert organization["id"] in report
    assert "python -m local token --name maud" in report
    assert f"python -m local receive --port {seeding.receiver_port(8000)}" in report


@pytest.mark.usefixtures("seeded_records")
def test_a_second_seed_makes_no_changes(api, create_service):
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


@pytest.mark.parametrize("answered", [False, True], ids=["before the change", "after the change"])
def test_further_seeds_complete_an_interrupted_one(api, create_service, seeded_records, *, answered):
    snapshots.restore_snapshot({})
    transports = [
        InMemoryTransport(api, fail_at_change=change, fail_after_response=answered) for change in FAILING_CHANGES
    ]
    interrupted = list(takewhile(lambda transport: not seed_completes(create_service(transport)), transports))
    assert 3 < len(interrupted) < len(FAILING_CHANGES)
    completed_records = read_all_records(create_service(InMemoryTransport(api)))
    assert comparable_records(completed_records) == comparable_records(seeded_records)
    assert count_events(completed_records) == count_events(seeded_records)


def seed_completes(service: Service) -> bool:
    """Seed, and return whether the seed completed."""
    try:
        seed(service)
    except SeedFailed:
        return False
    return True


def count_events(seeded_records: Records) -> Counter[str]:
    """Return the number of each event, except of invitations, which an interrupted seed revokes and creates again."""
    types = [entry["type"] for entry in seeded_records["organizations/audit-log"]]
    return Counter(event for event in types if ".invitation." not in event)


class StubTransport(httpx.BaseTransport):
    """A server that returns the given responses, one after the other."""

    def __init__(self, *responses: tuple[int, dict[str, str], Any]) -> None:
        self._responses = iter(responses)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, body = next(self._responses)
        content = body if isinstance(body, str) else json.dumps(body)
        return httpx.Response(status, headers=headers, content=content, request=request)


def seed_error(*responses: tuple[int, dict[str, str], Any]) -> str:
    """Return the error message of a seed that receives these responses."""
    with (
        httpx.Client(base_url=SERVICE_URL, transport=StubTransport(*responses)) as http,
        pytest.raises(SeedFailed) as raised,
    ):
        seed(Service(http, lambda _: "token"))
    return str(raised.value)


class TestErrorResponses:
    def test_the_message_contains_the_details_of_the_problem(self):
        problem = {
            "title": "The request is not valid",
            "detail": "One field is wrong.",
            "errors": [{"pointer": "/slug", "code": "reserved", "detail": "Choose another."}],
        }
        message = seed_error((422, {}, problem))
        assert message == (
            f"GET {SERVICE_URL}/organizations/by-slug/harrowmere failed with 422. The request is not valid: One field"
            " is wrong.\n  /slug: Choose another."
        )

    def test_the_message_says_if_the_response_has_no_problem_document(self):
        assert "Is Atrium listening there?" in seed_error((403, {}, "<h1>Forbidden</h1>"))
        assert "Is Atrium listening there?" in seed_error((403, {}, ["forbidden"]))

    def test_a_short_retry_after_is_waited_for(self, monkeypatch):
        sleeps: list[int] = []
        monkeypatch.setattr("local.seed.callers.time.sleep", sleeps.append)
        problem = {"title": "Later", "detail": "Too often."}
        retries = [(429, {"Retry-After": "7"}, problem), (503, {"Retry-After": "1"}, problem)]
        assert "401" in seed_error(*retries, (401, {}, problem))
        assert sleeps == [7, 1]
        assert "429" in seed_error((429, {"Retry-After": "3600"}, problem))
        assert "503" in seed_error((503, {}, problem))
        assert sleeps == [7, 1]


class TestResearchJobs:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            (
                {"status": "failed", "error": "refused_by_source", "detail": "ORCID refused."},
                "failed (refused_by_source)",
            ),
            ({"status": "running"}, "takes longer than 1 s"),
        ],
    )
    def test_a_job_that_does_not_complete_is_reported(self, fields, expected, monkeypatch):
        monkeypatch.setattr("local.seed.library._MAX_JOB_SECONDS", 1)
        job = {"id": "1", "kind": "import", "status": "queued"}
        empty_page: dict[str, Any] = {"items": [], "nextCursor": None}
        polls = [(200, dict[str, str](), {**job, **fields})] * 99
        with httpx.Client(
            base_url=SERVICE_URL, transport=StubTransport((200, {}, empty_page), (202, {}, job), *polls)
        ) as http:
            service = Service(http, lambda _: "token")
            company = Company(service, "1", "/organizations/1", service.anonymous_caller())
            with pytest.raises(SeedFailed) as raised:
                ensure_research_library(service, company)
        assert expected in str(raised.value)


def test_a_missing_run_is_reported(local_state, capsys):
    assert main(["seed"]) == 1
    assert "make run" in capsys.readouterr().err
    assert main(["seed", "--port", "1"]) == 1
    assert "No service responds at http://127.0.0.1:1" in capsys.readouterr().err
    (local_state / "settings.json").write_text(json.dumps({"public_url": "http://127.0.0.1:1"}))
    assert main(["seed"]) == 1
    assert "No service responds at http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("port", [1, 8000, 64_063, 64_064, 65_535])
def test_the_receiver_of_a_run_has_another_valid_port(port):
    assert seeding.receiver_port(port) != port
    assert 1 <= seeding.receiver_port(port) <= 65_535
