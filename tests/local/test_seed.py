"""The seed, on the service in memory: what it leaves, that it can be repeated, and goes on where another one ended."""

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
from local.seed.callers import NotSeeded, Service
from local.seed.content.company import OWNER
from local.seed.leads import operator
from local.seed.library import fill
from local.seed.organization import Company, named
from local.seed.seeding import seed
from local.server.issuer import Issuer
from tests.conftest import SettingsOverride
from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.seeded_service import InMemoryTransport, Records, comparable_records, read_all_records

ADDRESS = "http://127.0.0.1:8000"
ENDS = (12, *[31] * 20)
"""At which of its changes each seed ends: the first one while somebody has an invitation, and has not answered it."""

Reaching = Callable[[InMemoryTransport], Service]


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what workers have to do before a seed goes on: here none runs."""
    monkeypatch.setattr("local.seed.library.fill", lambda *_: None)


@pytest.fixture
def reaching(configure: SettingsOverride, tmp_path: Path) -> Iterator[Reaching]:
    """Return the service as the seed calls it, by a transport."""
    issuer = Issuer(tmp_path / "issuer")
    configure(**issuer.settings(), webhook_allow_private="1")
    with ExitStack() as services:

        def reach(transport: InMemoryTransport) -> Service:
            service = Service.at(ADDRESS, issuer, transport)
            services.enter_context(service.http)
            return service

        yield reach


@pytest.fixture
def service(api: ApiClient, reaching: Reaching) -> Service:
    return reaching(InMemoryTransport(api))


@pytest.fixture
def there(service: Service) -> Records:
    """All that a seed leaves."""

    def seeded() -> Records:
        seed(service)
        return read_all_records(service)

    return cached_scenario("seeded", seeded)


def test_every_role_is_there_and_each_answer_to_an_invitation(there: Records) -> None:
    roles = Counter(member["role"] for member in there["organizations/members"])
    assert roles["owner"] == 1
    assert min(roles[role] for role in ("admin", "editor", "member")) >= 2
    outcomes = {invitation["status"] for invitation in there["organizations/invitations"]}
    assert outcomes == {"accepted", "declined", "pending"}
    assert {member["role"] for member in there["platforms/members"]} == {"admin", "editor", "member"}
    outside = {m["userId"] for m in there["platforms/members"]} - {m["userId"] for m in there["organizations/members"]}
    assert outside


def test_two_platforms_are_furnished(there: Records) -> None:
    published, draft = there["platforms"]
    assert (published["status"], published["joinPolicy"], draft["status"]) == ("published", "open", "draft")
    for platform in (published, draft):
        assert platform["warnings"] == []
        assert platform["theme"]["colors"]
        assert platform["navigation"]["items"]
        assert platform["home"]["blocks"]
        assert platform["home"]["spaceId"] in {space["id"] for space in there["spaces"]}
    assert published["home"]["siteId"] == there["sites"][0]["id"]
    assert [domain["verificationStatus"] for domain in there["organizations/domains/inventory"]] == ["pending", "none"]
    assert {module["locked"] for module in there["platforms/modules"]} == {True, False}
    for platform in (published, draft):
        visible = {space["visibility"] for space in there["spaces"] if space["platformId"] == platform["id"]}
        assert visible == {"open", "private"}
    for what in ("spaces/capabilities", "spaces/module-overrides", "platforms/project-blocks"):
        assert len(there[what]) > 2


def test_the_taxonomy_is_three_levels_deep_and_lies_on_spaces_and_pages(there: Records) -> None:
    assert {node["depth"] for node in there["platforms/taxonomy-nodes"]} == {1, 2, 3}
    assert {node["kind"] for node in there["platforms/taxonomy-nodes"]} == {"term", "system"}
    assert {attachment["entityType"] for attachment in there["platforms/taxonomy-attachments"]} == {"space", "page"}


def test_a_site_of_a_dozen_pages_is_published(there: Records) -> None:
    statuses = Counter(page["status"] for page in there["sites/pages"])
    assert statuses["published"] >= 12
    assert (statuses["draft"], statuses["scheduled"]) == (1, 1)
    assert there["sites"][0]["status"] == "published"
    assert max(page["path"].count("/") for page in there["sites/pages"]) == 3
    assert any(page["hasUnpublishedChanges"] for page in there["sites/pages"] if page["status"] == "published")
    blocks = [block for page in there["sites/pages"] for block in page["blocks"]]
    shown = {"heading", "text", "list", "quote", "code", "image", "button", "columns", "divider", "embed", "custom"}
    assert {block["type"] for block in blocks} == shown
    assert len(there["sites/navigation"]) == 2


def test_every_link_of_the_site_leads_to_one_of_its_published_pages(there: Records) -> None:
    published = {page["path"] for page in there["sites/pages"] if page["status"] == "published"}
    text = json.dumps([page["blocks"] for page in there["sites/pages"]])
    links = re.findall(r"\]\((/[^)]*)\)", text) + re.findall(r'"url": "(/[^"]*)"', text)
    assert len(links) > 5
    assert set(links) <= published
    targets = {redirect["toPath"] for redirect in there["sites/redirects"] if redirect["toPath"].startswith("/")}
    assert targets - {"/guides/:splat"} <= published


def test_leads_stand_at_every_status_but_withdrawn(there: Records) -> None:
    statuses = {"new", "contacted", "qualified", "converted", "unqualified", "spam"}
    assert {lead["status"] for lead in there["leads"]} == statuses
    assert any(lead["notes"] for lead in there["leads"])
    assert {submission["source"] for lead in there["leads"] for submission in lead["submissions"]} > {"open day"}


def test_it_says_where_to_look(service: Service, there: Records) -> None:
    told = seed(service)
    (organization,) = there["organizations"]
    assert organization["id"] in told
    assert "python -m local token --name maud" in told
    assert f"python -m local receive --port {seeding.receiver_port(8000)}" in told


@pytest.mark.usefixtures("there")
def test_what_is_seeded_already_is_not_written_again(api: ApiClient, reaching: Reaching) -> None:
    before, again = snapshots.items_by_key(), InMemoryTransport(api)
    seed(reaching(again))
    assert again.change_count == 0
    assert snapshots.items_by_key() == before


def test_what_somebody_changed_stays_changed(service: Service, there: Records) -> None:
    owner = service.called_by(named(OWNER))
    owner.patch(f"/platforms/{there['platforms'][0]['id']}/theme", {"mode": "dark"})
    owner.patch(f"/organizations/{there['organizations'][0]['id']}", {"slug": "harrowmere-group"})
    lead = next(lead for lead in there["leads"] if lead["status"] == "contacted")
    operator(service).patch(f"/marketing-leads/{lead['id']}/status", {"status": "withdrawn"})
    changed = snapshots.items_by_key()
    seed(service)
    assert snapshots.items_by_key() == changed


@pytest.mark.parametrize("answered", [False, True])
def test_a_seed_that_ended_is_completed_by_those_after_it(
    api: ApiClient, reaching: Reaching, there: Records, *, answered: bool
) -> None:
    snapshots.restore_snapshot({})
    transports = [InMemoryTransport(api, ends=change, answered=answered) for change in ENDS]
    ended = list(takewhile(lambda transport: not completes(reaching(transport)), transports))
    assert 3 < len(ended) < len(ENDS)
    completed = read_all_records(reaching(InMemoryTransport(api)))
    assert comparable_records(completed) == comparable_records(there)
    assert events(completed) == events(there)


def completes(service: Service) -> bool:
    """Seed, and return whether nothing kept it from its end."""
    try:
        seed(service)
    except NotSeeded:
        return False
    return True


def events(there: Records) -> Counter[str]:
    """Return how often what happened, but for invitations: one whose link was lost is revoked, and made again."""
    types = [entry["type"] for entry in there["organizations/audit-log"]]
    return Counter(event for event in types if ".invitation." not in event)


class Refusing(httpx.BaseTransport):
    """A server that gives these answers, one after the other."""

    def __init__(self, *answers: tuple[int, dict[str, str], Any]) -> None:
        self._answers = iter(answers)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, body = next(self._answers)
        content = body if isinstance(body, str) else json.dumps(body)
        return httpx.Response(status, headers=headers, content=content, request=request)


def said_of(*answers: tuple[int, dict[str, str], Any]) -> str:
    """Return what a seed says that gets these answers."""
    with httpx.Client(base_url=ADDRESS, transport=Refusing(*answers)) as http, pytest.raises(NotSeeded) as raised:
        seed(Service(http, lambda _: "token"))
    return str(raised.value)


class TestARefusal:
    def test_is_told_with_all_that_the_service_says_of_it(self) -> None:
        problem = {
            "title": "The request is not valid",
            "detail": "One field is wrong.",
            "errors": [{"pointer": "/slug", "code": "reserved", "detail": "Choose another."}],
        }
        told = said_of((422, {}, problem))
        assert told == (
            f"GET {ADDRESS}/organizations/by-slug/harrowmere was refused with 422. The request is not valid: One field"
            " is wrong.\n  /slug: Choose another."
        )

    def test_by_another_server_is_told_as_such(self) -> None:
        assert "Is it Atrium that listens there?" in said_of((403, {}, "<h1>Forbidden</h1>"))
        assert "Is it Atrium that listens there?" in said_of((403, {}, ["forbidden"]))

    def test_for_a_while_is_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[int] = []
        monkeypatch.setattr("local.seed.callers.time.sleep", slept.append)
        problem = {"title": "Later", "detail": "Too often."}
        waits = [(429, {"Retry-After": "7"}, problem), (503, {"Retry-After": "1"}, problem)]
        assert "401" in said_of(*waits, (401, {}, problem))
        assert slept == [7, 1]
        assert "429" in said_of((429, {"Retry-After": "3600"}, problem))
        assert "503" in said_of((503, {}, problem))
        assert slept == [7, 1]


class TestAJobOfResearch:
    @pytest.mark.parametrize(
        ("then", "told"),
        [
            (
                {"status": "failed", "error": "refused_by_source", "detail": "ORCID refused."},
                "failed (refused_by_source)",
            ),
            ({"status": "running"}, "takes longer than 1 s"),
        ],
    )
    def test_that_leads_to_nothing_is_told(
        self, then: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("local.seed.library._MOST_SECONDS", 1)
        job = {"id": "1", "kind": "import", "status": "queued"}
        nothing: dict[str, Any] = {"items": [], "nextCursor": None}
        looks = [(200, dict[str, str](), {**job, **then})] * 99
        with httpx.Client(base_url=ADDRESS, transport=Refusing((200, {}, nothing), (202, {}, job), *looks)) as http:
            service = Service(http, lambda _: "token")
            company = Company(service, "1", "/organizations/1", service.called_by_anybody())
            with pytest.raises(NotSeeded) as raised:
                fill(service, company)
        assert told in str(raised.value)


def test_a_run_that_was_never_started_is_missed(state_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seed"]) == 1
    assert "make run" in capsys.readouterr().err
    assert main(["seed", "--port", "1"]) == 1
    assert "No service answers at http://127.0.0.1:1" in capsys.readouterr().err
    (state_folder / "settings.json").write_text(json.dumps({"public_url": "http://127.0.0.1:1"}))
    assert main(["seed"]) == 1
    assert "No service answers at http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("port", [1, 8000, 64_063, 64_064, 65_535])
def test_the_receiver_of_a_run_listens_beside_it(port: int) -> None:
    assert seeding.receiver_port(port) != port
    assert 1 <= seeding.receiver_port(port) <= 65_535
