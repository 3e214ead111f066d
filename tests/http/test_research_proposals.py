"""Works that look like one: what a reconcile proposes, and never does, where sources list authors and where not."""

import re
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.research.logic.merge_proposals import count_proposals
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from local.server.stub_sources import Researcher, Work
from tests.harness import calls, cloud
from tests.harness.sources import CARBERRY, POTTER, Library, World, works

TERRA = Researcher("Terra Ware")


def known(title: str, *, by: Researcher = CARBERRY, year: int = 2020, **fields: Any) -> Work:
    """A work of a researcher, by title."""
    return Work(title, year, [by], **fields)


WITH_AUTHORS = known("On Kilns: a Study", openalex="W1")
WITHOUT_AUTHORS = known("on kilns - a study", put_code=1, year=2021)
"""ORCID's summaries list none."""


class TestAWorkWithoutAuthors:
    @pytest.mark.parametrize(
        ("first", "second"),
        [(WITH_AUTHORS, WITHOUT_AUTHORS), (WITHOUT_AUTHORS, WITH_AUTHORS)],
        ids=["listed later", "listed first"],
    )
    def test_is_proposed_with_one_of_the_same_title_and_researcher(
        self, library: Library, world: World, first: Work, second: Work
    ) -> None:
        world.knows([first])
        library.imported()
        assert library.reconciled()["counts"]["conflicts"] == 0
        world.knows([first, second])
        library.imported()
        assert library.reconciled()["counts"] == {"created": 1, "updated": 0, "unchanged": 1, "conflicts": 1}
        assert library.reconciled()["counts"] == {"created": 0, "updated": 0, "unchanged": 2, "conflicts": 1}

    @pytest.mark.parametrize(
        ("other", "proposed"),
        [
            (known("On Kilns: a Study", put_code=2, year=2021), 1),
            (known("On Kilns: a Study", put_code=2, year=2023), 0),
            (known("On Glazes", put_code=2, year=2021), 0),
            (Work("On Kilns: a Study", None, [CARBERRY], put_code=2), 0),
            (known("On Kilns: a Study", by=POTTER, put_code=2, year=2021), 0),
            (Work("On Kilns: a Study", 2021, [POTTER, CARBERRY], openalex="W2"), 1),
            (Work("On Kilns: a Study", 2021, [TERRA, POTTER], openalex="W2"), 0),
        ],
        ids=[
            "neither lists any",
            "years apart",
            "another title",
            "no year",
            "another researcher",
            "not the first",
            "another author",
        ],
    )
    def test_is_proposed_within_a_year_and_for_one_researcher_only(
        self, library: Library, world: World, other: Work, proposed: int
    ) -> None:
        world.knows([WITHOUT_AUTHORS, other])
        library.imported()
        library.imported(POTTER.orcid or "")
        assert library.reconciled()["counts"] == {"created": 2, "updated": 0, "unchanged": 0, "conflicts": proposed}

    def test_counts_the_merges_that_would_make_one_of_several(self, library: Library, world: World) -> None:
        by_both = [CARBERRY, POTTER]
        world.knows(
            [
                WITHOUT_AUTHORS,
                known("On Kilns: a Study", put_code=2),
                Work("On Kilns: a Study", 2020, by_both, openalex="W1"),
                Work("On Kilns: a Study", 2021, by_both, openalex="W2"),
            ]
        )
        library.imported()
        library.imported(POTTER.orcid or "")
        assert library.reconciled()["counts"] == {"created": 4, "updated": 0, "unchanged": 0, "conflicts": 3}

    def test_of_two_that_list_others_proposes_each_with_itself(self, library: Library, world: World) -> None:
        world.knows([WITHOUT_AUTHORS, WITH_AUTHORS, Work("On Kilns: a Study", 2022, [TERRA, CARBERRY], openalex="W2")])
        library.imported()
        assert library.reconciled()["counts"]["conflicts"] == 2

    def test_is_one_no_more_once_a_source_lists_its_authors(self, library: Library, world: World) -> None:
        world.knows([WITHOUT_AUTHORS, Work("On Kilns: a Study", 2021, [TERRA, CARBERRY], openalex="W1")])
        library.imported()
        assert library.reconciled()["counts"]["conflicts"] == 1
        listed = known("on kilns - a study", put_code=1, year=2021, doi="10.5555/a")
        also = known("on kilns - a study", openalex="W2", year=2021, doi="10.5555/a")
        world.knows([listed, also, Work("On Kilns: a Study", 2021, [TERRA, CARBERRY], openalex="W1")])
        library.imported()
        assert library.reconciled()["counts"] == {"created": 0, "updated": 1, "unchanged": 1, "conflicts": 0}


class TestOutputsStoredBeforeTheseWereCompared:
    """The rows that they are compared by said nothing but what was in their keys."""

    @pytest.fixture
    def older(self, library: Library, world: World) -> Library:
        world.knows([WITHOUT_AUTHORS, WITH_AUTHORS, *works(5)[2:]])
        library.imported()
        library.reconciled()
        for row in shelf():
            cloud.put({name: row[name] for name in ("pk", "sk", "id")})
        return library

    def test_are_compared_by_what_they_say_and_from_then_on_by_their_rows(self, older: Library) -> None:
        today = shelf_of_today()
        assert shelf() != today
        assert older.reconciled()["counts"] == {"created": 0, "updated": 0, "unchanged": 5, "conflicts": 1}
        assert shelf() == today
        assert count_proposals(older.caller.id) == (5, 1)
        with calls.recorded() as made:
            assert count_proposals(older.caller.id) == (5, 1)
        assert made.names == ["dynamodb:Query"]

    def test_are_not_put_over_what_another_changes_meanwhile(
        self, older: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        get_all, today = table.get_all, shelf_of_today()
        first, *others = today
        changed = {**first, "researcher_ids": ["A1"]}

        def racing(keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
            read = get_all(keys)
            cloud.put(changed)
            return read

        with monkeypatch.context() as patch:
            patch.setattr(table, "get_all", racing)
            count_proposals(older.caller.id)
        assert first == today[0]
        assert changed in shelf()
        count_proposals(older.caller.id)
        assert shelf() == [changed, *others]

    def test_that_are_gone_meanwhile_are_compared_no_more(self, older: Library) -> None:
        (gone,) = [item for item in older.items("outputs") if item["title"] == WITH_AUTHORS.title]
        cloud.remove({"pk": f"RO#{gone['id']}", "sk": gone["id"]})
        before = shelf()
        assert count_proposals(older.caller.id) == (5, 0)
        (row,) = [row for row in shelf() if row["id"] == gone["id"]]
        assert row in before


def shelf() -> list[Item]:
    """Return the rows that outputs are compared by."""
    return sorted((row for row in cloud.stored() if re.fullmatch("RL#[^#]+#S", row["pk"])), key=itemgetter("sk"))


def shelf_of_today() -> list[Item]:
    """Return the rows as their outputs would put them today."""
    outputs = [ResearchOutput.from_item(item) for item in cloud.stored() if item.get("kind") == ResearchOutput.kind]
    return sorted((each.comparison_row for each in outputs), key=itemgetter("sk"))
