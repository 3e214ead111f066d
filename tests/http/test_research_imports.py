"""Imports of researchers' works, from servers that answer as ORCID and OpenAlex document it."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.research.logic import source_client
from local.server.stub_sources import Work
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.receiver import HANG, Reply, Request
from tests.harness.sources import CARBERRY, POTTER, Library, World, works
from tests.harness.workers import Workers

CREATED = {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0}


def counts(**said: int) -> dict[str, int]:
    return {**CREATED, **said}


def refusing(path: str, *replies: Reply, world: World) -> None:
    """Let a path be answered so, once each; then as ever."""
    left = list(replies)
    world.instead = lambda request: left.pop(0) if left and path in request.path else None


@pytest.fixture
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits a moment before another try doesn't."""
    monkeypatch.setattr(source_client, "back_off", lambda *_, **__: None)


class TestAnImport:
    def test_begins_as_a_job_to_poll(self, api: Api, ada: Person) -> None:
        answer = api.post("/research/import", as_=ada, json={"researcherId": CARBERRY.orcid})
        job = answer.json
        assert answer.status == 202
        assert answer.location == f"/research/jobs/{job['id']}"
        assert job == {
            "id": job["id"],
            "createdAt": job["createdAt"],
            "updatedAt": job["createdAt"],
            "version": 1,
            "kind": "import",
            "status": "queued",
            "counts": CREATED,
            "error": None,
            "detail": None,
            "skipped": [],
            "skippedCount": 0,
            "organizationId": None,
            "researcherId": CARBERRY.orcid,
            "editionId": None,
        }
        assert api.get(answer.location, as_=ada).json == job

    def test_by_an_orcid_id_fetches_what_orcid_and_openalex_know(self, library: Library, world: World) -> None:
        job = library.imported()
        assert (job["status"], job["error"], job["counts"]) == ("completed", None, counts(created=6))
        found = library.items("artefacts")
        assert [each["source"] for each in found] == ["orcid"] * 3 + ["openalex"] * 3
        assert found[3] == {
            "id": found[3]["id"],
            "createdAt": found[3]["createdAt"],
            "updatedAt": found[3]["createdAt"],
            "version": 1,
            "source": "openalex",
            "sourceId": "W1",
            "researcherIds": [CARBERRY.orcid, CARBERRY.author_id],
            "title": "On Kilns, Part 0",
            "type": "article",
            "year": 2000,
            "venueName": None,
            "identifiers": {"doi": "10.5555/000000", "arxiv": None, "pmid": None, "openalex": "W1", "dblp": None},
            "authors": [{"name": "Josiah Carberry", "orcid": CARBERRY.orcid}],
            "fetchedAt": found[3]["createdAt"],
            "contentHash": found[3]["contentHash"],
            "outputId": None,
        }
        assert world.asked == [f"/v3.0/{CARBERRY.orcid}/works", "/works"]

    def test_again_costs_nothing_where_nothing_has_changed(self, library: Library, world: World, clock: Clock) -> None:
        library.imported()
        before = library.items("artefacts")
        clock.shift(days=1)
        assert library.imported()["counts"] == counts(unchanged=6)
        assert library.items("artefacts") == before
        world.knows(works(2), [Work("Kilns, Revised", 2002, [CARBERRY], doi="10.5555/000002", put_code=3)])
        assert library.imported()["counts"] == counts(unchanged=4, updated=1)
        (changed,) = [each for each in library.items("artefacts") if each["title"] == "Kilns, Revised"]
        assert (changed["version"], changed["id"]) == (2, before[2]["id"])
        assert changed["fetchedAt"] > before[2]["fetchedAt"]
        assert changed["contentHash"] != before[2]["contentHash"]

    def test_follows_cursors_to_the_end(self, library: Library, world: World) -> None:
        world.knows(works(7), page_size=2)
        assert library.imported()["counts"] == counts(created=14)
        cursors = [parse_qs(urlsplit(r.path).query).get("cursor") for r in world.receiver.requests[1:]]
        assert cursors[0] == ["*"]
        assert len(cursors) == len({str(cursor) for cursor in cursors}) == 4

    def test_by_an_author_of_openalex_brings_what_orcid_knows_too(self, library: Library, world: World) -> None:
        world.knows(works(2), merged={"A5000000001": CARBERRY.author_id})
        job = library.imported("https://openalex.org/a5000000001")
        assert (job["status"], job["counts"]) == ("completed", counts(created=4))
        ids = {CARBERRY.orcid, CARBERRY.author_id, "A5000000001"}
        assert all({*each["researcherIds"]} == ids for each in library.items("artefacts"))
        assert world.asked[:2] == ["/authors/A5000000001", f"/authors/{CARBERRY.author_id}"]

    def test_is_polite(self, library: Library, world: World, configure: Configure) -> None:
        configure(orcid_token="told-to-orcid-only", openalex_api_key="told-to-openalex-only")
        library.imported()
        at_orcid, at_openalex = world.receiver.requests
        assert at_orcid.headers["Authorization"] == "Bearer told-to-orcid-only"
        assert at_openalex.headers["Authorization"] is None
        assert "mailto=library%40example.org" in at_openalex.path
        assert "api_key=told-to-openalex-only" in at_openalex.path
        assert "told-to-openalex-only" not in at_orcid.path
        for request in (at_orcid, at_openalex):
            assert request.headers["User-Agent"] == "Atrium/0.1.0 (mailto:library@example.org)"

    def test_keeps_the_pace_that_the_settings_say(
        self, library: Library, world: World, configure: Configure, clock: Clock
    ) -> None:
        clock.freeze()
        configure(openalex_rate="0.1")
        world.knows(works(3), page_size=1)
        begun = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        for expected in (2, 3, 4):  # One page of OpenAlex in ten seconds: the turn ends where the next would be late.
            library.workers.deliver()
            assert len(world.asked) == expected
            clock.shift(seconds=11)
            library.workers.sweep()
        library.workers.deliver()
        assert library.done(begun)["counts"] == counts(created=6)


class TestAnImportOfNobody:
    @pytest.mark.parametrize("unknown", ["0000-0002-1825-0098", "somebody", "W123", "x" * 128, "A0"])
    def test_fails_before_anybody_is_asked(self, library: Library, world: World, unknown: str) -> None:
        job = library.imported(unknown)
        assert (job["status"], job["error"], world.asked) == ("failed", "unknown_researcher", [])

    @pytest.mark.parametrize("unknown", [POTTER.orcid, POTTER.author_id])
    def test_fails_if_the_source_does_not_know_them(self, library: Library, world: World, unknown: str) -> None:
        job = library.imported(unknown)
        assert (job["status"], job["error"], len(world.asked)) == ("failed", "unknown_researcher", 1)

    @pytest.mark.parametrize("wrong", ["", " ", "x" * 129, 7])
    def test_is_refused_if_it_can_be_no_id(self, api: Api, ada: Person, wrong: object) -> None:
        refused = api.post("/research/import", as_=ada, json={"researcherId": wrong})
        assert list(refused.faults) == ["/researcherId"]


@pytest.mark.usefixtures("swift")
class TestASourceThatDoesNotAnswerAsItShould:
    @pytest.mark.parametrize(
        "reply", [Reply(500), Reply(429, {"Retry-After": "0"}), Reply(503), Reply(closes=True, raw=b"")]
    )
    def test_is_asked_again_at_once_where_that_may_help(
        self,
        library: Library,
        world: World,
        reply: Reply,
    ) -> None:
        refusing("/works", reply, reply, world=world)
        assert library.imported()["counts"] == counts(created=6)

    def test_is_left_alone_for_as_long_as_it_says(self, library: Library, world: World, clock: Clock) -> None:
        clock.freeze()
        refusing("/v3.0", Reply(429, {"Retry-After": "120"}), world=world)
        begun = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        other = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        assert len(world.asked) == 1  # Other jobs leave it alone as well.
        for seconds in (100, 30):
            clock.shift(seconds=seconds)
            library.workers.settle()
            assert (len(world.asked) > 1) == (seconds == 30)
        assert library.done(begun)["status"] == library.done(other)["status"] == "completed"

    def test_lets_the_job_fail_when_it_does_so_for_hours(
        self,
        library: Library,
        world: World,
        clock: Clock,
    ) -> None:
        world.instead = lambda request: Reply(500) if "/works?" in request.path else None
        begun = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        for _ in range(7):
            library.workers.settle()
            clock.shift(hours=8)
        job = library.done(begun)
        assert (job["status"], job["error"], job["counts"]) == ("failed", "source_unavailable", counts(created=3))

    def test_is_not_waited_for_for_long(
        self,
        library: Library,
        world: World,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(source_client, "READ_SECONDS", 0.2)
        source_client.reset_connections()
        refusing("/works?", HANG, HANG, HANG, world=world)
        begun = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        clock.shift(minutes=3)
        library.workers.settle()
        assert library.done(begun)["counts"] == counts(created=6)

    @pytest.mark.parametrize(
        "body",
        [b"<html>", b"[]", b"{}", b'{"meta": {}}', b'{"results": {}}', b'{"results": [], "meta": {"next_cursor": 7}}'],
    )
    def test_lets_the_job_fail_if_a_page_is_none(self, library: Library, world: World, body: bytes) -> None:
        refusing("/works?", Reply(200, body=body), world=world)
        job = library.imported()
        assert (job["status"], job["error"], job["counts"]["created"]) == ("failed", "malformed_answer", 3)
        assert job["detail"].startswith("OpenAlex sent")

    def test_costs_only_the_records_that_are_none(self, library: Library, world: World) -> None:
        results = [
            7,
            {"id": "https://openalex.org/W9"},
            {"id": "https://openalex.org/W7", "display_name": "Fine"},
            {"id": "https://openalex.org/W8", "display_name": "Fine", "authorships": [None]},
        ]
        broken = json.dumps({"meta": {}, "results": results}).encode()
        refusing("/works?", Reply(200, body=broken), world=world)
        job = library.imported()
        assert (job["status"], job["counts"], job["skippedCount"]) == ("completed", counts(created=4), 3)
        assert job["skipped"] == [
            "openalex ? has no id",
            "openalex W9 has no title",
            "openalex W8 has an author without a name",
        ]

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (Reply(401), "refused_by_source"),
            (Reply(400), "refused_by_source"),
            (Reply(301, {"Location": "http://elsewhere.example/works"}), "refused_by_source"),
            (Reply(301, {"Location": "/works?again"}), "refused_by_source"),
        ],
    )
    def test_lets_the_job_fail_if_it_refuses_or_leads_astray(
        self, library: Library, world: World, reply: Reply, error: str
    ) -> None:
        world.instead = lambda request: reply if "/works?" in request.path else None
        job = library.imported()
        assert (job["status"], job["error"]) == ("failed", error)

    def test_is_not_read_on_and_on(self, library: Library, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(source_client, "MAX_RESPONSE_BYTES", 1000)
        refusing("/works?", Reply(200, body=b" " * 200_000), world=world)
        assert library.imported()["error"] == "malformed_answer"


class TestAnImportThatIsInterrupted:
    def test_goes_on_behind_the_page_that_was_kept(self, library: Library, world: World, clock: Clock) -> None:
        world.knows(works(6), page_size=2)
        asked: list[str] = []

        def break_down(request: Request) -> Reply | None:
            asked.append(request.path)
            return Reply(429, {"Retry-After": "60"}) if len(asked) == 3 else None

        world.instead = break_down
        begun = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        assert len(library.items("artefacts")) == 8
        clock.shift(seconds=61)
        library.workers.settle()
        assert library.done(begun)["counts"] == counts(created=12)
        assert len(asked) == 5


class TestWhoseItIs:
    def test_a_users_own_library_is_nobody_elses(self, library: Library, world: World, grace: Person) -> None:
        world.knows(works(1))
        job = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.done(job)
        (first, _) = library.items("artefacts")
        for path in (f"/research/artefacts/{first['id']}", job.location):
            assert library.api.get(path, as_=library.caller).status == 200
            assert library.api.get(path, as_=grace).code == "404 not_found"
        assert library.api.get("/research/artefacts", as_=grace).json["items"] == []

    def test_an_organizations_is_that_of_its_members_and_keys(
        self,
        api: Api,
        workers: Workers,
        world: World,
        organization: Founded,
        edith: Person,
        mary: Person,
        stranger: Person,
    ) -> None:
        world.knows(works(1))
        Library(api, workers, edith, organization.id).imported()
        seen = [Library(api, workers, each).items("artefacts") for each in (edith, mary, make_key(api, organization))]
        assert seen[0] == seen[1] == seen[2]
        assert len(seen[0]) == 2
        path = f"/research/artefacts/{seen[0][0]['id']}"
        other = make_key(api, found(api, stranger))
        assert [api.get(path, as_=who).status for who in (mary, stranger, other)] == [200, 404, 404]
        assert Library(api, workers, stranger).items("artefacts") == []
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert api.get(path, as_=mary).status == 404
        assert Library(api, workers, mary).items("artefacts") == []

    def test_a_keys_goes_to_its_organization_and_into_its_log(
        self, api: Api, workers: Workers, world: World, organization: Founded
    ) -> None:
        world.knows(works(1))
        job = Library(api, workers, make_key(api, organization, "research:write")).imported()
        assert job["organizationId"] == organization.id
        told = [entry["type"] for entry in log_of(api, organization, targetId=job["id"])]
        assert told == ["research.import.completed", "research.import.requested"]
        assert len(Library(api, workers, organization.owner).items("artefacts")) == 2

    def test_members_below_editors_put_nothing_into_it(
        self, api: Api, organization: Founded, mary: Person, stranger: Person
    ) -> None:
        body = {"researcherId": CARBERRY.orcid, "organizationId": organization.id}
        assert api.post("/research/import", as_=mary, json=body).code == "403 insufficient_role"
        foreign = api.post("/research/import", as_=stranger, json=body)
        missing = api.post("/research/import", as_=stranger, json={**body, "organizationId": stranger.id})
        assert foreign.code == "404 not_found"
        assert foreign.refusal == missing.refusal
        assert api.post("/research/import", as_=mary, json={**body, "colour": "red"}).code == "403 insufficient_role"

    def test_who_has_left_is_not_told_again_what_was_answered(
        self, api: Api, organization: Founded, edith: Person
    ) -> None:
        body, once = {"researcherId": "nobody", "organizationId": organization.id}, {"Idempotency-Key": "once"}
        accepted = api.post("/research/import", as_=edith, json=body, headers=once)
        assert accepted.status == 202
        assert api.post("/research/import", as_=edith, json=body, headers=once).headers["Idempotency-Replayed"]
        assert api.delete(f"{organization.path}/members/{edith.id}", as_=organization.owner).status == 204
        assert api.post("/research/import", as_=edith, json=body, headers=once).code == "404 not_found"
        assert api.get(accepted.location, as_=edith).code == "404 not_found"

    def test_ten_an_hour_are_enough(self, api: Api, ada: Person, grace: Person, clock: Clock) -> None:
        body = {"researcherId": "nobody"}
        answers = [api.post("/research/import", as_=ada, json=body) for _ in range(11)]
        assert [answer.status for answer in answers] == [202] * 10 + [429]
        assert answers[-1].json["code"] == "rate_limited"
        assert api.post("/research/import", as_=grace, json=body).status == 202
        clock.shift(hours=1, seconds=1)
        assert api.post("/research/import", as_=ada, json=body).status == 202


class TestListArtefacts:
    def test_filters_by_researcher_and_source(self, library: Library, world: World) -> None:
        theirs = [Work(f"Glazes {n}", 2020, [POTTER], put_code=50 + n, openalex=f"W{50 + n}") for n in range(3)]
        world.knows(works(2), theirs)
        library.imported()
        library.imported(POTTER.orcid or "")

        def number(researcher_id: str | None, source: str | None) -> int:
            said = {"researcherId": researcher_id, "source": source}
            return len(library.items("artefacts", **{name: value for name, value in said.items() if value}))

        sources = (None, "orcid", "openalex", "dblp")
        assert [number(None, source) for source in sources] == [10, 5, 5, 0]
        assert [number(CARBERRY.orcid, source) for source in sources] == [4, 2, 2, 0]
        assert [number(CARBERRY.author_id, source) for source in sources] == [2, 0, 2, 0]
        assert [number(POTTER.orcid, source) for source in sources] == [6, 3, 3, 0]

    def test_refuses_a_source_that_is_none(self, library: Library) -> None:
        refused = library.api.get("/research/artefacts", as_=library.caller, query={"source": "crossref"})
        assert list(refused.faults) == ["query/source"]
