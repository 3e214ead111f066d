"""Test merge proposals for similar outputs, with and without authors in the source."""

import re
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.research.logic.merge_proposals import count_outputs_and_proposals
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from local.server.stub_sources import Researcher, Work
from tests.harness import aws_calls, memory_aws
from tests.harness.research_sources import CARBERRY, POTTER, FakeSources, ResearchClient, build_works

TERRA = Researcher("Terra Ware")


def build_work(title: str, *, by: Researcher = CARBERRY, year: int = 2020, **fields: Any) -> Work:
    """Build a work of a researcher."""
    return Work(title, year, [by], **fields)


WITH_AUTHORS = build_work("On Kilns: a Study", openalex="W1")
WITHOUT_AUTHORS = build_work("on kilns - a study", put_code=1, year=2021)
"""ORCID's summaries list no authors."""


class TestWorkWithoutAuthors:
    @pytest.mark.parametrize(
        ("first", "second"),
        [(WITH_AUTHORS, WITHOUT_AUTHORS), (WITHOUT_AUTHORS, WITH_AUTHORS)],
        ids=["listed later", "listed first"],
    )
    def test_is_proposed_with_one_of_the_same_title_and_researcher(
        self, research_client, research_sources, first, second
    ):
        research_sources.set_works([first])
        research_client.import_works()
        assert research_client.reconcile()["counts"]["conflicts"] == 0
        research_sources.set_works([first, second])
        research_client.import_works()
        assert research_client.reconcile()["counts"] == {"created": 1, "updated": 0, "unchanged": 1, "conflicts": 1}
        assert research_client.reconcile()["counts"] == {"created": 0, "updated": 0, "unchanged": 2, "conflicts": 1}

    @pytest.mark.parametrize(
        ("other", "expected_conflicts"),
        [
            (build_work("On Kilns: a Study", put_code=2, year=2021), 1),
            (build_work("On Kilns: a Study", put_code=2, year=2023), 0),
            (build_work("On Glazes", put_code=2, year=2021), 0),
            (Work("On Kilns: a Study", None, [CARBERRY], put_code=2), 0),
            (build_work("On Kilns: a Study", by=POTTER, put_code=2, year=2021), 0),
            (Work("On Kilns: a Study", 2021, [POTTER, CARBERRY], openalex="W2"), 1),
            (Work("On Kilns: a Study", 2021, [TERRA, POTTER], openalex="W2"), 0),
        ],
        ids=[
            "neither lists authors",
            "years apart",
            "another title",
            "no year",
            "another researcher",
            "not the first author",
            "another author",
        ],
    )
    def test_is_proposed_only_within_a_year_and_for_the_same_researcher(
        self, research_client, research_sources, other, expected_conflicts
    ):
        research_sources.set_works([WITHOUT_AUTHORS, other])
        research_client.import_works()
        research_client.import_works(POTTER.orcid or "")
        assert research_client.reconcile()["counts"] == {
            "created": 2,
            "updated": 0,
            "unchanged": 0,
            "conflicts": expected_conflicts,
        }

    def test_counts_the_merges_that_would_unite_several_works(self, research_client, research_sources):
        by_both = [CARBERRY, POTTER]
        research_sources.set_works(
            [
                WITHOUT_AUTHORS,
                build_work("On Kilns: a Study", put_code=2),
                Work("On Kilns: a Study", 2020, by_both, openalex="W1"),
                Work("On Kilns: a Study", 2021, by_both, openalex="W2"),
            ]
        )
        research_client.import_works()
        research_client.import_works(POTTER.orcid or "")
        assert research_client.reconcile()["counts"] == {"created": 4, "updated": 0, "unchanged": 0, "conflicts": 3}

    def test_is_proposed_with_each_of_two_works_of_other_authors(self, research_client, research_sources):
        research_sources.set_works(
            [WITHOUT_AUTHORS, WITH_AUTHORS, Work("On Kilns: a Study", 2022, [TERRA, CARBERRY], openalex="W2")]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"]["conflicts"] == 2

    def test_is_no_longer_proposed_once_a_source_lists_its_authors(self, research_client, research_sources):
        research_sources.set_works([WITHOUT_AUTHORS, Work("On Kilns: a Study", 2021, [TERRA, CARBERRY], openalex="W1")])
        research_client.import_works()
        assert research_client.reconcile()["counts"]["conflicts"] == 1
        with_authors = build_work("on kilns - a study", put_code=1, year=2021, doi="10.5555/a")
        same_doi = build_work("on kilns - a study", openalex="W2", year=2021, doi="10.5555/a")
        research_sources.set_works(
            [with_authors, same_doi, Work("On Kilns: a Study", 2021, [TERRA, CARBERRY], openalex="W1")]
        )
        research_client.import_works()
        assert research_client.reconcile()["counts"] == {"created": 0, "updated": 1, "unchanged": 1, "conflicts": 0}


class TestOutputsStoredBeforeProposals:
    """Their comparison rows contained only keys and ids."""

    @pytest.fixture
    def older_library(self, research_client: ResearchClient, research_sources: FakeSources) -> ResearchClient:
        research_sources.set_works([WITHOUT_AUTHORS, WITH_AUTHORS, *build_works(5)[2:]])
        research_client.import_works()
        research_client.reconcile()
        for row in comparison_rows():
            memory_aws.put_item({name: row[name] for name in ("pk", "sk", "id")})
        return research_client

    def test_are_compared_by_their_fields_and_afterwards_by_their_rows(self, older_library):
        expected_rows = expected_comparison_rows()
        assert comparison_rows() != expected_rows
        assert older_library.reconcile()["counts"] == {"created": 0, "updated": 0, "unchanged": 5, "conflicts": 1}
        assert comparison_rows() == expected_rows
        assert count_outputs_and_proposals(older_library.caller.id) == (5, 1)
        with aws_calls.record_calls() as recorded_calls:
            assert count_outputs_and_proposals(older_library.caller.id) == (5, 1)
        assert recorded_calls.call_names == ["dynamodb:Query"]

    def test_concurrent_changes_of_rows_are_not_overwritten(self, older_library, monkeypatch):
        get_all, expected_rows = table.get_all, expected_comparison_rows()
        first, *other_rows = expected_rows
        changed_row = {**first, "researcher_ids": ["A1"]}

        def change_row_after_read(keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
            items = get_all(keys)
            memory_aws.put_item(changed_row)
            return items

        with monkeypatch.context() as patch:
            patch.setattr(table, "get_all", change_row_after_read)
            count_outputs_and_proposals(older_library.caller.id)
        assert first == expected_rows[0]
        assert changed_row in comparison_rows()
        count_outputs_and_proposals(older_library.caller.id)
        assert comparison_rows() == [changed_row, *other_rows]

    def test_deleted_outputs_are_no_longer_compared(self, older_library):
        (deleted_output,) = [
            item for item in older_library.list_records("outputs") if item["title"] == WITH_AUTHORS.title
        ]
        memory_aws.delete_item({"pk": f"RO#{deleted_output['id']}", "sk": deleted_output["id"]})
        rows_before = comparison_rows()
        assert count_outputs_and_proposals(older_library.caller.id) == (5, 0)
        (row,) = [row for row in comparison_rows() if row["id"] == deleted_output["id"]]
        assert row in rows_before


def comparison_rows() -> list[Item]:
    """Return the stored rows that outputs are compared by."""
    return sorted(
        (row for row in memory_aws.all_items() if re.fullmatch("RL#[^#]+#S", row["pk"])), key=itemgetter("sk")
    )


def expected_comparison_rows() -> list[Item]:
    """Return the comparison rows that the current outputs would store."""
    outputs = [
        ResearchOutput.from_item(item) for item in memory_aws.all_items() if item.get("kind") == ResearchOutput.kind
    ]
    return sorted((output.comparison_item for output in outputs), key=itemgetter("sk"))
