"""Checks that the current code reads recorded items and messages, and creates the same ones in the same form."""

from dataclasses import replace
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.storage.due_keys import claimed_due_since, make_due_key
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json
from chalicelib.kernel.storage.record_types import find_record_type, record_from_item
from tests.faults import task_examples
from tests.harness import memory_aws
from tests.stored_forms.forms import FILE, Outcome, Recording, load, normal_headers, normal_text
from tests.stored_forms.states import Json

RECORDED: Final = load()
MAX_BYTES: Final = 1_000_000
OMITTED_ATTRIBUTES: Final = {
    "entry": ("index1pk", "index1sk", "link", "mac"),
    "research.job": ("index2pk", "index2sk"),
}
"""Attributes that are not compared. Those of an entry record its position in its log and are not part of the record.

Those of a job of research put it in the list of jobs. Release 0.9.0 did not store them.
"""


def items_of(kind: str, recording: Recording) -> dict[str, Json]:
    return {str(item): item_from_dynamodb_json(item) for item in recording.items() if item.get("kind") == {"S": kind}}


def compared_attributes(kind: str, item: Json) -> Json:
    """Return the compared attributes of an item. The times of `duesk`, which claims change, are left out."""
    attributes = {name: value for name, value in item.items() if name not in OMITTED_ATTRIBUTES.get(kind, ())}
    due_key = item["duesk"].removesuffix(f"#{claimed_due_since(item)}") if "duesk" in item else None
    return memory_aws.to_wire_json({**attributes, **({"duesk": due_key.partition("#")[2]} if due_key else {})})


def without_claims(outcome: Outcome) -> Outcome:
    """Return an outcome whose due keys have no time since which a task has been due.

    Former releases stored none. The keys of claims have it in addition to the recorded form.
    """

    def without_claim(item: Json) -> Json:
        if "duesk" not in item:
            return item
        time = item["duesk"]["S"].partition("#")[0]
        return {**item, "duesk": {"S": make_due_key(time, (item["pk"]["S"], item["sk"]["S"]))}}

    return replace(outcome, written=replace(outcome.written, items=[*map(without_claim, outcome.written.items)]))


@pytest.mark.parametrize("case", RECORDED.cases, ids=lambda case: case.name)
def test_a_case_has_its_recorded_outcome(case, replay_case):
    recorded = case.outcome
    body = recorded.body and normal_text(case.about, recorded.body)
    headers = normal_headers(case.about, recorded.headers, recorded.body or "")
    assert without_claims(replay_case(case)) == without_claims(replace(recorded, body=body, headers=headers))


@pytest.mark.parametrize("kind", RECORDED.kinds())
def test_items_of_a_kind_are_loaded_and_stored_unchanged(kind, recording):
    assert find_record_type(kind), f"no class has the kind {kind}"
    for item in items_of(kind, recording).values():
        assert compared_attributes(kind, record_from_item(item).owned_item_attribute_values) == compared_attributes(
            kind, item
        )


def test_each_recorded_operation_and_task_still_exists_and_has_a_case(recording):
    operations, tasks = set(recording.operations), set(recording.tasks)
    assert operations <= {operation.id for operation in all_operations()}
    assert tasks <= set(task_examples.list_task_names())
    assert operations <= {case.about for case in recording.cases if case.trigger.kind == "request"}
    assert tasks <= {case.about for case in recording.cases if case.trigger.kind == "message"}


def test_the_recording_is_small():
    assert FILE.stat().st_size < MAX_BYTES
