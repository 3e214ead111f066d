"""Whatever is imported in which order, reconciled whenever: the same artefacts make the same works."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, ResearchOutput
from chalicelib.features.research.logic import record_rules
from chalicelib.features.research.logic.importing import store_records
from chalicelib.features.research.logic.merge_proposals import count_proposals
from chalicelib.features.research.logic.reconciliation import reconcile_next
from chalicelib.features.research.logic.sources import SourceRecord
from chalicelib.features.research.models.identifiers import is_orcid, normalize_identifiers
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from tests.harness import cloud

KEYS: Final = {
    "doi": ["10.5555/1", "10.5555/2"],
    "arxiv": ["2501.00001"],
    "pmid": ["7"],
}

identifiers = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in KEYS.items()})
said = st.fixed_dictionaries(
    {
        "title": st.sampled_from(["Kilns", "kilns!", "Glazes"]),
        "type": st.sampled_from(["article", "other"]),
        "year": st.sampled_from([None, 2020, 2021]),
        "venue_name": st.sampled_from([None, "NeurIPS"]),
        "identifiers": identifiers.map(lambda given_: normalize_identifiers(**given_)),
        "authors": st.sampled_from([[], [{"name": "Terra Ware", "orcid": None}]]),
    }
)
records = st.builds(
    SourceRecord,
    source=st.sampled_from(["orcid", "dblp"]),
    source_id=st.sampled_from(["1", "2"]),
    content=said,
    researcher_ids=st.sampled_from([[], ["A1"], ["A1", "A2"]]),
)


@pytest.fixture(autouse=True)
def _small_transactions() -> Iterator[None]:
    """What needs many transactions at a thousand artefacts does so at a dozen."""
    with patch("chalicelib.features.research.logic.reconciliation._BATCH_SIZE", 2):
        yield


def job_of(library: str) -> ResearchJob:
    """Return a new job that this worker holds."""
    job = ResearchJob(
        **new_record_fields(now()),
        library_id=library,
        work="reconcile",
        started_by="tests",
        lease_until=now(),
        ttl=2**40,
    )
    changes = UnitOfWork(now())
    changes.create(job)
    changes.commit()
    taken = jobs.claim(ResearchJob, {"pk": job.item_key[0], "sk": job.item_key[1]})
    assert taken
    return taken


def reconcile(library: str) -> None:
    job: ResearchJob | None = job_of(library)
    while job:
        job = reconcile_next(job)


def import_(library: str, record: SourceRecord) -> None:
    store_records(job_of(library), [record])


def works(library: str, *, stale: int = 0) -> list[Any]:
    """Return what stands in a library, with artefacts named as the sources do and outputs not at all.

    `stale`: how many artefacts are still to be reconciled.
    """
    artefacts = {item["id"]: Artefact.from_item(item) for item in items("research-artefact", library)}
    names = {id_: (each.source, each.source_id) for id_, each in artefacts.items()}
    outputs = [ResearchOutput.from_item(item) for item in items("research-output", library)]
    shown = [each for each in outputs if not each.merged_into]
    for each in artefacts.values():
        assert each.output_id in {output.id for output in shown}
    assert sum(each.is_stale for each in artefacts.values()) == stale
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
        for output in shown
    )


def items(kind: str, library: str) -> list[dict[str, Any]]:
    return [item for item in cloud.stored() if item.get("kind") == kind and item["library_id"] == library]


@pytest.mark.usefixtures("_aws_in_memory")
@given(data=st.data(), imports=st.lists(records, min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_any_order_of_imports_and_reconciles_gives_the_same_works(
    data: st.DataObject, imports: list[SourceRecord]
) -> None:
    cloud.clear()
    for record in imports:
        import_("straight", record)
    reconcile("straight")
    # What a source says of a record last is what holds: that is an order of its own, and no order of imports.
    last = {(each.source, each.source_id): each for each in imports}
    for record in [*data.draw(st.permutations(imports)), *data.draw(st.permutations([*last.values()]))]:
        import_("winding", record)
        if data.draw(st.booleans()):
            reconcile("winding")
    reconcile("winding")
    assert works("winding") == works("straight")
    assert count_proposals("winding") == count_proposals("straight")


@pytest.mark.usefixtures("_aws_in_memory")
def test_the_largest_step_is_one_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """An artefact leaves an output for another; of both, all researchers, the title and the edition change."""
    cloud.clear()
    sizes: list[int] = []
    write = table.write_transaction
    leaving = record_of("1", "Kilns", "10.5555/1")
    for record in (record_of("2", "Glazes", "10.5555/1"), leaving, record_of("3", "Shards", "10.5555/2")):
        import_(PUBLIC_LIBRARY_ID, record)
    reconcile(PUBLIC_LIBRARY_ID)
    import_(PUBLIC_LIBRARY_ID, record_of("1", "Kilns", "10.5555/2"))
    before = works(PUBLIC_LIBRARY_ID, stale=1)

    def measured(writes: Sequence[Write]) -> None:
        sizes.append(len(writes))
        write(writes)

    monkeypatch.setattr(table, "write_transaction", measured)
    reconcile(PUBLIC_LIBRARY_ID)
    assert [(work[0], len(work[6])) for work in before] == [("Kilns", 20), ("Shards", 20)]
    assert [(work[0], len(work[6])) for work in works(PUBLIC_LIBRARY_ID)] == [("Glazes", 20), ("Kilns", 20)]
    assert 90 <= max(sizes) <= table.MAX_TRANSACT_ITEMS


def record_of(number: str, title: str, doi: str) -> SourceRecord:
    """Return what DBLP says of a work of as many researchers as there can be, at an edition of its own."""
    content = {
        "title": title,
        "type": "article",
        "year": 2020,
        "venue_name": None,
        "identifiers": normalize_identifiers(doi=doi),
        "authors": [{"name": "Terra Ware", "orcid": None}],
    }
    researcher_ids = [f"A{number}{n:02d}" for n in range(record_rules.MAX_RESEARCHERS)]
    return SourceRecord("dblp", number, content, researcher_ids, edition_id=f"neurips-202{number}")


listings = st.lists(
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
        replace(each, id=str(n), title_author_digest=each.title_author_digest if each.lists_authors else None)
        for n, each in enumerate(drawn)
    ]
)


@given(listings)
@settings(max_examples=200)
def test_proposals_are_the_merges_that_the_pairs_which_look_alike_make_necessary(
    drawn: list[record_rules.ComparedWork],
) -> None:
    groups = [{each.id} for each in drawn]
    for one, other in combinations(drawn, 2):
        if look_alike(one, other):
            joined = [group for group in groups if group & {one.id, other.id}]
            groups = [set().union(*joined), *(group for group in groups if group not in joined)]
    assert record_rules.count_proposals(drawn) == record_rules.count_proposals(drawn[::-1]) == len(drawn) - len(groups)


def look_alike(one: record_rules.ComparedWork, other: record_rules.ComparedWork) -> bool:
    """Return whether two works may be one, as the documentation says it."""
    if abs(one.year - other.year) > 1:
        return False
    if one.lists_authors and other.lists_authors:
        return one.title_author_digest is not None and one.title_author_digest == other.title_author_digest
    return one.title is not None and one.title == other.title and bool({*one.researcher_ids} & {*other.researcher_ids})


@given(digits=st.text("0123456789", min_size=15, max_size=15))
@settings(max_examples=50)
def test_one_check_digit_is_right(digits: str) -> None:
    right = [
        check for check in "0123456789X" if is_orcid("-".join([f"{digits}{check}"[i : i + 4] for i in (0, 4, 8, 12)]))
    ]
    assert len(right) == 1


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=3), max_size=3))
def test_first_researchers_are_the_same_whoever_came_when(groups: list[list[str]]) -> None:
    with patch.object(record_rules, "MAX_RESEARCHERS", 2):
        stepwise: list[str] = []
        for group in groups:
            stepwise = record_rules.first_researchers([*stepwise, *group])
        assert stepwise == record_rules.first_researchers(each for group in groups for each in group)
