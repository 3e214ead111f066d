"""Test merge proposals for similar outputs, with and without authors in the source."""

import re
from dataclasses import replace
from operator import itemgetter

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.research.logic.merge_proposals import count_outputs_and_proposals
from chalicelib.kernel.storage import table
from local.server.stub_sources import Researcher, Work
from tests.harness import aws_calls, memory_aws
from tests.harness.research_sources import CARBERRY, POTTER, build_work, build_works, job_counts

TERRA = Researcher("Terra Ware")
TITLE = "On Kilns: a Study"
WITH_AUTHORS = build_work(TITLE, openalex="W1")
WITHOUT_AUTHORS = build_work("on kilns - a study", put_code=1, year=2021)
"""ORCID's summaries list no authors."""


@pytest.fixture
def reconcile(research_client, research_sources):
    """A function that imports the works of both researchers, or of one, and returns the counts of the reconcile."""

    def reconcile(*works: Work, potter: bool = False) -> dict[str, int]:
        research_sources.set_works(works)
        research_client.import_works()
        if potter:
            research_client.import_works(str(POTTER.orcid))
        counts: dict[str, int] = research_client.reconcile()["counts"]
        return counts

    return reconcile


class TestWorkWithoutAuthors:
    @pytest.mark.parametrize("first", [WITH_AUTHORS, WITHOUT_AUTHORS], ids=["listed later", "listed first"])
    def test_is_proposed_with_one_of_the_same_title_and_researcher(self, research_client, reconcile, first):
        second = WITHOUT_AUTHORS if first is WITH_AUTHORS else WITH_AUTHORS
        assert reconcile(first)["conflicts"] == 0
        assert reconcile(first, second) == job_counts(created=1, unchanged=1, conflicts=1)
        assert research_client.reconcile()["counts"] == job_counts(unchanged=2, conflicts=1)

    @pytest.mark.parametrize(
        ("other", "conflicts"),
        [
            pytest.param(build_work(TITLE, put_code=2, year=2021), 1, id="neither lists authors"),
            pytest.param(build_work(TITLE, put_code=2, year=2023), 0, id="years apart"),
            pytest.param(build_work("On Glazes", put_code=2, year=2021), 0, id="another title"),
            pytest.param(Work(TITLE, None, [CARBERRY], put_code=2), 0, id="no year"),
            pytest.param(build_work(TITLE, by=POTTER, put_code=2, year=2021), 0, id="another researcher"),
            pytest.param(Work(TITLE, 2021, [POTTER, CARBERRY], openalex="W2"), 1, id="not the first author"),
            pytest.param(Work(TITLE, 2021, [TERRA, POTTER], openalex="W2"), 0, id="another author"),
        ],
    )
    def test_is_proposed_only_within_a_year_and_for_the_same_researcher(self, reconcile, other, conflicts):
        assert reconcile(WITHOUT_AUTHORS, other, potter=True) == job_counts(created=2, conflicts=conflicts)

    def test_counts_the_merges_that_would_unite_several_works(self, reconcile):
        by_both = [Work(TITLE, 2019 + n, [CARBERRY, POTTER], openalex=f"W{n}") for n in (1, 2)]
        works = [WITHOUT_AUTHORS, build_work(TITLE, put_code=2), *by_both]
        assert reconcile(*works, potter=True) == job_counts(created=4, conflicts=3)

    def test_is_proposed_with_each_of_two_works_of_other_authors(self, reconcile):
        other = Work(TITLE, 2022, [TERRA, CARBERRY], openalex="W2")
        assert reconcile(WITHOUT_AUTHORS, WITH_AUTHORS, other)["conflicts"] == 2

    def test_is_no_longer_proposed_once_a_source_lists_its_authors(self, reconcile):
        other = Work(TITLE, 2021, [TERRA, CARBERRY], openalex="W1")
        assert reconcile(WITHOUT_AUTHORS, other)["conflicts"] == 1
        by_orcid = replace(WITHOUT_AUTHORS, doi="10.5555/a")
        by_openalex = replace(by_orcid, put_code=None, openalex="W2")
        assert reconcile(by_orcid, by_openalex, other) == job_counts(updated=1, unchanged=1)


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

    def test_concurrent_changes_of_rows_are_not_overwritten(self, older_library, monkeypatch):
        get_all, expected_rows = table.get_all, expected_comparison_rows()
        changed_row = {**expected_rows[0], "researcher_ids": ["A1"]}

        def change_row_after_read(keys: object) -> object:
            items = get_all(keys)  # type: ignore[arg-type]
            memory_aws.put_item(changed_row)
            return items

        with monkeypatch.context() as patch:
            patch.setattr(table, "get_all", change_row_after_read)
            count_outputs_and_proposals(older_library.caller.id)
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
