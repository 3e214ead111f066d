"""The catalogue is the interface's list, to the column, and what `beyond.py` has a reason for; and nothing else."""

import csv
from typing import Final, NamedTuple

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operations.operation import Operation
from local.paths import ROOT
from tests.catalogue.extra_operations import BEYOND, FURTHER_EVENTS


class Row(NamedTuple):
    """An operation as the list names it; `-` stands for none."""

    group: str
    operation_id: str
    method: str
    path: str
    success: str
    access: str
    scope: str
    event: str


def interface() -> dict[str, Row]:
    with (ROOT / "tests/catalogue/interface.tsv").open(newline="") as file:
        return {row["operation_id"]: Row(**row) for row in csv.DictReader(file, delimiter="\t")}


INTERFACE: Final = interface()


def as_listed(operation: Operation) -> Row:
    """Return an operation as the list would name it, without the further events that it is known to emit."""
    further = FURTHER_EVENTS.get(operation.id, ())
    usual = " ".join(event for event in operation.emits if event not in further)
    return Row(
        operation.group,
        operation.id,
        operation.method,
        operation.path,
        str(operation.success),
        operation.access_label,
        operation.scope or "-",
        usual or "-",
    )


def test_the_list_is_whole() -> None:
    assert len(INTERFACE) == 153
    assert len({(row.method, row.path) for row in INTERFACE.values()}) == 153


def test_every_operation_of_the_list_is_there_as_it_is_listed() -> None:
    assert {o.id: as_listed(o) for o in operations() if o.id in INTERFACE} == INTERFACE


def test_what_is_there_beyond_the_list_has_a_reason() -> None:
    assert {o.id for o in operations()} - set(INTERFACE) == set(BEYOND)


def test_every_further_event_is_one_that_its_operation_emits() -> None:
    emitted = {o.id: o.emits for o in operations() if o.id in INTERFACE}
    assert {name: events for name, events in FURTHER_EVENTS.items() if not set(events) <= set(emitted[name])} == {}
