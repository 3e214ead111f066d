"""Whatever is imported in which order, reconciled whenever: the same artefacts make the same works."""

from collections.abc import Iterator
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.research import rules
from chalicelib.features.research.entities import Artefact, ResearchJob, ResearchOutput
from chalicelib.features.research.identifiers import identified, is_orcid
from chalicelib.features.research.importing import stored
from chalicelib.features.research.reconciling import advanced, proposals
from chalicelib.features.research.sources import Record
from chalicelib.kernel import jobs
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now
from chalicelib.kernel.ids import beginning
from tests.harness import cloud

KEYS: Final = {
    "doi": ["10.5555/1", "10.5555/2"], "arxiv": ["2501.00001"], "pmid": ["7"],
}  # fmt: skip

identifiers = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in KEYS.items()})
said = st.fixed_dictionaries({
    "title": st.sampled_from(["Kilns", "kilns!", "Glazes"]), "type": st.sampled_from(["article", "other"]),
    "year": st.sampled_from([None, 2020, 2021]), "venue_name": st.sampled_from([None, "NeurIPS"]),
    "identifiers": identifiers.map(lambda given_: identified(**given_)),
    "authors": st.sampled_from([[], [{"name": "Terra Ware", "orcid": None}]]),
})  # fmt: skip
records = st.builds(
    Record, source=st.sampled_from(["orcid", "dblp"]), source_id=st.sampled_from(["1", "2"]), said=said,
    researcher_ids=st.sampled_from([[], ["A1"], ["A1", "A2"]]),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _small_transactions() -> Iterator[None]:
    """What needs many transactions at a thousand artefacts does so at a dozen."""
    with patch("chalicelib.features.research.reconciling._AT_ONCE", 2):
        yield


def job_of(library: str) -> ResearchJob:
    """Return a new job that this worker holds."""
    job = ResearchJob(
        **beginning(now()), library_id=library, work="reconcile", started_by="tests", turn_at=now(), ttl=2**40
    )
    changes = Changes(now())
    changes.create(job)
    changes.commit()
    taken = jobs.take(ResearchJob, {"pk": job.stored_at[0], "sk": job.stored_at[1]})
    assert taken
    return taken


def reconcile(library: str) -> None:
    job: ResearchJob | None = job_of(library)
    while job:
        job = advanced(job)


def import_(library: str, record: Record) -> None:
    stored(job_of(library), [record])


def works(library: str) -> list[Any]:
    """Return what stands in a library, with artefacts named as the sources do and outputs not at all."""
    artefacts = {item["id"]: Artefact.from_item(item) for item in items("research-artefact", library)}
    names = {id_: (each.source, each.source_id) for id_, each in artefacts.items()}
    outputs = [ResearchOutput.from_item(item) for item in items("research-output", library)]
    shown = [each for each in outputs if not each.merged_into]
    for each in artefacts.values():
        assert each.output_id in {output.id for output in shown}
        assert not each.stale
    for output in outputs:
        assert output.merged_into is None or output.merged_into in {other.id for other in outputs}
    return sorted(
        (
            output.title, output.type, output.year or 0, output.venue_id or "", output.doi or "", output.authors,
            output.researcher_ids, [names[id_] for id_ in output.artefact_ids],
            sorted((field, names[id_]) for field, id_ in output.provenance.items()),
        )
        for output in shown
    )  # fmt: skip


def items(kind: str, library: str) -> list[dict[str, Any]]:
    return [item for item in cloud.stored() if item.get("kind") == kind and item["library_id"] == library]


@pytest.mark.usefixtures("_aws_in_memory")
@given(data=st.data(), imports=st.lists(records, min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_any_order_of_imports_and_reconciles_gives_the_same_works(data: st.DataObject, imports: list[Record]) -> None:
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
    assert proposals("winding") == proposals("straight")


@given(digits=st.text("0123456789", min_size=15, max_size=15))
@settings(max_examples=50)
def test_one_check_digit_is_right(digits: str) -> None:
    right = [
        check for check in "0123456789X" if is_orcid("-".join([f"{digits}{check}"[i : i + 4] for i in (0, 4, 8, 12)]))
    ]
    assert len(right) == 1


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=3), max_size=3))
def test_first_researchers_are_the_same_whoever_came_when(groups: list[list[str]]) -> None:
    with patch.object(rules, "MOST_RESEARCHERS", 2):
        stepwise: list[str] = []
        for group in groups:
            stepwise = rules.first_researchers([*stepwise, *group])
        assert stepwise == rules.first_researchers(each for group in groups for each in group)
