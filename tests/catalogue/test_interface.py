"""Checks that the operations are those of `interface.tsv` and of `extra_operations.py`, and no others."""

import csv
from typing import Final

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.operations.operation import Operation
from local.paths import ROOT
from tests.catalogue.extra_operations import EXTRA_EVENTS, EXTRA_OPERATIONS

with (ROOT / "tests/catalogue/interface.tsv").open(newline="") as file:
    INTERFACE: Final = {row["operation_id"]: row for row in csv.DictReader(file, delimiter="\t")}
"""The rows of the list by operation id. `-` means none."""


def to_row(operation: Operation) -> dict[str, str]:
    """Return the row of an operation, without its extra events."""
    extra_events = EXTRA_EVENTS.get(operation.id, ())
    listed_events = " ".join(event for event in operation.emits if event not in extra_events)
    return {
        "group": operation.group,
        "operation_id": operation.id,
        "method": operation.method,
        "path": operation.path,
        "success": str(operation.success),
        "access": operation.access_label,
        "scope": operation.scope or "-",
        "event": listed_events or "-",
    }


def test_the_list_is_complete():
    assert len(INTERFACE) == 153
    assert len({(row["method"], row["path"]) for row in INTERFACE.values()}) == 153


def test_every_listed_operation_exists_as_listed():
    assert {o.id: to_row(o) for o in all_operations() if o.id in INTERFACE} == INTERFACE


def test_operations_beyond_the_list_have_a_reason():
    assert {o.id for o in all_operations()} - set(INTERFACE) == set(EXTRA_OPERATIONS)


def test_every_extra_event_is_emitted_by_its_operation():
    emitted = {o.id: o.emits for o in all_operations() if o.id in INTERFACE}
    assert {name: events for name, events in EXTRA_EVENTS.items() if not set(events) <= set(emitted[name])} == {}
