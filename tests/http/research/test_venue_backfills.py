"""Test backfills of editions from DBLP."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.research.logic.dblp import PAGE_SIZE
from chalicelib.features.research.models.venue_catalogue import find_edition
from local.server.stub_sources import Work
from tests.harness.api import Json
from tests.harness.receiver import Reply
from tests.harness.research_sources import CARBERRY, POTTER, ResearchClient, job_counts

TOC = "db/conf/nips/neurips2025"


def build_papers(count, toc=TOC):
    fields: Json = {"venue": "NeurIPS", "kind": "conference-paper", "toc": toc}
    authors = [CARBERRY, POTTER]
    ids: list[Json] = [{"doi": f"10.5555/{n}", "dblp": f"conf/nips/{toc[-4:]}-{n}"} for n in range(count)]
    return [Work(f"Kilns & Depth {n}", 2025, authors[: 1 + n % 2], **ids[n], **fields) for n in range(count)]


@pytest.fixture
def global_library(api, workers, operator):
    """The library that every user sees, as an operator."""
    return ResearchClient(api, workers, operator)


def backfill(library, edition_id="neurips-2025"):
    return library.complete_job(library.post_job(f"/research/backfill/{edition_id}"))


def get_output_count(library, edition_id="neurips-2025"):
    editions = [edition for venue in library.get("/research/venues").json["items"] for edition in venue["editions"]]
    return {edition["id"]: edition["outputCount"] for edition in editions}[edition_id]


class TestBackfill:
    def test_imports_all_papers_of_an_edition_for_every_user(self, api, workers, global_library, research_sources, ada):
        research_sources.set_works(build_papers(3))
        job = backfill(global_library)
        assert (job["status"], job["kind"], job["editionId"]) == ("completed", "backfill", "neurips-2025")
        assert job["counts"] == job_counts(created=3)
        user_library = ResearchClient(api, workers, ada)
        outputs = user_library.list_records("outputs", venueId="neurips", year=2025)
        authors = [(output["title"], len(output["authors"])) for output in outputs]
        assert authors == [(f"Kilns & Depth {n}", 1 + n % 2) for n in range(3)]
        assert (get_output_count(user_library), get_output_count(user_library, "neurips-2024")) == (3, 0)
        artefact = user_library.list_records("artefacts", source="dblp")[0]
        assert artefact["identifiers"]["dblp"] == "conf/nips/2025-0"
        assert user_library.get(f"/research/artefacts/{artefact['id']}").json == artefact
        assert backfill(global_library)["counts"] == job_counts(unchanged=3)
        assert user_library.list_records("outputs", venueId="neurips", year=2025) == outputs
        assert get_output_count(user_library) == 3
        entries = global_library.get("/system/audit-log", targetId=job["id"]).json["items"]
        assert [entry["type"] for entry in entries] == [f"research.backfill.{e}" for e in ("completed", "requested")]

    def test_requests_the_table_of_contents_page_by_page(self, global_library, research_sources):
        research_sources.set_works(build_papers(5), page_size=2)
        assert backfill(global_library)["counts"]["created"] == 5
        queries = [parse_qs(urlsplit(request.path).query) for request in research_sources.receiver.requests]
        assert [query["f"] for query in queries] == [["0"], ["2"], ["4"]]
        parameters = {"q": f"toc:{TOC}.bht:", "format": "json", "h": str(PAGE_SIZE), "f": "0", "c": "0"}
        assert queries[0] == {name: [value] for name, value in parameters.items()}

    def test_counts_a_work_once(self, global_library, research_sources):
        first, second = build_papers(2)
        research_sources.set_works([first, second])
        backfill(global_library)
        research_sources.set_works([first, replace(second, doi=first.doi)])
        assert backfill(global_library)["counts"]["updated"] == 1
        assert get_output_count(global_library) == len(global_library.list_records("outputs")) == 1

    def test_of_several_volumes_requests_each(self, global_library, research_sources):
        research_sources.set_works(*(build_papers(1, f"db/conf/acl/acl2024-{volume}") for volume in (1, 2)))
        backfill(global_library, "acl-2024")
        assert len(research_sources.requested_paths) == 2

    def test_skips_front_matter_and_names_unreadable_records(self, global_library, research_sources):
        hits = (
            b'{"info": {"type": "Editorship", "key": "conf/nips/2025", "title": "Proceedings."}},'
            b'{"info": {"type": "Journal Articles", "key": "x/y", "year": "2025"}},'
            b'{"info": {"key": "x/z", "title": "Kilns &amp; Fire?", "venue": ["NeurIPS", "X"], "ee": ["https://arxiv.org/'
            b'abs/2501.00001v2"], "authors": {"author": {"@pid": "1", "text": "Jun Li 0007"}}}}'
        )
        body = b'{"result": {"hits": {"@total": "3", "hit": [' + hits + b"]}}}"
        research_sources.reply_override = lambda _: Reply(200, body=body)
        job = backfill(global_library)
        assert (job["status"], job["skipped"]) == ("completed", ["dblp x/y has no title"])
        (output,) = global_library.list_records("outputs")
        assert (output["title"], output["venueId"], output["year"]) == ("Kilns & Fire?", "neurips", None)
        assert output["authors"] == [{"name": "Jun Li", "orcid": None}]
        assert global_library.list_records("artefacts")[0]["identifiers"]["arxiv"] == "2501.00001"

    @pytest.mark.parametrize(
        "body", [b"{}", b'{"result": {"hits": {}}}', b'{"result": {"hits": {"@total": "1", "hit": {}}}}']
    )
    def test_fails_if_dblp_sends_a_malformed_page(self, global_library, research_sources, body):
        research_sources.reply_override = lambda _: Reply(200, body=body)
        assert backfill(global_library)["error"] == "malformed_answer"

    @pytest.mark.parametrize("unknown", ["neurips-1812", "neurips", "sosp-2022", "nowhere-2025", "neurips-20250"])
    def test_of_an_unknown_edition_is_not_found(self, api, operator, unknown):
        assert api.post(f"/research/backfill/{unknown}", caller=operator).status_and_code == "404 not_found"


@pytest.mark.parametrize(
    ("edition_id", "tocs"),
    [
        ("neurips-2017", ["db/conf/nips/nips2017"]),
        ("neurips-2020", ["db/conf/nips/neurips2020"]),
        ("vldb-2005", ["db/conf/vldb/vldb2005"]),
        ("vldb-2024", ["db/journals/pvldb/pvldb17"]),
        ("acl-2023", ["db/conf/acl/acl2023-1", "db/conf/acl/acl2023-2"]),
        ("acl-2020", ["db/conf/acl/acl2020"]),
        ("emnlp-2021", ["db/conf/emnlp/emnlp2021-1"]),
    ],
)
def test_editions_have_the_tables_of_contents_of_dblp(edition_id, tocs):
    edition = find_edition(edition_id)
    assert edition
    assert [*edition.dblp_table_of_contents_keys] == tocs
