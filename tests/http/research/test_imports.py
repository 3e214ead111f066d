"""Test imports of researchers' works from stub servers that answer like ORCID and OpenAlex."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.research.logic import source_client
from chalicelib.kernel.core.version import VERSION
from local.server.stub_sources import Work
from tests.harness.api import Json
from tests.harness.receiver import NO_REPLY, Reply
from tests.harness.research_sources import CARBERRY, POTTER, build_works, job_counts

ALL_CREATED = job_counts(created=6)


@pytest.fixture
def reply_once_each(research_sources):
    """Let requests for a path get the given replies, once each, and the usual replies afterwards."""

    def reply_once_each(path: str, *replies: Reply) -> None:
        remaining = list(replies)
        research_sources.reply_override = lambda request: (
            remaining.pop(0) if remaining and path in request.path else None
        )

    return reply_once_each


class TestImport:
    def test_by_orcid_id_fetches_works_from_orcid_and_openalex(self, research_client, research_sources):
        job = research_client.import_works()
        assert (job["status"], job["error"], job["counts"]) == ("completed", None, ALL_CREATED)
        artefacts = research_client.list_records("artefacts")
        assert [artefact["source"] for artefact in artefacts] == ["orcid"] * 3 + ["openalex"] * 3
        source = {"sourceId": "W1", "researcherIds": [CARBERRY.orcid, CARBERRY.author_id]}
        work = {"title": "On Kilns, Part 0", "type": "article", "year": 2000, "venueName": None, "outputId": None}
        identifiers = {"doi": "10.5555/000000", "arxiv": None, "pmid": None, "openalex": "W1", "dblp": None}
        authors = [{"name": "Josiah Carberry", "orcid": CARBERRY.orcid}]
        times = dict.fromkeys(("updatedAt", "fetchedAt"), artefacts[3]["createdAt"])
        fields = {**source, **work, **times, "identifiers": identifiers, "authors": authors, "version": 1}
        assert artefacts[3] | fields == artefacts[3]
        assert research_sources.requested_paths == [f"/v3.0/{CARBERRY.orcid}/works", "/works"]

    def test_repeated_import_reports_unchanged_and_updated_works(self, research_client, research_sources, clock):
        research_client.import_works()
        before = research_client.list_records("artefacts")
        clock.shift(days=1)
        assert research_client.import_works()["counts"] == job_counts(unchanged=6)
        assert research_client.list_records("artefacts") == before
        revised = Work("Kilns, Revised", 2002, [CARBERRY], doi="10.5555/000002", put_code=3)
        research_sources.set_works(build_works(2), [revised])
        assert research_client.import_works()["counts"] == job_counts(unchanged=4, updated=1)
        changed = research_client.list_records("artefacts")[2]
        assert (changed["id"], changed["version"], changed["title"]) == (before[2]["id"], 2, "Kilns, Revised")
        assert changed["fetchedAt"] > before[2]["fetchedAt"]
        assert changed["contentHash"] != before[2]["contentHash"]

    def test_follows_cursors_to_the_last_page(self, research_client, research_sources):
        research_sources.set_works(build_works(7), page_size=2)
        assert research_client.import_works()["counts"] == job_counts(created=14)
        cursors = [parse_qs(urlsplit(r.path).query).get("cursor") for r in research_sources.receiver.requests[1:]]
        assert cursors[0] == ["*"]
        assert len(cursors) == len({str(cursor) for cursor in cursors}) == 4

    def test_by_openalex_author_fetches_works_from_orcid_too(self, research_client, research_sources):
        research_sources.set_works(build_works(2), merged={"A5000000001": CARBERRY.author_id})
        job = research_client.import_works("https://openalex.org/a5000000001")
        assert (job["status"], job["counts"]) == ("completed", job_counts(created=4))
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
        for parameter in ("mailto=library%40example.org", "api_key=told-to-openalex-only"):
            assert parameter in openalex_request.path
        assert "told-to-openalex-only" not in orcid_request.path
        for request in (orcid_request, openalex_request):
            assert request.headers["User-Agent"] == f"Atrium/{VERSION} (mailto:library@example.org)"

    def test_observes_the_configured_request_rates(self, research_client, research_sources, configure, clock):
        clock.freeze()
        configure(openalex_rate="0.1")
        research_sources.set_works(build_works(3), page_size=1)
        job_answer = research_client.post_import()
        for expected_count in (2, 3, 4):  # OpenAlex allows a page every ten seconds: the slice ends before the next.
            research_client.workers.deliver()
            assert len(research_sources.requested_paths) == expected_count
            clock.shift(seconds=11)
            research_client.workers.run_sweep()
        assert research_client.complete_job(job_answer)["counts"] == ALL_CREATED

    def test_continues_after_the_last_stored_page(self, research_client, research_sources, run_tasks_after):
        research_sources.set_works(build_works(6), page_size=2)
        requests, third_reply = research_sources.receiver.requests, Reply(429, {"Retry-After": "60"})
        research_sources.reply_override = lambda _: third_reply if len(requests) == 3 else None
        job_answer = research_client.post_import()
        research_client.workers.deliver()
        assert len(research_client.list_records("artefacts")) == 8
        run_tasks_after(seconds=61)
        assert research_client.complete_job(job_answer)["counts"] == job_counts(created=12)
        assert len(requests) == 5


@pytest.mark.parametrize(
    "unknown", ["0000-0002-1825-0098", "somebody", "W123", "x" * 128, "A0", POTTER.orcid, POTTER.author_id]
)
def test_an_import_of_an_unknown_researcher_fails_without_a_superfluous_request(
    research_client, research_sources, unknown
):
    job = research_client.import_works(unknown)
    assert (job["status"], job["error"]) == ("failed", "unknown_researcher")
    assert len(research_sources.requested_paths) == (unknown in (POTTER.orcid, POTTER.author_id))


def test_an_invalid_researcher_id_or_source_is_rejected(research_client):
    for researcher_id in ("", " ", "x" * 129, 7):
        assert [*research_client.post_import(researcher_id).errors] == ["/researcherId"]
    assert [*research_client.get("/research/artefacts", source="crossref").errors] == ["query/source"]


class TestFailingSource:
    @pytest.fixture(autouse=True)
    def without_back_off(self, monkeypatch):
        monkeypatch.setattr(source_client, "sleep_with_jittered_backoff", lambda *_, **__: None)

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(403),
            Reply(500),
            Reply(429, {"Retry-After": "0"}),
            Reply(503),
            Reply(closes_connection=True, raw_response=b""),
        ],
    )
    def test_is_retried_at_once_after_a_transient_failure(self, research_client, reply_once_each, reply):
        reply_once_each("/works", reply, reply)
        assert research_client.import_works()["counts"] == ALL_CREATED

    def test_is_not_requested_before_its_retry_after(self, research_client, research_sources, reply_once_each, clock):
        clock.freeze()
        reply_once_each("/v3.0", Reply(429, {"Retry-After": "120"}))
        job_answers = []
        for _ in range(2):  # Other jobs wait as well.
            job_answers.append(research_client.post_import())
            research_client.workers.deliver()
        assert len(research_sources.requested_paths) == 1
        for seconds in (100, 30):
            clock.shift(seconds=seconds)
            research_client.workers.run_until_idle()
            assert (len(research_sources.requested_paths) > 1) == (seconds == 30)
        assert [research_client.complete_job(answer)["status"] for answer in job_answers] == ["completed"] * 2

    def test_fails_the_job_after_hours_of_errors(self, research_client, research_sources, clock):
        research_sources.reply_override = lambda request: Reply(500) if "/works?" in request.path else None
        job_answer = research_client.post_import()
        for _ in range(7):
            research_client.workers.run_until_idle()
            clock.shift(hours=8)
        job = research_client.complete_job(job_answer)
        assert (job["status"], job["error"], job["counts"]) == ("failed", "source_unavailable", job_counts(created=3))

    def test_times_out(self, research_client, reply_once_each, run_tasks_after, monkeypatch):
        monkeypatch.setattr(source_client, "READ_SECONDS", 0.1)
        source_client.reset_connections()
        reply_once_each("/works?", NO_REPLY, NO_REPLY, NO_REPLY)
        job_answer = research_client.post_import()
        research_client.workers.deliver()
        run_tasks_after(minutes=3)
        assert research_client.complete_job(job_answer)["counts"] == ALL_CREATED

    @pytest.mark.parametrize(
        "body",
        [b"<html>", b"[]", b"{}", b'{"meta": {}}', b'{"results": {}}', b'{"results": [], "meta": {"next_cursor": 7}}'],
    )
    def test_fails_the_job_if_a_page_is_malformed(self, research_client, reply_once_each, body):
        reply_once_each("/works?", Reply(200, body=body))
        job = research_client.import_works()
        assert (job["status"], job["error"], job["counts"]["created"]) == ("failed", "malformed_answer", 3)
        assert job["detail"].startswith("OpenAlex sent")

    def test_skips_only_malformed_records(self, research_client, reply_once_each):
        results = [
            7,
            {"id": "https://openalex.org/W9"},
            {"id": "https://openalex.org/W7", "display_name": "Fine"},
            {"id": "https://openalex.org/W8", "display_name": "Fine", "authorships": [None]},
        ]
        reply_once_each("/works?", Reply(200, body=json.dumps({"meta": {}, "results": results}).encode()))
        job = research_client.import_works()
        assert (job["status"], job["counts"], job["skippedCount"]) == ("completed", job_counts(created=4), 3)
        reasons = ["? has no id", "W9 has no title", "W8 has an author without a name"]
        assert job["skipped"] == [f"openalex {reason}" for reason in reasons]

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(401),
            Reply(400),
            *(Reply(301, {"Location": url}) for url in ("http://a.example/works", "/works?again")),
        ],
    )
    def test_fails_the_job_if_it_rejects_or_redirects_the_request(self, research_client, research_sources, reply):
        research_sources.reply_override = lambda request: reply if "/works?" in request.path else None
        job = research_client.import_works()
        assert (job["status"], job["error"]) == ("failed", "refused_by_source")

    def test_response_size_is_limited(self, research_client, reply_once_each, monkeypatch):
        monkeypatch.setattr(source_client, "MAX_RESPONSE_BYTES", 1000)
        reply_once_each("/works?", Reply(200, body=b" " * 200_000))
        assert research_client.import_works()["error"] == "malformed_answer"


def test_artefacts_are_filtered_by_researcher_and_source(research_client, research_sources):
    theirs = [Work(f"Glazes {n}", 2020, [POTTER], put_code=50 + n, openalex=f"W{50 + n}") for n in range(3)]
    research_sources.set_works(build_works(2), theirs)
    for researcher in (CARBERRY, POTTER):
        research_client.import_works(researcher.orcid)
    sources: list[Json] = [{}, {"source": "orcid"}, {"source": "openalex"}, {"source": "dblp"}]
    cases: list[tuple[Json, list[int]]] = [
        ({}, [10, 5, 5, 0]),
        ({"researcherId": CARBERRY.orcid}, [4, 2, 2, 0]),
        ({"researcherId": CARBERRY.author_id}, [2, 0, 2, 0]),
        ({"researcherId": POTTER.orcid}, [6, 3, 3, 0]),
    ]
    for filters, counts in cases:
        listed = [research_client.list_records("artefacts", **filters, **source) for source in sources]
        assert [len(records) for records in listed] == counts, filters
