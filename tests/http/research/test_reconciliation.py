"""Test reconciles: which artefacts form one output, its fields, later changes, and proposals to merge outputs."""

import re
from dataclasses import replace
from operator import itemgetter

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.research.logic.merge_proposals import count_outputs_and_proposals
from chalicelib.features.research.logic.record_rules import SOURCE_PRECEDENCE
from local.server.stub_sources import Researcher, Work
from tests.harness import aws_calls, memory_aws
from tests.harness.api import Json
from tests.harness.faults import run_before_call
from tests.harness.organizations import create_api_key
from tests.harness.research_sources import CARBERRY, POTTER, ResearchClient, build_work, build_works, job_counts

TERRA = Researcher("Terra Ware")
DOI = "10.5555/a"
TITLE = "On Kilns: a Study"
WITH_AUTHORS = build_work(TITLE, openalex="W1")
WITHOUT_AUTHORS = build_work("on kilns - a study", put_code=1, year=2021)
"""ORCID's summaries list no authors."""


@pytest.fixture
def reconcile(research_client, research_sources):
    """A function that imports the works of both researchers, or of one, and returns the job of the reconcile."""

    def reconcile(*works: Work, potter: bool = False) -> Json:
        research_sources.set_works(works)
        for researcher in (CARBERRY, POTTER)[: 1 + potter]:
            research_client.import_works(str(researcher.orcid))
        return research_client.reconcile()

    return reconcile


class TestReconcile:
    def test_builds_one_output_from_artefacts_with_a_common_identifier(self, research_client, reconcile):
        job = reconcile(
            build_work("By ORCID", doi="10.5555/ABC", put_code=1),
            build_work("By OpenAlex", doi="10.5555/abc", openalex="W1", venue="NeurIPS", kind="conference-paper"),
        )
        assert (job["status"], job["kind"], job["counts"]) == ("completed", "reconcile", job_counts(created=1))
        artefacts = {artefact["source"]: artefact["id"] for artefact in research_client.list_records("artefacts")}
        (output,) = research_client.list_records("outputs")
        fields = {"title": "By OpenAlex", "type": "conference-paper", "year": 2020, "venueId": "neurips"}
        fields |= {"doi": "10.5555/abc", "authors": [{"name": "Josiah Carberry", "orcid": CARBERRY.orcid}]}
        ids = {"researcherIds": [CARBERRY.orcid, CARBERRY.author_id]}
        ids |= {"artefactIds": [artefacts["openalex"], artefacts["orcid"]]}
        provenance = dict.fromkeys(fields, artefacts["openalex"])
        assert output | {**fields, **ids, "provenance": provenance, "version": 1} == output
        assert {artefact["outputId"] for artefact in research_client.list_records("artefacts")} == {output["id"]}
        assert research_client.get(f"/research/outputs/{output['id']}").json == output

    def test_takes_each_field_from_the_preferred_source_that_has_it(self, research_client, reconcile):
        reconcile(
            build_work("By ORCID", doi=DOI, put_code=1, venue="NIPS"),
            Work("By OpenAlex", None, [CARBERRY], doi=DOI, openalex="W1"),
        )
        ids = {artefact["source"]: artefact["id"] for artefact in research_client.list_records("artefacts")}
        (output,) = research_client.list_records("outputs")
        assert (output["title"], output["year"], output["venueId"]) == ("By OpenAlex", 2020, "neurips")
        assert output["provenance"]["year"] == output["provenance"]["venueId"] == ids["orcid"]
        assert SOURCE_PRECEDENCE == ("dblp", "openalex", "orcid")

    @pytest.mark.parametrize(
        "identifiers",
        [
            ({"doi": DOI}, {"doi": DOI}),
            ({"arxiv": "2501.00001"}, {"arxiv": "2501.00001"}),
            ({"pmid": "12345"}, {"pmid": "12345"}),
            ({"doi": DOI}, {"doi": DOI, "pmid": "7"}, {"pmid": "7"}),  # Two are joined through a third.
            ({"doi": "10.48550/arXiv.2501.00001"}, {"arxiv": "2501.00001v3"}),  # arXiv assigns this DOI.
        ],
        ids=["doi", "arxiv", "pmid", "third", "preprint"],
    )
    def test_joins_artefacts_by_each_identifier(self, reconcile, identifiers):
        sources: list[Json] = [{"put_code": 1}, {"openalex": "W1"}, {"put_code": 2}]
        works = [build_work("Part", **ids, **source) for ids, source in zip(identifiers, sources, strict=False)]
        assert reconcile(*works)["counts"] == job_counts(created=1)

    def test_only_proposes_to_merge_similar_works(self, research_client, reconcile):
        title = "Über Kilns: a Study"
        job = reconcile(
            build_work(title, openalex="W1"),
            build_work("uber kilns - a study", openalex="W2", year=2021),
            build_work(title, openalex="W3", year=2030),
            Work(title, 2020, [TERRA, CARBERRY], openalex="W4"),
        )
        assert job["counts"] == job_counts(created=4, conflicts=1)
        assert research_client.reconcile()["counts"] == job_counts(unchanged=4, conflicts=1)

    def test_repeated_reconcile_changes_nothing(self, research_client, reconcile):
        reconcile(*build_works(5))
        before = research_client.list_records("outputs"), research_client.list_records("artefacts")
        assert research_client.reconcile()["counts"] == job_counts(unchanged=5)
        research_client.import_works()
        assert research_client.reconcile()["counts"]["unchanged"] == 5
        assert (research_client.list_records("outputs"), research_client.list_records("artefacts")) == before

    def test_joins_more_artefacts_than_one_transaction_holds(self, research_client, reconcile):
        reconcile(*(build_work(f"Name {n}", doi=DOI, put_code=n + 1) for n in range(45)))
        (output,) = research_client.list_records("outputs")
        assert len(output["artefactIds"]) == 45
        assert output["title"] == "Name 0"
        assert {artefact["outputId"] for artefact in research_client.list_records("artefacts")} == {output["id"]}


class TestChangedArtefacts:
    def test_merge_outputs_into_the_earliest_and_the_other_redirects(self, research_client, reconcile, stranger):
        works = [build_work("One", put_code=1, doi=DOI), build_work("Two", put_code=2, pmid="7")]
        reconcile(*works)
        first, second = research_client.list_records("outputs")
        job = reconcile(*works, build_work("Both", openalex="W1", doi=DOI, pmid="7"))
        assert job["counts"]["created"] == 0
        (merged,) = research_client.list_records("outputs")
        assert (merged["id"], len(merged["artefactIds"])) == (first["id"], 3)
        path = f"/research/outputs/{second['id']}"
        redirect = research_client.get(path)
        assert (redirect.status, redirect.location) == (301, f"/research/outputs/{first['id']}")
        assert research_client.api.get(path, caller=stranger).status == 404
        assert len(research_client.list_records("outputs", researcherId=CARBERRY.orcid)) == 1

    def test_split_an_output(self, research_client, reconcile):
        one = build_work("One", put_code=1, doi=DOI)
        reconcile(one, build_work("Two", put_code=2, doi=DOI))
        (before,) = research_client.list_records("outputs")
        job = reconcile(one, build_work("Two", put_code=2, doi="10.5555/b"))
        assert job["counts"] == job_counts(created=1, updated=1)
        first, second = research_client.list_records("outputs")
        assert (first["id"], first["doi"], second["doi"]) == (before["id"], DOI, "10.5555/b")
        assert [len(output["artefactIds"]) for output in (first, second)] == [1, 1]


def test_outputs_are_filtered_by_each_parameter_and_combinations(research_client, research_sources):
    research_sources.set_works(
        [
            build_work("A", doi=DOI, put_code=1, year=2020, venue="NeurIPS"),
            build_work("B", doi="10.5555/b", put_code=2, year=2021, venue="NeurIPS"),
            build_work("C", put_code=3, year=2021, venue="ICML"),
            build_work("D", by=POTTER, put_code=4, year=2021, venue="ICML"),
        ]
    )
    for researcher in (CARBERRY, POTTER):
        research_client.import_works(researcher.orcid)
    research_client.reconcile()
    cases: list[tuple[Json, str]] = [
        ({}, "ABCD"),
        ({"researcherId": CARBERRY.orcid}, "ABC"),
        ({"venueId": "neurips"}, "AB"),
        ({"year": 2021}, "BCD"),
        ({"doi": "https://doi.org/10.5555/B"}, "B"),
        ({"researcherId": POTTER.orcid, "year": 2021}, "D"),
        ({"venueId": "icml", "year": 2021}, "CD"),
        ({"doi": DOI, "year": 2021}, ""),
        ({"researcherId": CARBERRY.orcid, "venueId": "icml", "year": 2021}, "C"),
        ({"venueId": "chi"}, ""),
    ]
    for filters, titles in cases:
        for limit in (1, 100):
            outputs = research_client.list_records("outputs", **filters, limit=limit)
            assert sorted(output["title"] for output in outputs) == [*titles], filters
    for name, invalid in (("doi", "W1"), ("year", "soon")):
        assert [*research_client.get("/research/outputs", **{name: invalid}).errors] == [f"query/{name}"]


def test_members_see_the_outputs_of_an_organization_and_only_the_creator_sees_the_job(
    api, workers, research_sources, organization, edith, mary, grace, stranger
):
    research_sources.set_works(build_works(1))
    library = ResearchClient(api, workers, edith, organization.id)
    library.import_works()
    library.reconcile()
    (output,) = library.list_records("outputs")
    key = create_api_key(api, organization)
    path = f"/research/outputs/{output['id']}"
    assert [api.get(path, caller=caller).status for caller in (mary, key, stranger)] == [200, 200, 404]
    # A reconcile of a user's library changes only that.
    assert ResearchClient(api, workers, edith).reconcile()["counts"] == job_counts()
    answer = library.post_job("/research/reconcile", {"organizationId": organization.id})
    assert [api.get(answer.location, caller=caller).status for caller in (edith, grace)] == [200, 404]


class TestWorkWithoutAuthors:
    @pytest.mark.parametrize("first", [WITH_AUTHORS, WITHOUT_AUTHORS], ids=["listed later", "listed first"])
    def test_is_proposed_with_one_of_the_same_title_and_researcher(self, research_client, reconcile, first):
        second = WITHOUT_AUTHORS if first is WITH_AUTHORS else WITH_AUTHORS
        assert reconcile(first)["counts"]["conflicts"] == 0
        assert reconcile(first, second)["counts"] == job_counts(created=1, unchanged=1, conflicts=1)
        assert research_client.reconcile()["counts"] == job_counts(unchanged=2, conflicts=1)

    @pytest.mark.parametrize(
        ("other", "conflicts"),
        [
            pytest.param(build_work(TITLE, put_code=2, year=2021), 1, id="neither lists authors"),
            pytest.param(build_work(TITLE, put_code=2, year=2023), 0, id="years apart"),
            pytest.param(Work(TITLE, None, [CARBERRY], put_code=2), 0, id="no year"),
            pytest.param(build_work(TITLE, by=POTTER, put_code=2, year=2021), 0, id="another researcher"),
            pytest.param(Work(TITLE, 2021, [POTTER, CARBERRY], openalex="W2"), 1, id="not the first author"),
            pytest.param(Work(TITLE, 2021, [TERRA, POTTER], openalex="W2"), 0, id="another author"),
        ],
    )
    def test_is_proposed_only_within_a_year_and_for_the_same_researcher(self, reconcile, other, conflicts):
        assert reconcile(WITHOUT_AUTHORS, other, potter=True)["counts"] == job_counts(created=2, conflicts=conflicts)

    def test_is_no_longer_proposed_once_a_source_lists_its_authors(self, reconcile):
        other = Work(TITLE, 2021, [TERRA, CARBERRY], openalex="W1")
        assert reconcile(WITHOUT_AUTHORS, other)["counts"]["conflicts"] == 1
        by_orcid = replace(WITHOUT_AUTHORS, doi="10.5555/a")
        by_openalex = replace(by_orcid, put_code=None, openalex="W2")
        assert reconcile(by_orcid, by_openalex, other)["counts"] == job_counts(updated=1, unchanged=1)


class TestOutputsStoredBeforeProposals:
    """Their comparison rows contained only keys and ids."""

    @pytest.fixture
    def older_library(self, research_client, reconcile):
        reconcile(WITHOUT_AUTHORS, WITH_AUTHORS, *build_works(5)[2:])
        for row in comparison_rows():
            memory_aws.put_item({name: row[name] for name in ("pk", "sk", "id")})
        return research_client

    def test_are_compared_by_their_fields_and_afterwards_by_their_rows(self, older_library):
        expected_rows = expected_comparison_rows()
        assert comparison_rows() != expected_rows
        assert older_library.reconcile()["counts"] == job_counts(unchanged=5, conflicts=1)
        assert comparison_rows() == expected_rows
        assert count_outputs_and_proposals(older_library.caller.id) == (5, 1)
        with aws_calls.record_calls() as recorded_calls:
            assert count_outputs_and_proposals(older_library.caller.id) == (5, 1)
        assert recorded_calls.call_names == ["dynamodb:Query"]

    def test_concurrent_changes_of_rows_are_not_overwritten(self, older_library):
        expected_rows = expected_comparison_rows()
        changed_row = {**expected_rows[0], "researcher_ids": ["A1"]}
        with run_before_call(lambda: memory_aws.put_item(changed_row), call_number=3) as interleaving:
            count_outputs_and_proposals(older_library.caller.id)
        assert interleaving.interrupted_call == "dynamodb:TransactWriteItems"
        assert changed_row in comparison_rows()
        count_outputs_and_proposals(older_library.caller.id)
        assert comparison_rows() == [changed_row, *expected_rows[1:]]

    def test_deleted_outputs_are_no_longer_compared(self, older_library):
        (deleted,) = [item for item in older_library.list_records("outputs") if item["title"] == TITLE]
        memory_aws.delete_item({"pk": f"RO#{deleted['id']}", "sk": deleted["id"]})
        rows_before = comparison_rows()
        assert count_outputs_and_proposals(older_library.caller.id) == (5, 0)
        (row,) = [row for row in comparison_rows() if row["id"] == deleted["id"]]
        assert row in rows_before


def comparison_rows():
    """Return the stored rows that outputs are compared by."""
    rows = [row for row in memory_aws.all_items() if re.fullmatch("RL#[^#]+#S", row["pk"])]
    return sorted(rows, key=itemgetter("sk"))


def expected_comparison_rows():
    """Return the comparison rows that the current outputs would store."""
    items = [item for item in memory_aws.all_items() if item.get("kind") == ResearchOutput.kind]
    return sorted((ResearchOutput.from_item(item).comparison_item for item in items), key=itemgetter("sk"))
