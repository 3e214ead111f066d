"""Backfills of editions from DBLP, and the venues they are of."""

from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.research.logic.dblp import PAGE_SIZE
from chalicelib.features.research.models.venue_catalogue import VENUES, find_edition
from local.server.stub_sources import Work
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.receiver import Reply
from tests.harness.sources import CARBERRY, POTTER, Library, World
from tests.harness.workers import Workers

TOC = "db/conf/nips/neurips2025"


def papers(number: int, *, toc: str = TOC) -> list[Work]:
    """Return so many papers of an edition, as DBLP knows them."""
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
        for n in range(number)
    ]


@pytest.fixture
def everybodys(api: Api, workers: Workers, operator: Person) -> Library:
    """The library that everybody sees, as operators fill it."""
    return Library(api, workers, operator)


def backfilled(library: Library, edition_id: str = "neurips-2025") -> Json:
    return library.done(library.asked(f"/research/backfill/{edition_id}"))


def number_of(library: Library, edition_id: str) -> int:
    venues = library.api.get("/research/venues", as_=library.caller).json["items"]
    editions = {edition["id"]: edition["outputCount"] for venue in venues for edition in venue["editions"]}
    return int(editions[edition_id])


class TestABackfill:
    def test_brings_all_of_an_edition_for_everybody(self, everybodys: Library, world: World, stranger: Person) -> None:
        world.knows(papers(3))
        job = backfilled(everybodys)
        assert (job["status"], job["kind"], job["editionId"]) == ("completed", "backfill", "neurips-2025")
        assert job["counts"] == {"created": 3, "updated": 0, "unchanged": 0, "conflicts": 0}
        theirs = Library(everybodys.api, everybodys.workers, stranger)
        outputs = theirs.items("outputs", venueId="neurips", year=2025)
        assert [(each["title"], len(each["authors"])) for each in outputs] == [
            ("Kilns & Depth 0", 1),
            ("Kilns & Depth 1", 2),
            ("Kilns & Depth 2", 1),
        ]
        assert number_of(theirs, "neurips-2025") == 3
        assert number_of(theirs, "neurips-2024") == 0
        artefact = theirs.items("artefacts", source="dblp")[0]
        assert artefact["identifiers"]["dblp"] == "conf/nips/2025-0"
        assert theirs.api.get(f"/research/artefacts/{artefact['id']}", as_=stranger).json == artefact

    def test_asks_for_the_contents_of_the_edition_page_by_page(self, everybodys: Library, world: World) -> None:
        world.knows(papers(5), page_size=2)
        assert backfilled(everybodys)["counts"]["created"] == 5
        asked = [parse_qs(urlsplit(request.path).query) for request in world.receiver.requests]
        assert [each["f"] for each in asked] == [["0"], ["2"], ["4"]]
        assert asked[0] == {
            "q": [f"toc:{TOC}.bht:"],
            "format": ["json"],
            "h": [str(PAGE_SIZE)],
            "f": ["0"],
            "c": ["0"],
        }

    def test_again_changes_nothing(self, everybodys: Library, world: World) -> None:
        world.knows(papers(3))
        backfilled(everybodys)
        before = everybodys.items("outputs")
        assert backfilled(everybodys)["counts"] == {"created": 0, "updated": 0, "unchanged": 3, "conflicts": 0}
        assert everybodys.items("outputs") == before
        assert number_of(everybodys, "neurips-2025") == 3

    def test_counts_one_work_once(self, everybodys: Library, world: World) -> None:
        one, two, *_ = papers(2)
        world.knows([one, two])
        backfilled(everybodys)
        twice = Work(two.title, 2025, two.authors, two.venue, two.kind, doi=one.doi, dblp=two.dblp, toc=TOC)
        world.knows([one, twice])
        assert backfilled(everybodys)["counts"]["updated"] == 1
        assert number_of(everybodys, "neurips-2025") == len(everybodys.items("outputs")) == 1

    def test_of_several_volumes_asks_for_each(self, everybodys: Library, world: World) -> None:
        world.knows(papers(1, toc="db/conf/acl/acl2024-1"), papers(1, toc="db/conf/acl/acl2024-2"))
        backfilled(everybodys, "acl-2024")
        assert len(world.asked) == 2

    def test_leaves_out_front_matter_and_names_what_it_can_not_read(self, everybodys: Library, world: World) -> None:
        hits = (
            b'{"info": {"type": "Editorship", "key": "conf/nips/2025", "title": "Proceedings."}},'
            b'{"info": {"type": "Journal Articles", "key": "x/y", "year": "2025"}},'
            b'{"info": {"key": "x/z", "title": "Kilns &amp; Fire?", "venue": ["NeurIPS", "X"], "ee": ["https://arxiv.org/'
            b'abs/2501.00001v2"], "authors": {"author": {"@pid": "1", "text": "Jun Li 0007"}}}}'
        )
        body = b'{"result": {"hits": {"@total": "3", "hit": [' + hits + b"]}}}"
        world.instead = lambda _: Reply(200, body=body)
        job = backfilled(everybodys)
        assert (job["status"], job["skipped"]) == ("completed", ["dblp x/y has no title"])
        (output,) = everybodys.items("outputs")
        assert (output["title"], output["venueId"], output["year"]) == ("Kilns & Fire?", "neurips", None)
        assert output["authors"] == [{"name": "Jun Li", "orcid": None}]
        assert everybodys.items("artefacts")[0]["identifiers"]["arxiv"] == "2501.00001"

    @pytest.mark.parametrize(
        "body", [b"{}", b'{"result": {"hits": {}}}', b'{"result": {"hits": {"@total": "1", "hit": {}}}}']
    )
    def test_fails_if_dblp_sends_no_page(self, everybodys: Library, world: World, body: bytes) -> None:
        world.instead = lambda _: Reply(200, body=body)
        assert backfilled(everybodys)["error"] == "malformed_answer"

    @pytest.mark.parametrize("unknown", ["neurips-1812", "neurips", "sosp-2022", "nowhere-2025", "neurips-20250"])
    def test_of_an_edition_that_is_none_is_not_found(self, api: Api, operator: Person, unknown: str) -> None:
        assert api.post(f"/research/backfill/{unknown}", as_=operator).code == "404 not_found"

    def test_is_in_the_systems_log(self, everybodys: Library, world: World) -> None:
        world.knows(papers(1))
        job = backfilled(everybodys)
        entries = everybodys.api.get("/system/audit-log", as_=everybodys.caller, query={"targetId": job["id"]}).json
        assert [entry["type"] for entry in entries["items"]] == [
            "research.backfill.completed",
            "research.backfill.requested",
        ]


class TestListVenues:
    def test_shows_each_with_its_editions(self, api: Api, ada: Person) -> None:
        answer = api.get("/research/venues", as_=ada).json
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
    def test_editions_are_found_where_dblp_has_them(self, edition_id: str, tocs: list[str]) -> None:
        edition = find_edition(edition_id)
        assert edition
        assert [*edition.tables_of_contents] == tocs
