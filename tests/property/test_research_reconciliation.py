"""Reconciliation creates the same works from the same artefacts, in any order of imports and reconciliations."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, ResearchOutput
from chalicelib.features.research.logic import record_rules
from chalicelib.features.research.logic.importing import store_records
from chalicelib.features.research.logic.merge_proposals import count_outputs_and_proposals
from chalicelib.features.research.logic.reconciliation import reconcile_next
from chalicelib.features.research.logic.sources import SourceRecord
from chalicelib.features.research.models.identifiers import is_orcid, normalize_identifiers
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.work import jobs
from tests.harness import memory_aws
from tests.harness.stored_records import committed_changes

KEYS: Final = {"doi": ["10.5555/1", "10.5555/2"], "arxiv": ["2501.00001"], "pmid": ["7"]}

identifiers = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in KEYS.items()})
contents = st.fixed_dictionaries(
    {
        "title": st.sampled_from(["Kilns", "kilns!", "Glazes"]),
        "type": st.sampled_from(["article", "other"]),
        "year": st.sampled_from([None, 2020, 2021]),
        "venue_name": st.sampled_from([None, "NeurIPS"]),
        "identifiers": identifiers.map(lambda fields: normalize_identifiers(**fields)),
        "authors": st.sampled_from([[], [{"name": "Terra Ware", "orcid": None}]]),
    }
)
records = st.builds(
    SourceRecord,
    source=st.sampled_from(["orcid", "dblp"]),
    source_id=st.sampled_from(["1", "2"]),
    content=contents,
    researcher_ids=st.sampled_from([[], ["A1"], ["A1", "A2"]]),
)


@pytest.fixture(autouse=True)
def _small_transactions() -> Iterator[None]:
    """Make a dozen artefacts need as many transactions as a thousand."""
    with patch("chalicelib.features.research.logic.reconciliation._BATCH_SIZE", 2):
        yield


def create_claimed_job(library: str) -> ResearchJob:
    fields = {**new_id_and_time_fields(now()), "library_id": library, "work": "reconcile", "started_by": "tests"}
    with committed_changes() as changes:
        job = changes.create(ResearchJob(**fields, lease_until=now(), ttl=2**40))
    claimed = jobs.claim(ResearchJob, {"pk": job.item_key[0], "sk": job.item_key[1]})
    assert claimed
    return claimed


def reconcile(library: str) -> None:
    job: ResearchJob | None = create_claimed_job(library)
    while job:
        job = reconcile_next(job)


def import_record(library: str, record: SourceRecord) -> None:
    store_records(create_claimed_job(library), [record])


def comparable_works(library: str, *, stale: int = 0) -> list[Any]:
    """Return the works of a library in a form without generated IDs.

    `stale`: the expected number of artefacts that are still to be reconciled.
    """
    artefacts = {item["id"]: Artefact.from_item(item) for item in list_items("research-artefact", library)}
    names = {id_: (artefact.source, artefact.source_id) for id_, artefact in artefacts.items()}
    outputs = [ResearchOutput.from_item(item) for item in list_items("research-output", library)]
    visible_outputs = [output for output in outputs if not output.merged_into]
    for artefact in artefacts.values():
        assert artefact.output_id in {output.id for output in visible_outputs}
    assert sum(artefact.is_stale for artefact in artefacts.values()) == stale
    for output in outputs:
        assert output.merged_into is None or output.merged_into in {other.id for other in outputs}
    return sorted(
        (
            output.title,
            output.type,
            output.year or 0,
            output.venue_id or "",
            output.doi or "",
            output.authors,
            output.researcher_ids,
            [names[id_] for id_ in output.artefact_ids],
            sorted((field, names[id_]) for field, id_ in output.provenance.items()),
        )
        for output in visible_outputs
    )


def list_items(kind: str, library: str) -> list[dict[str, Any]]:
    return [item for item in memory_aws.all_items() if item.get("kind") == kind and item["library_id"] == library]


@pytest.mark.usefixtures("_aws_in_memory")
@given(data=st.data(), imports=st.lists(records, min_size=2, max_size=6))
@settings(max_examples=10)
def test_the_order_of_imports_does_not_change_the_works(data, imports):
    memory_aws.reset()
    for record in imports:
        import_record("direct", record)
    reconcile("direct")
    # The last record of a source for an artefact applies, so their order is preserved, unlike that of all imports.
    last = {(record.source, record.source_id): record for record in imports}
    for record in [*data.draw(st.permutations(imports)), *data.draw(st.permutations([*last.values()]))]:
        import_record("reordered", record)
        if data.draw(st.booleans()):
            reconcile("reordered")
    reconcile("reordered")
    assert comparable_works("reordered") == comparable_works("direct")
    assert count_outputs_and_proposals("reordered") == count_outputs_and_proposals("direct")


@pytest.mark.usefixtures("_aws_in_memory")
def test_the_largest_step_fits_into_one_transaction(monkeypatch):
    """An artefact moves between outputs, and all researchers, the title and the edition of both outputs change."""
    memory_aws.reset()
    sizes: list[int] = []
    write = table.write_transaction
    moving = dblp_record("1", "Kilns", "10.5555/1")
    for record in (dblp_record("2", "Glazes", "10.5555/1"), moving, dblp_record("3", "Shards", "10.5555/2")):
        import_record(PUBLIC_LIBRARY_ID, record)
    reconcile(PUBLIC_LIBRARY_ID)
    import_record(PUBLIC_LIBRARY_ID, dblp_record("1", "Kilns", "10.5555/2"))
    before = comparable_works(PUBLIC_LIBRARY_ID, stale=1)

    def count_writes(writes: Sequence[Write]) -> None:
        sizes.append(len(writes))
        write(writes)

    monkeypatch.setattr(table, "write_transaction", count_writes)
    reconcile(PUBLIC_LIBRARY_ID)
    assert [(work[0], len(work[6])) for work in before] == [("Kilns", 20), ("Shards", 20)]
    assert [(work[0], len(work[6])) for work in comparable_works(PUBLIC_LIBRARY_ID)] == [("Glazes", 20), ("Kilns", 20)]
    assert 90 <= max(sizes) <= table.MAX_TRANSACT_ITEMS


def dblp_record(number: str, title: str, doi: str) -> SourceRecord:
    """Return a DBLP record of a work with the maximum number of researchers and an edition of its own."""
    content = {"title": title, "type": "article", "year": 2020, "venue_name": None}
    content |= {"identifiers": normalize_identifiers(doi=doi), "authors": [{"name": "Terra Ware", "orcid": None}]}
    researcher_ids = [f"A{number}{n:02d}" for n in range(record_rules.MAX_RESEARCHERS)]
    return SourceRecord("dblp", number, content, researcher_ids, edition_id=f"neurips-202{number}")


compared_works = st.lists(
    st.builds(
        record_rules.ComparedWork,
        id=st.just(""),
        year=st.sampled_from([2020, 2021, 2022, 2024]),
        title_author_digest=st.sampled_from([None, "kilns ware", "kilns potter"]),
        title=st.sampled_from([None, "kilns", "glazes"]),
        researcher_ids=st.lists(st.sampled_from(["A1", "A2", "A3"]), max_size=2),
        lists_authors=st.booleans(),
    ),
    max_size=7,
).map(
    lambda drawn: [
        replace(work, id=str(n), title_author_digest=work.title_author_digest if work.lists_authors else None)
        for n, work in enumerate(drawn)
    ]
)


@given(compared_works)
@settings(max_examples=150)
def test_proposals_are_the_merges_that_similar_pairs_require(drawn):
    groups = [{work.id} for work in drawn]
    for first, second in combinations(drawn, 2):
        if are_similar(first, second):
            matching_groups = [group for group in groups if group & {first.id, second.id}]
            groups = [set().union(*matching_groups), *(group for group in groups if group not in matching_groups)]
    counts = {record_rules.count_merges_uniting_similar_works(works) for works in (drawn, drawn[::-1])}
    assert counts == {len(drawn) - len(groups)}


def are_similar(first: record_rules.ComparedWork, second: record_rules.ComparedWork) -> bool:
    """Return whether two works may be the same, as the documentation defines it."""
    if abs(first.year - second.year) > 1:
        return False
    if first.lists_authors and second.lists_authors:
        return first.title_author_digest is not None and first.title_author_digest == second.title_author_digest
    is_same_title = first.title is not None and first.title == second.title
    return is_same_title and bool({*first.researcher_ids} & {*second.researcher_ids})


@given(digits=st.text("0123456789", min_size=15, max_size=15))
@settings(max_examples=50)
def test_exactly_one_check_digit_is_valid(digits):
    numbers = [f"{digits}{check}" for check in "0123456789X"]
    assert sum(is_orcid("-".join(number[i : i + 4] for i in (0, 4, 8, 12))) for number in numbers) == 1


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=3), max_size=3))
def test_first_researchers_do_not_depend_on_the_order_of_calls(groups):
    with patch.object(record_rules, "MAX_RESEARCHERS", 2):
        stepwise: list[str] = []
        for group in groups:
            stepwise = record_rules.sorted_limited_researcher_ids([*stepwise, *group])
        assert stepwise == record_rules.sorted_limited_researcher_ids(chain(*groups))
