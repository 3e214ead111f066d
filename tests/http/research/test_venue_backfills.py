"""Test backfills of editions from DBLP, and the list of venues."""

from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.research.logic.dblp import PAGE_SIZE
from chalicelib.features.research.models.venue_catalogue import VENUES, find_edition
from local.server.stub_sources import Work
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.receiver import Reply
from tests.harness.research_sources import CARBERRY, POTTER, ResearchClient
from tests.harness.workers import Workers

TOC = "db/conf/nips/neurips2025"


def build_papers(count: int, *, toc: str = TOC) -> list[Work]:
    """Return papers of an edition as DBLP lists them."""
    return [
        Work(
            f"Kilns & Depth {n}",
            2025,
            [CARBERRY, POTTER][: 1 + n % 2],
            "NeurIPS",
            "conference-paper",
            doi=f"10.5555/{n}",
            dblp=f"conf/nips/{toc[-4:]}-{n}",
            toc=toc,
        )
        for n in range(count)
    ]


@pytest.fixture
def global_library(api: ApiClient, workers: Workers, operator: Person) -> ResearchClient:
    """Return the library that every user sees, as an operator."""
    return ResearchClient(api, workers, operator)


def backfill(library: ResearchClient, edition_id: str = "neurips-2025") -> Json:
    return library.complete_job(library.post_job(f"/research/backfill/{edition_id}"))


def get_output_count(library: ResearchClient, edition_id: str) -> int:
    venues = library.api.get("/research/venues", caller=library.caller).json["items"]
    editions = {edition["id"]: edition["outputCount"] for venue in venues for edition in venue["editions"]}
    return int(editions[edition_id])


class TestBackfill:
    def test_imports_all_papers_of_an_edition_for_every_user(self, global_library, research_sources, stranger):
        research_sources.set_works(build_papers(3))
        job = backfill(global_library)
        assert (job["status"], job["kind"], job["editionId"]) == ("completed", "backfill", "neurips-2025")
        assert job["counts"] == {"created": 3, "updated": 0, "unchanged": 0, "conflicts": 0}
        user_library = ResearchClient(global_library.api, global_library.workers, stranger)
        outputs = user_library.list_records("outputs", venueId="neurips", year=2025)
        assert [(output["title"], len(output["authors"])) for output in outputs] == [
            ("Kilns & Depth 0", 1),
            ("Kilns & Depth 1", 2),
            ("Kilns & Depth 2", 1),
        ]
        assert get_output_count(user_library, "neurips-2025") == 3
        assert get_output_count(user_library, "neurips-2024") == 0
        artefact = user_library.list_records("artefacts", source="dblp")[0]
        assert artefact["identifiers"]["dblp"] == "conf/nips/2025-0"
        assert user_library.api.get(f"/research/artefacts/{artefact['id']}", caller=stranger).json == artefact

    def test_requests_the_table_of_contents_page_by_page(self, global_library, research_sources):
        research_sources.set_works(build_papers(5), page_size=2)
        assert backfill(global_library)["counts"]["created"] == 5
        queries = [parse_qs(urlsplit(request.path).query) for request in research_sources.receiver.requests]
        assert [query["f"] for query in queries] == [["0"], ["2"], ["4"]]
        assert queries[0] == {
            "q": [f"toc:{TOC}.bht:"],
            "format": ["json"],
            "h": [str(PAGE_SIZE)],
            "f": ["0"],
            "c": ["0"],
        }

    def test_repeated_backfill_changes_nothing(self, global_library, research_sources):
        research_sources.set_works(build_papers(3))
        backfill(global_library)
        outputs_before = global_library.list_records("outputs")
        assert backfill(global_library)["counts"] == {"created": 0, "updated": 0, "unchanged": 3, "conflicts": 0}
        assert global_library.list_records("outputs") == outputs_before
        assert get_output_count(global_library, "neurips-2025") == 3

    def test_counts_a_work_once(self, global_library, research_sources):
        first, second, *_ = build_papers(2)
        research_sources.set_works([first, second])
        backfill(global_library)
        second_with_first_doi = Work(
            second.title, 2025, second.authors, second.venue, second.kind, doi=first.doi, dblp=second.dblp, toc=TOC
        )
        research_sources.set_works([first, second_with_first_doi])
        assert backfill(global_library)["counts"]["updated"] == 1
        assert get_output_count(global_library, "neurips-2025") == len(global_library.list_records("outputs")) == 1

    def test_of_several_volumes_requests_each(self, global_library, research_sources):
        research_sources.set_works(
            build_papers(1, toc="db/conf/acl/acl2024-1"), build_papers(1, toc="db/conf/acl/acl2024-2")
        )
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

    def test_is_in_the_system_audit_log(self, global_library, research_sources):
        research_sources.set_works(build_papers(1))
        job = backfill(global_library)
        entries = global_library.api.get(
            "/system/audit-log", caller=global_library.caller, query={"targetId": job["id"]}
        ).json
        assert [entry["type"] for entry in entries["items"]] == [
            "research.backfill.completed",
            "research.backfill.requested",
        ]


class TestListVenues:
    def test_lists_each_venue_with_its_editions(self, api, ada):
        answer = api.get("/research/venues", caller=ada).json
        assert answer["nextCursor"] is None
        assert [venue["id"] for venue in answer["items"]] == [venue.id for venue in VENUES]
        first = answer["items"][0]
        assert first["name"] == "Conference on Neural Information Processing Systems"
        assert first["editions"][-1] == {"id": "neurips-2025", "year": 2025, "outputCount": 0}

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
    def test_editions_have_the_tables_of_contents_of_dblp(self, edition_id, tocs):
        edition = find_edition(edition_id)
        assert edition
        assert [*edition.dblp_table_of_contents_keys] == tocs
