"""Test imports of researchers' works from stub servers that answer like ORCID and OpenAlex."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.research.logic import source_client
from local.server.stub_sources import Work
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Reply
from tests.harness.research_sources import CARBERRY, POTTER, FakeSources, build_works

CREATED = {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0}


def counts(**changes: int) -> dict[str, int]:
    return {**CREATED, **changes}


def reply_once_each(path: str, *replies: Reply, world: FakeSources) -> None:
    """Let requests for a path get the given replies, once each, and the usual replies afterwards."""
    remaining = list(replies)
    world.reply_override = lambda request: remaining.pop(0) if remaining and path in request.path else None


@pytest.fixture
def without_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the pause before a retry."""
    monkeypatch.setattr(source_client, "sleep_with_jittered_backoff", lambda *_, **__: None)


class TestImport:
    def test_starts_a_job_to_poll(self, api, ada):
        answer = api.post("/research/import", caller=ada, json={"researcherId": CARBERRY.orcid})
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
        assert api.get(answer.location, caller=ada).json == job

    def test_by_orcid_id_fetches_works_from_orcid_and_openalex(self, research_client, research_sources):
        job = research_client.import_works()
        assert (job["status"], job["error"], job["counts"]) == ("completed", None, counts(created=6))
        artefacts = research_client.list_records("artefacts")
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
        assert research_sources.requested_paths == [f"/v3.0/{CARBERRY.orcid}/works", "/works"]

    def test_repeated_import_reports_unchanged_and_updated_works(self, research_client, research_sources, clock):
        research_client.import_works()
        artefacts_before = research_client.list_records("artefacts")
        clock.shift(days=1)
        assert research_client.import_works()["counts"] == counts(unchanged=6)
        assert research_client.list_records("artefacts") == artefacts_before
        research_sources.set_works(
            build_works(2), [Work("Kilns, Revised", 2002, [CARBERRY], doi="10.5555/000002", put_code=3)]
        )
        assert research_client.import_works()["counts"] == counts(unchanged=4, updated=1)
        (changed_artefact,) = [
            each for each in research_client.list_records("artefacts") if each["title"] == "Kilns, Revised"
        ]
        assert (changed_artefact["version"], changed_artefact["id"]) == (2, artefacts_before[2]["id"])
        assert changed_artefact["fetchedAt"] > artefacts_before[2]["fetchedAt"]
        assert changed_artefact["contentHash"] != artefacts_before[2]["contentHash"]

    def test_follows_cursors_to_the_last_page(self, research_client, research_sources):
        research_sources.set_works(build_works(7), page_size=2)
        assert research_client.import_works()["counts"] == counts(created=14)
        cursors = [parse_qs(urlsplit(r.path).query).get("cursor") for r in research_sources.receiver.requests[1:]]
        assert cursors[0] == ["*"]
        assert len(cursors) == len({str(cursor) for cursor in cursors}) == 4

    def test_by_openalex_author_fetches_works_from_orcid_too(self, research_client, research_sources):
        research_sources.set_works(build_works(2), merged={"A5000000001": CARBERRY.author_id})
        job = research_client.import_works("https://openalex.org/a5000000001")
        assert (job["status"], job["counts"]) == ("completed", counts(created=4))
        ids = {CARBERRY.orcid, CARBERRY.author_id, "A5000000001"}
        assert all({*each["researcherIds"]} == ids for each in research_client.list_records("artefacts"))
        assert research_sources.requested_paths[:2] == ["/authors/A5000000001", f"/authors/{CARBERRY.author_id}"]

    def test_identifies_the_service_and_sends_each_token_only_to_its_source(
        self, research_client, research_sources, configure
    ):
        configure(orcid_token="told-to-orcid-only", openalex_api_key="told-to-openalex-only")
        research_client.import_works()
        orcid_request, openalex_request = research_sources.receiver.requests
        assert orcid_request.headers["Authorization"] == "Bearer told-to-orcid-only"
        assert openalex_request.headers["Authorization"] is None
        assert "mailto=library%40example.org" in openalex_request.path
        assert "api_key=told-to-openalex-only" in openalex_request.path
        assert "told-to-openalex-only" not in orcid_request.path
        for request in (orcid_request, openalex_request):
            assert request.headers["User-Agent"] == "Atrium/0.1.0 (mailto:library@example.org)"

    def test_observes_the_configured_request_rates(self, research_client, research_sources, configure, clock):
        clock.freeze()
        configure(openalex_rate="0.1")
        research_sources.set_works(build_works(3), page_size=1)
        job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        for expected_count in (2, 3, 4):  # OpenAlex allows a page every ten seconds: the slice ends before the next.
            research_client.workers.deliver()
            assert len(research_sources.requested_paths) == expected_count
            clock.shift(seconds=11)
            research_client.workers.run_sweep()
        research_client.workers.deliver()
        assert research_client.complete_job(job_answer)["counts"] == counts(created=6)


class TestImportOfAnUnknownResearcher:
    @pytest.mark.parametrize("unknown", ["0000-0002-1825-0098", "somebody", "W123", "x" * 128, "A0"])
    def test_fails_without_a_request_to_a_source(self, research_client, research_sources, unknown):
        job = research_client.import_works(unknown)
        assert (job["status"], job["error"], research_sources.requested_paths) == ("failed", "unknown_researcher", [])

    @pytest.mark.parametrize("unknown", [POTTER.orcid, POTTER.author_id])
    def test_fails_if_the_source_does_not_know_the_researcher(self, research_client, research_sources, unknown):
        job = research_client.import_works(unknown)
        assert (job["status"], job["error"], len(research_sources.requested_paths)) == (
            "failed",
            "unknown_researcher",
            1,
        )

    @pytest.mark.parametrize("wrong", ["", " ", "x" * 129, 7])
    def test_rejects_an_invalid_researcher_id(self, api, ada, wrong):
        answer = api.post("/research/import", caller=ada, json={"researcherId": wrong})
        assert list(answer.errors) == ["/researcherId"]


@pytest.mark.usefixtures("without_back_off")
class TestFailingSource:
    @pytest.mark.parametrize(
        "reply",
        [Reply(500), Reply(429, {"Retry-After": "0"}), Reply(503), Reply(closes_connection=True, raw_response=b"")],
    )
    def test_is_retried_at_once_after_a_transient_failure(self, research_client, research_sources, reply):
        reply_once_each("/works", reply, reply, world=research_sources)
        assert research_client.import_works()["counts"] == counts(created=6)

    def test_is_not_requested_before_its_retry_after(self, research_client, research_sources, clock):
        clock.freeze()
        reply_once_each("/v3.0", Reply(429, {"Retry-After": "120"}), world=research_sources)
        job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        research_client.workers.deliver()
        other_job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        research_client.workers.deliver()
        assert len(research_sources.requested_paths) == 1  # Other jobs wait as well.
        for seconds in (100, 30):
            clock.shift(seconds=seconds)
            research_client.workers.run_until_idle()
            assert (len(research_sources.requested_paths) > 1) == (seconds == 30)
        assert (
            research_client.complete_job(job_answer)["status"]
            == research_client.complete_job(other_job_answer)["status"]
            == "completed"
        )

    def test_fails_the_job_after_hours_of_errors(self, research_client, research_sources, clock):
        research_sources.reply_override = lambda request: Reply(500) if "/works?" in request.path else None
        job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        for _ in range(7):
            research_client.workers.run_until_idle()
            clock.shift(hours=8)
        job = research_client.complete_job(job_answer)
        assert (job["status"], job["error"], job["counts"]) == ("failed", "source_unavailable", counts(created=3))

    def test_times_out(self, research_client, research_sources, clock, monkeypatch):
        monkeypatch.setattr(source_client, "READ_SECONDS", 0.2)
        source_client.reset_connections()
        reply_once_each("/works?", NO_REPLY, NO_REPLY, NO_REPLY, world=research_sources)
        job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        research_client.workers.deliver()
        clock.shift(minutes=3)
        research_client.workers.run_until_idle()
        assert research_client.complete_job(job_answer)["counts"] == counts(created=6)

    @pytest.mark.parametrize(
        "body",
        [b"<html>", b"[]", b"{}", b'{"meta": {}}', b'{"results": {}}', b'{"results": [], "meta": {"next_cursor": 7}}'],
    )
    def test_fails_the_job_if_a_page_is_malformed(self, research_client, research_sources, body):
        reply_once_each("/works?", Reply(200, body=body), world=research_sources)
        job = research_client.import_works()
        assert (job["status"], job["error"], job["counts"]["created"]) == ("failed", "malformed_answer", 3)
        assert job["detail"].startswith("OpenAlex sent")

    def test_skips_only_malformed_records(self, research_client, research_sources):
        results = [
            7,
            {"id": "https://openalex.org/W9"},
            {"id": "https://openalex.org/W7", "display_name": "Fine"},
            {"id": "https://openalex.org/W8", "display_name": "Fine", "authorships": [None]},
        ]
        broken = json.dumps({"meta": {}, "results": results}).encode()
        reply_once_each("/works?", Reply(200, body=broken), world=research_sources)
        job = research_client.import_works()
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
        self, research_client, research_sources, reply, error
    ):
        research_sources.reply_override = lambda request: reply if "/works?" in request.path else None
        job = research_client.import_works()
        assert (job["status"], job["error"]) == ("failed", error)

    def test_response_size_is_limited(self, research_client, research_sources, monkeypatch):
        monkeypatch.setattr(source_client, "MAX_RESPONSE_BYTES", 1000)
        reply_once_each("/works?", Reply(200, body=b" " * 200_000), world=research_sources)
        assert research_client.import_works()["error"] == "malformed_answer"


class TestInterruptedImport:
    def test_continues_after_the_last_stored_page(self, research_client, research_sources, clock):
        research_sources.set_works(build_works(6), page_size=2)
        paths: list[str] = []

        def rate_limit_third_request(request: ReceivedRequest) -> Reply | None:
            paths.append(request.path)
            return Reply(429, {"Retry-After": "60"}) if len(paths) == 3 else None

        research_sources.reply_override = rate_limit_third_request
        job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        research_client.workers.deliver()
        assert len(research_client.list_records("artefacts")) == 8
        clock.shift(seconds=61)
        research_client.workers.run_until_idle()
        assert research_client.complete_job(job_answer)["counts"] == counts(created=12)
        assert len(paths) == 5


class TestListArtefacts:
    def test_filters_by_researcher_and_source(self, research_client, research_sources):
        theirs = [Work(f"Glazes {n}", 2020, [POTTER], put_code=50 + n, openalex=f"W{50 + n}") for n in range(3)]
        research_sources.set_works(build_works(2), theirs)
        research_client.import_works()
        research_client.import_works(POTTER.orcid or "")

        def count_artefacts(researcher_id: str | None, source: str | None) -> int:
            parameters = {"researcherId": researcher_id, "source": source}
            return len(
                research_client.list_records(
                    "artefacts", **{name: value for name, value in parameters.items() if value}
                )
            )

        sources = (None, "orcid", "openalex", "dblp")
        assert [count_artefacts(None, source) for source in sources] == [10, 5, 5, 0]
        assert [count_artefacts(CARBERRY.orcid, source) for source in sources] == [4, 2, 2, 0]
        assert [count_artefacts(CARBERRY.author_id, source) for source in sources] == [2, 0, 2, 0]
        assert [count_artefacts(POTTER.orcid, source) for source in sources] == [6, 3, 3, 0]

    def test_rejects_an_unknown_source(self, research_client):
        answer = research_client.api.get(
            "/research/artefacts", caller=research_client.caller, query={"source": "crossref"}
        )
        assert list(answer.errors) == ["query/source"]
