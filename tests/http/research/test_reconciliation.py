"""Test reconciles: which artefacts form one output, its fields, and what happens when artefacts change."""

from typing import Any

import pytest

from chalicelib.features.research.logic.record_rules import SOURCE_PRECEDENCE
from local.server.stub_sources import Researcher, Work
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.research_sources import CARBERRY, POTTER, FakeSources, ResearchClient, build_works
from tests.harness.workers import Workers

TERRA = Researcher("Terra Ware")


def build_work(title: str, *, by: Researcher = CARBERRY, year: int = 2020, **fields: Any) -> Work:
    """Build a work of a researcher."""
    return Work(title, year, [by], **fields)


def sorted_titles(outputs: list[Json]) -> list[str]:
    return sorted(output["title"] for output in outputs)


class TestReconcile:
    def test_builds_one_output_from_artefacts_with_a_common_identifier(self, research_client, research_sources):
        research_sources.set_works(
            [
                build_work("By ORCID", doi="10.5555/ABC", put_code=1),
                build_work("By OpenAlex", doi="10.5555/abc", openalex="W1", venue="NeurIPS", kind="conference-paper"),
            ]
        )
        research_client.import_works()
        job = research_client.reconcile()
        assert (job["status"], job["kind"]) == ("completed", "reconcile")
        assert job["counts"] == {"created": 1, "updated": 0, "unchanged": 0, "conflicts": 0}
        artefacts = {artefact["source"]: artefact["id"] for artefact in research_client.list_records("artefacts")}
        (output,) = research_client.list_records("outputs")
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
        assert {artefact["outputId"] for artefact in research_client.list_records("artefacts")} == {output["id"]}
        assert (
            research_client.api.get(f"/research/outputs/{output['id']}", caller=research_client.caller).json == output
        )

    def test_takes_each_field_from_the_preferred_source_that_has_it(self, research_client, research_sources):
        research_sources.set_works(
            [
                build_work("By ORCID", doi="10.5555/a", put_code=1, venue="NIPS"),
                Work("By OpenAlex", None, [CARBERRY], doi="10.5555/a", openalex="W1"),
            ]
        )
        research_client.import_works()
        research_client.reconcile()
        ids = {artefact["source"]: artefact["id"] for artefact in research_client.list_records("artefacts")}
        (output,) = research_client.list_records("outputs")
        assert (output["title"], output["year"], output["venueId"]) == ("By OpenAlex", 2020, "neurips")
        assert output["provenance"]["year"] == output["provenance"]["venueId"] == ids["orcid"]
        assert SOURCE_PRECEDENCE == ("dblp", "openalex", "orcid")

    @pytest.mark.parametrize(
        "identifier",
        [{"doi": "10.5555/a"}, {"arxiv": "2501.00001"}, {"pmid": "12345"}],
        ids=lambda identifier: str(*identifier),
    )
    def test_joins_artefacts_by_each_identifier(self, research_client, research_sources, identifier):
        research_sources.set_works(
            [build_work("One", put_code=1, **identifier), build_work("Other", openalex="W1", **identifier)]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"]["created"] == 1

    def test_joins_two_artefacts_through_a_third(self, research_client, research_sources):
        research_sources.set_works(
            [
                build_work("One", put_code=1, doi="10.5555/a"),
                build_work("Two", put_code=2, pmid="7"),
                build_work("Three", openalex="W1", doi="10.5555/a", pmid="7"),
            ]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"]["created"] == 1

    def test_joins_a_preprint_by_the_doi_that_arxiv_assigns(self, research_client, research_sources):
        research_sources.set_works(
            [
                build_work("One", put_code=1, doi="10.48550/arXiv.2501.00001"),
                build_work("Two", openalex="W1", arxiv="2501.00001v3"),
            ]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"]["created"] == 1

    def test_only_proposes_to_merge_similar_works(self, research_client, research_sources):
        research_sources.set_works(
            [
                build_work("Über Kilns: a Study", openalex="W1"),
                build_work("uber kilns - a study", openalex="W2", year=2021),
                build_work("Über Kilns: a Study", openalex="W3", year=2030),
                Work("Über Kilns: a Study", 2020, [TERRA, CARBERRY], openalex="W4"),
            ]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"] == {"created": 4, "updated": 0, "unchanged": 0, "conflicts": 1}
        assert research_client.reconcile()["counts"] == {"created": 0, "updated": 0, "unchanged": 4, "conflicts": 1}

    def test_repeated_reconcile_changes_nothing(self, research_client, research_sources):
        research_sources.set_works(build_works(5))
        research_client.import_works()
        research_client.reconcile()
        records_before = research_client.list_records("outputs"), research_client.list_records("artefacts")
        assert research_client.reconcile()["counts"] == {"created": 0, "updated": 0, "unchanged": 5, "conflicts": 0}
        research_client.import_works()
        assert research_client.reconcile()["counts"]["unchanged"] == 5
        assert (research_client.list_records("outputs"), research_client.list_records("artefacts")) == records_before

    def test_joins_more_artefacts_than_one_transaction_holds(self, research_client, research_sources):
        research_sources.set_works([build_work(f"Name {n}", doi="10.5555/a", put_code=n + 1) for n in range(45)])
        research_client.import_works()
        research_client.reconcile()
        (output,) = research_client.list_records("outputs")
        assert len(output["artefactIds"]) == 45
        assert output["title"] == "Name 0"
        assert {artefact["outputId"] for artefact in research_client.list_records("artefacts")} == {output["id"]}


class TestChangedArtefacts:
    def test_merge_outputs_into_the_earliest_and_the_other_redirects(self, research_client, research_sources, stranger):
        separate_works = [build_work("One", put_code=1, doi="10.5555/a"), build_work("Two", put_code=2, pmid="7")]
        research_sources.set_works(separate_works)
        research_client.import_works()
        research_client.reconcile()
        first, second = research_client.list_records("outputs")
        research_sources.set_works(separate_works, [build_work("Both", openalex="W1", doi="10.5555/a", pmid="7")])
        research_client.import_works()
        assert research_client.reconcile()["counts"]["created"] == 0
        (merged_output,) = research_client.list_records("outputs")
        assert (merged_output["id"], len(merged_output["artefactIds"])) == (first["id"], 3)
        path = f"/research/outputs/{second['id']}"
        redirect = research_client.api.get(path, caller=research_client.caller)
        assert (redirect.status, redirect.location) == (301, f"/research/outputs/{first['id']}")
        assert research_client.api.get(path, caller=stranger).status == 404
        assert len(research_client.list_records("outputs", researcherId=CARBERRY.orcid)) == 1

    def test_split_an_output(self, research_client, research_sources):
        research_sources.set_works(
            [build_work("One", put_code=1, doi="10.5555/a"), build_work("Two", put_code=2, doi="10.5555/a")]
        )
        research_client.import_works()
        research_client.reconcile()
        (output_before,) = research_client.list_records("outputs")
        research_sources.set_works(
            [build_work("One", put_code=1, doi="10.5555/a"), build_work("Two", put_code=2, doi="10.5555/b")]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"] == {"created": 1, "updated": 1, "unchanged": 0, "conflicts": 0}
        one, two = research_client.list_records("outputs")
        assert (one["id"], one["doi"], two["doi"]) == (output_before["id"], "10.5555/a", "10.5555/b")
        assert [len(output["artefactIds"]) for output in (one, two)] == [1, 1]


class TestListOutputs:
    @pytest.fixture(autouse=True)
    def _reconciled_works(self, research_client: ResearchClient, research_sources: FakeSources) -> None:
        research_sources.set_works(
            [
                build_work("A", doi="10.5555/a", put_code=1, year=2020, venue="NeurIPS"),
                build_work("B", doi="10.5555/b", put_code=2, year=2021, venue="NeurIPS"),
                build_work("C", put_code=3, year=2021, venue="ICML"),
                build_work("D", by=POTTER, put_code=4, year=2021, venue="ICML"),
            ]
        )
        research_client.import_works()
        research_client.import_works(POTTER.orcid or "")
        research_client.reconcile()

    @pytest.mark.parametrize(
        ("filters", "expected_titles"),
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
    def test_filters_by_each_parameter_and_combinations(self, research_client, filters, expected_titles):
        assert sorted_titles(research_client.list_records("outputs", **filters)) == [*expected_titles]
        assert sorted_titles(research_client.list_records("outputs", **filters, limit=1)) == [*expected_titles]

    def test_rejects_an_invalid_doi_and_year(self, research_client):
        for name, invalid in (("doi", "W1"), ("year", "soon")):
            answer = research_client.api.get("/research/outputs", caller=research_client.caller, query={name: invalid})
            assert list(answer.errors) == [f"query/{name}"]


class TestOrganizationLibrary:
    @pytest.fixture
    def organization_library(
        self,
        api: ApiClient,
        workers: Workers,
        research_sources: FakeSources,
        organization: CreatedOrganization,
        edith: Person,
    ) -> ResearchClient:
        research_sources.set_works(build_works(1))
        organization_library = ResearchClient(api, workers, edith, organization.id)
        organization_library.import_works()
        organization_library.reconcile()
        return organization_library

    def test_members_see_its_outputs_and_a_reconcile_changes_only_its_own(
        self, organization_library, mary, stranger, organization
    ):
        (output,) = organization_library.list_records("outputs")
        path = f"/research/outputs/{output['id']}"
        key = create_api_key(organization_library.api, organization)
        assert [organization_library.api.get(path, caller=caller).status for caller in (mary, key, stranger)] == [
            200,
            200,
            404,
        ]
        user_job = ResearchClient(
            organization_library.api, organization_library.workers, organization_library.caller
        ).reconcile()
        assert user_job["counts"] == {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0}

    def test_a_job_is_visible_only_to_its_creator(self, organization_library, grace, organization):
        answer = organization_library.post_job("/research/reconcile", {"organizationId": organization.id})
        assert organization_library.api.get(answer.location, caller=organization_library.caller).status == 200
        assert organization_library.api.get(answer.location, caller=grace).status_and_code == "404 not_found"
