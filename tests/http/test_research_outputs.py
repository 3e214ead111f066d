"""Reconciles: which artefacts are of one work, what that says, and what happens as they change."""

from typing import Any

import pytest

from chalicelib.features.research.logic.record_rules import SOURCE_PRECEDENCE
from local.server.stub_sources import Researcher, Work
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.organizations import Founded, make_key
from tests.harness.sources import CARBERRY, POTTER, Library, World, works
from tests.harness.workers import Workers

TERRA = Researcher("Terra Ware")


def known(title: str, *, by: Researcher = CARBERRY, year: int = 2020, **fields: Any) -> Work:
    """A work of a researcher, by title."""
    return Work(title, year, [by], **fields)


def titles(items: list[Json]) -> list[str]:
    return sorted(item["title"] for item in items)


class TestAReconcile:
    def test_makes_one_work_of_what_shares_an_identifier(self, library: Library, world: World) -> None:
        world.knows(
            [
                known("By ORCID", doi="10.5555/ABC", put_code=1),
                known("By OpenAlex", doi="10.5555/abc", openalex="W1", venue="NeurIPS", kind="conference-paper"),
            ]
        )
        library.imported()
        job = library.reconciled()
        assert (job["status"], job["kind"]) == ("completed", "reconcile")
        assert job["counts"] == {"created": 1, "updated": 0, "unchanged": 0, "conflicts": 0}
        artefacts = {each["source"]: each["id"] for each in library.items("artefacts")}
        (output,) = library.items("outputs")
        assert output == {
            "id": output["id"],
            "createdAt": output["createdAt"],
            "updatedAt": output["createdAt"],
            "version": 1,
            "title": "By OpenAlex",
            "type": "conference-paper",
            "year": 2020,
            "venueId": "neurips",
            "doi": "10.5555/abc",
            "authors": [{"name": "Josiah Carberry", "orcid": CARBERRY.orcid}],
            "researcherIds": [CARBERRY.orcid, CARBERRY.author_id],
            "artefactIds": [artefacts["openalex"], artefacts["orcid"]],
            "provenance": dict.fromkeys(("title", "type", "year", "venueId", "doi", "authors"), artefacts["openalex"]),
        }
        assert {each["outputId"] for each in library.items("artefacts")} == {output["id"]}
        assert library.api.get(f"/research/outputs/{output['id']}", as_=library.caller).json == output

    def test_takes_each_field_from_who_says_it(self, library: Library, world: World) -> None:
        world.knows(
            [
                known("By ORCID", doi="10.5555/a", put_code=1, venue="NIPS"),
                Work("By OpenAlex", None, [CARBERRY], doi="10.5555/a", openalex="W1"),
            ]
        )
        library.imported()
        library.reconciled()
        ids = {each["source"]: each["id"] for each in library.items("artefacts")}
        (output,) = library.items("outputs")
        assert (output["title"], output["year"], output["venueId"]) == ("By OpenAlex", 2020, "neurips")
        assert output["provenance"]["year"] == output["provenance"]["venueId"] == ids["orcid"]
        assert SOURCE_PRECEDENCE == ("dblp", "openalex", "orcid")

    @pytest.mark.parametrize(
        "shared", [{"doi": "10.5555/a"}, {"arxiv": "2501.00001"}, {"pmid": "12345"}], ids=lambda shared: str(*shared)
    )
    def test_joins_by_whatever_identifies_a_work(self, library: Library, world: World, shared: Json) -> None:
        world.knows([known("One", put_code=1, **shared), known("Other", openalex="W1", **shared)])
        library.imported()
        assert library.reconciled()["counts"]["created"] == 1

    def test_joins_through_a_third(self, library: Library, world: World) -> None:
        world.knows(
            [
                known("One", put_code=1, doi="10.5555/a"),
                known("Two", put_code=2, pmid="7"),
                known("Three", openalex="W1", doi="10.5555/a", pmid="7"),
            ]
        )
        library.imported()
        assert library.reconciled()["counts"]["created"] == 1

    def test_knows_a_preprint_by_the_doi_that_arxiv_gives(self, library: Library, world: World) -> None:
        world.knows(
            [
                known("One", put_code=1, doi="10.48550/arXiv.2501.00001"),
                known("Two", openalex="W1", arxiv="2501.00001v3"),
            ]
        )
        library.imported()
        assert library.reconciled()["counts"]["created"] == 1

    def test_only_proposes_what_looks_alike(self, library: Library, world: World) -> None:
        world.knows(
            [
                known("Über Kilns: a Study", openalex="W1"),
                known("uber kilns - a study", openalex="W2", year=2021),
                known("Über Kilns: a Study", openalex="W3", year=2030),
                Work("Über Kilns: a Study", 2020, [TERRA, CARBERRY], openalex="W4"),
            ]
        )
        library.imported()
        assert library.reconciled()["counts"] == {"created": 4, "updated": 0, "unchanged": 0, "conflicts": 1}
        assert library.reconciled()["counts"] == {"created": 0, "updated": 0, "unchanged": 4, "conflicts": 1}

    def test_again_changes_nothing(self, library: Library, world: World) -> None:
        world.knows(works(5))
        library.imported()
        library.reconciled()
        before = library.items("outputs"), library.items("artefacts")
        assert library.reconciled()["counts"] == {"created": 0, "updated": 0, "unchanged": 5, "conflicts": 0}
        library.imported()
        assert library.reconciled()["counts"]["unchanged"] == 5
        assert (library.items("outputs"), library.items("artefacts")) == before

    def test_of_more_of_one_work_than_a_transaction_holds(self, library: Library, world: World) -> None:
        world.knows([known(f"Name {n}", doi="10.5555/a", put_code=n + 1) for n in range(45)])
        library.imported()
        library.reconciled()
        (output,) = library.items("outputs")
        assert len(output["artefactIds"]) == 45
        assert output["title"] == "Name 0"
        assert {each["outputId"] for each in library.items("artefacts")} == {output["id"]}


class TestWorksThatTurnOut:
    def test_to_be_one_leave_the_earliest_and_the_other_leads_there(
        self, library: Library, world: World, stranger: Person
    ) -> None:
        apart = [known("One", put_code=1, doi="10.5555/a"), known("Two", put_code=2, pmid="7")]
        world.knows(apart)
        library.imported()
        library.reconciled()
        first, second = library.items("outputs")
        world.knows(apart, [known("Both", openalex="W1", doi="10.5555/a", pmid="7")])
        library.imported()
        assert library.reconciled()["counts"]["created"] == 0
        (left,) = library.items("outputs")
        assert (left["id"], len(left["artefactIds"])) == (first["id"], 3)
        path = f"/research/outputs/{second['id']}"
        moved = library.api.get(path, as_=library.caller)
        assert (moved.status, moved.location) == (301, f"/research/outputs/{first['id']}")
        assert library.api.get(path, as_=stranger).status == 404
        assert len(library.items("outputs", researcherId=CARBERRY.orcid)) == 1

    def test_to_be_two_fall_apart(self, library: Library, world: World) -> None:
        world.knows([known("One", put_code=1, doi="10.5555/a"), known("Two", put_code=2, doi="10.5555/a")])
        library.imported()
        library.reconciled()
        (before,) = library.items("outputs")
        world.knows([known("One", put_code=1, doi="10.5555/a"), known("Two", put_code=2, doi="10.5555/b")])
        library.imported()
        assert library.reconciled()["counts"] == {"created": 1, "updated": 1, "unchanged": 0, "conflicts": 0}
        one, two = library.items("outputs")
        assert (one["id"], one["doi"], two["doi"]) == (before["id"], "10.5555/a", "10.5555/b")
        assert [len(each["artefactIds"]) for each in (one, two)] == [1, 1]


class TestListOutputs:
    @pytest.fixture(autouse=True)
    def _known(self, library: Library, world: World) -> None:
        world.knows(
            [
                known("A", doi="10.5555/a", put_code=1, year=2020, venue="NeurIPS"),
                known("B", doi="10.5555/b", put_code=2, year=2021, venue="NeurIPS"),
                known("C", put_code=3, year=2021, venue="ICML"),
                known("D", by=POTTER, put_code=4, year=2021, venue="ICML"),
            ]
        )
        library.imported()
        library.imported(POTTER.orcid or "")
        library.reconciled()

    @pytest.mark.parametrize(
        ("filters", "found"),
        [
            ({}, "ABCD"),
            ({"researcherId": CARBERRY.orcid}, "ABC"),
            ({"venueId": "neurips"}, "AB"),
            ({"year": 2021}, "BCD"),
            ({"doi": "https://doi.org/10.5555/B"}, "B"),
            ({"researcherId": POTTER.orcid, "year": 2021}, "D"),
            ({"venueId": "icml", "year": 2021}, "CD"),
            ({"doi": "10.5555/a", "year": 2021}, ""),
            ({"researcherId": CARBERRY.orcid, "venueId": "icml", "year": 2021}, "C"),
            ({"venueId": "chi"}, ""),
        ],
    )
    def test_filters_by_each_and_all(self, library: Library, filters: Json, found: str) -> None:
        assert titles(library.items("outputs", **filters)) == [*found]
        assert titles(library.items("outputs", **filters, limit=1)) == [*found]

    def test_refuses_what_can_be_no_doi_and_no_year(self, library: Library) -> None:
        for name, wrong in (("doi", "W1"), ("year", "soon")):
            refused = library.api.get("/research/outputs", as_=library.caller, query={name: wrong})
            assert list(refused.faults) == [f"query/{name}"]


class TestInAnOrganization:
    @pytest.fixture
    def shared(self, api: Api, workers: Workers, world: World, organization: Founded, edith: Person) -> Library:
        world.knows(works(1))
        shared = Library(api, workers, edith, organization.id)
        shared.imported()
        shared.reconciled()
        return shared

    def test_members_see_its_works_and_reconcile_only_its_own(
        self, shared: Library, mary: Person, stranger: Person, organization: Founded
    ) -> None:
        (output,) = shared.items("outputs")
        path = f"/research/outputs/{output['id']}"
        key = make_key(shared.api, organization)
        assert [shared.api.get(path, as_=who).status for who in (mary, key, stranger)] == [200, 200, 404]
        own = Library(shared.api, shared.workers, shared.caller).reconciled()
        assert own["counts"] == {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0}

    def test_a_job_shows_to_whoever_started_it_only(
        self, shared: Library, grace: Person, organization: Founded
    ) -> None:
        answer = shared.asked("/research/reconcile", {"organizationId": organization.id})
        assert shared.api.get(answer.location, as_=shared.caller).status == 200
        assert shared.api.get(answer.location, as_=grace).code == "404 not_found"
