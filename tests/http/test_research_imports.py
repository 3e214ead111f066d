"""Test imports of researchers' works from stub servers that answer like ORCID and OpenAlex."""

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


def counts(**changes: int) -> dict[str, int]:
    return {**CREATED, **changes}


def reply_once_each(path: str, *replies: Reply, world: World) -> None:
    """Let requests for a path get the given replies, once each, and the usual replies afterwards."""
    remaining = list(replies)
    world.instead = lambda request: remaining.pop(0) if remaining and path in request.path else None


@pytest.fixture
def without_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the pause before a retry."""
    monkeypatch.setattr(source_client, "back_off", lambda *_, **__: None)


class TestImport:
    def test_starts_a_job_to_poll(self, api: Api, ada: Person) -> None:
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

    def test_by_orcid_id_fetches_works_from_orcid_and_openalex(self, library: Library, world: World) -> None:
        job = library.imported()
        assert (job["status"], job["error"], job["counts"]) == ("completed", None, counts(created=6))
        artefacts = library.items("artefacts")
        assert [artefact["source"] for artefact in artefacts] == ["orcid"] * 3 + ["openalex"] * 3
        assert artefacts[3] == {
            "id": artefacts[3]["id"],
            "createdAt": artefacts[3]["createdAt"],
            "updatedAt": artefacts[3]["createdAt"],
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
            "fetchedAt": artefacts[3]["createdAt"],
            "contentHash": artefacts[3]["contentHash"],
            "outputId": None,
        }
        assert world.asked == [f"/v3.0/{CARBERRY.orcid}/works", "/works"]

    def test_repeated_import_reports_unchanged_and_updated_works(
        self, library: Library, world: World, clock: Clock
    ) -> None:
        library.imported()
        artefacts_before = library.items("artefacts")
        clock.shift(days=1)
        assert library.imported()["counts"] == counts(unchanged=6)
        assert library.items("artefacts") == artefacts_before
        world.knows(works(2), [Work("Kilns, Revised", 2002, [CARBERRY], doi="10.5555/000002", put_code=3)])
        assert library.imported()["counts"] == counts(unchanged=4, updated=1)
        (changed_artefact,) = [each for each in library.items("artefacts") if each["title"] == "Kilns, Revised"]
        assert (changed_artefact["version"], changed_artefact["id"]) == (2, artefacts_before[2]["id"])
        assert changed_artefact["fetchedAt"] > artefacts_before[2]["fetchedAt"]
        assert changed_artefact["contentHash"] != artefacts_before[2]["contentHash"]

    def test_follows_cursors_to_the_last_page(self, library: Library, world: World) -> None:
        world.knows(works(7), page_size=2)
        assert library.imported()["counts"] == counts(created=14)
        cursors = [parse_qs(urlsplit(r.path).query).get("cursor") for r in world.receiver.requests[1:]]
        assert cursors[0] == ["*"]
        assert len(cursors) == len({str(cursor) for cursor in cursors}) == 4

    def test_by_openalex_author_fetches_works_from_orcid_too(self, library: Library, world: World) -> None:
        world.knows(works(2), merged={"A5000000001": CARBERRY.author_id})
        job = library.imported("https://openalex.org/a5000000001")
        assert (job["status"], job["counts"]) == ("completed", counts(created=4))
        ids = {CARBERRY.orcid, CARBERRY.author_id, "A5000000001"}
        assert all({*each["researcherIds"]} == ids for each in library.items("artefacts"))
        assert world.asked[:2] == ["/authors/A5000000001", f"/authors/{CARBERRY.author_id}"]

    def test_identifies_the_service_and_sends_each_token_only_to_its_source(
        self, library: Library, world: World, configure: Configure
    ) -> None:
        configure(orcid_token="told-to-orcid-only", openalex_api_key="told-to-openalex-only")
        library.imported()
        orcid_request, openalex_request = world.receiver.requests
        assert orcid_request.headers["Authorization"] == "Bearer told-to-orcid-only"
        assert openalex_request.headers["Authorization"] is None
        assert "mailto=library%40example.org" in openalex_request.path
        assert "api_key=told-to-openalex-only" in openalex_request.path
        assert "told-to-openalex-only" not in orcid_request.path
        for request in (orcid_request, openalex_request):
            assert request.headers["User-Agent"] == "Atrium/0.1.0 (mailto:library@example.org)"

    def test_observes_the_configured_request_rates(
        self, library: Library, world: World, configure: Configure, clock: Clock
    ) -> None:
        clock.freeze()
        configure(openalex_rate="0.1")
        world.knows(works(3), page_size=1)
        job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        for expected_count in (2, 3, 4):  # OpenAlex allows a page every ten seconds: the slice ends before the next.
            library.workers.deliver()
            assert len(world.asked) == expected_count
            clock.shift(seconds=11)
            library.workers.sweep()
        library.workers.deliver()
        assert library.done(job_answer)["counts"] == counts(created=6)


class TestImportOfAnUnknownResearcher:
    @pytest.mark.parametrize("unknown", ["0000-0002-1825-0098", "somebody", "W123", "x" * 128, "A0"])
    def test_fails_without_a_request_to_a_source(self, library: Library, world: World, unknown: str) -> None:
        job = library.imported(unknown)
        assert (job["status"], job["error"], world.asked) == ("failed", "unknown_researcher", [])

    @pytest.mark.parametrize("unknown", [POTTER.orcid, POTTER.author_id])
    def test_fails_if_the_source_does_not_know_the_researcher(
        self, library: Library, world: World, unknown: str
    ) -> None:
        job = library.imported(unknown)
        assert (job["status"], job["error"], len(world.asked)) == ("failed", "unknown_researcher", 1)

    @pytest.mark.parametrize("wrong", ["", " ", "x" * 129, 7])
    def test_rejects_an_invalid_researcher_id(self, api: Api, ada: Person, wrong: object) -> None:
        answer = api.post("/research/import", as_=ada, json={"researcherId": wrong})
        assert list(answer.faults) == ["/researcherId"]


@pytest.mark.usefixtures("without_back_off")
class TestFailingSource:
    @pytest.mark.parametrize(
        "reply", [Reply(500), Reply(429, {"Retry-After": "0"}), Reply(503), Reply(closes=True, raw=b"")]
    )
    def test_is_retried_at_once_after_a_transient_failure(
        self,
        library: Library,
        world: World,
        reply: Reply,
    ) -> None:
        reply_once_each("/works", reply, reply, world=world)
        assert library.imported()["counts"] == counts(created=6)

    def test_is_not_requested_before_its_retry_after(self, library: Library, world: World, clock: Clock) -> None:
        clock.freeze()
        reply_once_each("/v3.0", Reply(429, {"Retry-After": "120"}), world=world)
        job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        other_job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        assert len(world.asked) == 1  # Other jobs wait as well.
        for seconds in (100, 30):
            clock.shift(seconds=seconds)
            library.workers.settle()
            assert (len(world.asked) > 1) == (seconds == 30)
        assert library.done(job_answer)["status"] == library.done(other_job_answer)["status"] == "completed"

    def test_fails_the_job_after_hours_of_errors(
        self,
        library: Library,
        world: World,
        clock: Clock,
    ) -> None:
        world.instead = lambda request: Reply(500) if "/works?" in request.path else None
        job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        for _ in range(7):
            library.workers.settle()
            clock.shift(hours=8)
        job = library.done(job_answer)
        assert (job["status"], job["error"], job["counts"]) == ("failed", "source_unavailable", counts(created=3))

    def test_times_out(
        self,
        library: Library,
        world: World,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(source_client, "READ_SECONDS", 0.2)
        source_client.reset_connections()
        reply_once_each("/works?", HANG, HANG, HANG, world=world)
        job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        clock.shift(minutes=3)
        library.workers.settle()
        assert library.done(job_answer)["counts"] == counts(created=6)

    @pytest.mark.parametrize(
        "body",
        [b"<html>", b"[]", b"{}", b'{"meta": {}}', b'{"results": {}}', b'{"results": [], "meta": {"next_cursor": 7}}'],
    )
    def test_fails_the_job_if_a_page_is_malformed(self, library: Library, world: World, body: bytes) -> None:
        reply_once_each("/works?", Reply(200, body=body), world=world)
        job = library.imported()
        assert (job["status"], job["error"], job["counts"]["created"]) == ("failed", "malformed_answer", 3)
        assert job["detail"].startswith("OpenAlex sent")

    def test_skips_only_malformed_records(self, library: Library, world: World) -> None:
        results = [
            7,
            {"id": "https://openalex.org/W9"},
            {"id": "https://openalex.org/W7", "display_name": "Fine"},
            {"id": "https://openalex.org/W8", "display_name": "Fine", "authorships": [None]},
        ]
        broken = json.dumps({"meta": {}, "results": results}).encode()
        reply_once_each("/works?", Reply(200, body=broken), world=world)
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
    def test_fails_the_job_if_it_rejects_or_redirects_the_request(
        self, library: Library, world: World, reply: Reply, error: str
    ) -> None:
        world.instead = lambda request: reply if "/works?" in request.path else None
        job = library.imported()
        assert (job["status"], job["error"]) == ("failed", error)

    def test_response_size_is_limited(self, library: Library, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(source_client, "MAX_RESPONSE_BYTES", 1000)
        reply_once_each("/works?", Reply(200, body=b" " * 200_000), world=world)
        assert library.imported()["error"] == "malformed_answer"


class TestInterruptedImport:
    def test_continues_after_the_last_stored_page(self, library: Library, world: World, clock: Clock) -> None:
        world.knows(works(6), page_size=2)
        paths: list[str] = []

        def rate_limit_third_request(request: Request) -> Reply | None:
            paths.append(request.path)
            return Reply(429, {"Retry-After": "60"}) if len(paths) == 3 else None

        world.instead = rate_limit_third_request
        job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.workers.deliver()
        assert len(library.items("artefacts")) == 8
        clock.shift(seconds=61)
        library.workers.settle()
        assert library.done(job_answer)["counts"] == counts(created=12)
        assert len(paths) == 5


class TestOwnership:
    def test_a_users_library_is_invisible_to_others(self, library: Library, world: World, grace: Person) -> None:
        world.knows(works(1))
        job_answer = library.asked("/research/import", {"researcherId": CARBERRY.orcid})
        library.done(job_answer)
        (first, _) = library.items("artefacts")
        for path in (f"/research/artefacts/{first['id']}", job_answer.location):
            assert library.api.get(path, as_=library.caller).status == 200
            assert library.api.get(path, as_=grace).code == "404 not_found"
        assert library.api.get("/research/artefacts", as_=grace).json["items"] == []

    def test_an_organizations_library_is_visible_to_its_members_and_keys(
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
        artefact_lists = [
            Library(api, workers, caller).items("artefacts") for caller in (edith, mary, make_key(api, organization))
        ]
        assert artefact_lists[0] == artefact_lists[1] == artefact_lists[2]
        assert len(artefact_lists[0]) == 2
        path = f"/research/artefacts/{artefact_lists[0][0]['id']}"
        foreign_key = make_key(api, found(api, stranger))
        assert [api.get(path, as_=caller).status for caller in (mary, stranger, foreign_key)] == [200, 404, 404]
        assert Library(api, workers, stranger).items("artefacts") == []
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert api.get(path, as_=mary).status == 404
        assert Library(api, workers, mary).items("artefacts") == []

    def test_an_import_by_a_key_goes_to_its_organizations_library_and_log(
        self, api: Api, workers: Workers, world: World, organization: Founded
    ) -> None:
        world.knows(works(1))
        job = Library(api, workers, make_key(api, organization, "research:write")).imported()
        assert job["organizationId"] == organization.id
        event_types = [entry["type"] for entry in log_of(api, organization, targetId=job["id"])]
        assert event_types == ["research.import.completed", "research.import.requested"]
        assert len(Library(api, workers, organization.owner).items("artefacts")) == 2

    def test_members_below_editor_import_nothing(
        self, api: Api, organization: Founded, mary: Person, stranger: Person
    ) -> None:
        body = {"researcherId": CARBERRY.orcid, "organizationId": organization.id}
        assert api.post("/research/import", as_=mary, json=body).code == "403 insufficient_role"
        forbidden_organization = api.post("/research/import", as_=stranger, json=body)
        missing = api.post("/research/import", as_=stranger, json={**body, "organizationId": stranger.id})
        assert forbidden_organization.code == "404 not_found"
        assert forbidden_organization.refusal == missing.refusal
        assert api.post("/research/import", as_=mary, json={**body, "colour": "red"}).code == "403 insufficient_role"

    def test_a_former_member_gets_no_idempotent_replay(self, api: Api, organization: Founded, edith: Person) -> None:
        body, headers = {"researcherId": "nobody", "organizationId": organization.id}, {"Idempotency-Key": "once"}
        first_answer = api.post("/research/import", as_=edith, json=body, headers=headers)
        assert first_answer.status == 202
        assert api.post("/research/import", as_=edith, json=body, headers=headers).headers["Idempotency-Replayed"]
        assert api.delete(f"{organization.path}/members/{edith.id}", as_=organization.owner).status == 204
        assert api.post("/research/import", as_=edith, json=body, headers=headers).code == "404 not_found"
        assert api.get(first_answer.location, as_=edith).code == "404 not_found"

    def test_a_user_starts_at_most_ten_an_hour(self, api: Api, ada: Person, grace: Person, clock: Clock) -> None:
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

        def count_artefacts(researcher_id: str | None, source: str | None) -> int:
            parameters = {"researcherId": researcher_id, "source": source}
            return len(library.items("artefacts", **{name: value for name, value in parameters.items() if value}))

        sources = (None, "orcid", "openalex", "dblp")
        assert [count_artefacts(None, source) for source in sources] == [10, 5, 5, 0]
        assert [count_artefacts(CARBERRY.orcid, source) for source in sources] == [4, 2, 2, 0]
        assert [count_artefacts(CARBERRY.author_id, source) for source in sources] == [2, 0, 2, 0]
        assert [count_artefacts(POTTER.orcid, source) for source in sources] == [6, 3, 3, 0]

    def test_rejects_an_unknown_source(self, library: Library) -> None:
        answer = library.api.get("/research/artefacts", as_=library.caller, query={"source": "crossref"})
        assert list(answer.faults) == ["query/source"]
