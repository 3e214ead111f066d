"""Authorization decides as recorded: every operation with every kind of caller, in every state of what it names.

The recording shows each change of a decision, of its explanation, and of the number of reads that lead to it. After an
intended change, record the decisions again (`authorization_decisions.py`) and review the differences.
"""

from random import Random

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from tests.catalogue import authorization_decisions
from tests.catalogue.authorization_cases import PLACES, callers_of, create_callers
from tests.catalogue.authorization_decisions import observe
from tests.harness.parametrize_operations import parametrize_operations

RECORDED = authorization_decisions.load()
SAMPLE_SIZE = 2
"""The number of callers in each place that `make test` takes. `make test-all` takes all."""


def test_the_decisions_of_every_operation_are_recorded():
    assert set(RECORDED) == {operation.id for operation in all_operations()}


@parametrize_operations(lambda operation: operation.id in RECORDED)
def test_some_callers_get_the_recorded_decisions(operation, tenant, restore_tenant):
    every = callers_of(operation, restore_tenant(create_callers))
    for name, recorded in RECORDED[operation.id].items():
        chosen = Random(f"{operation.id} {name}").sample([*every], SAMPLE_SIZE)  # noqa: S311 - repeatable on purpose
        callers = {each: every[each] for each in chosen}
        assert observe(operation, PLACES[name], tenant, callers) == {each: recorded[each] for each in chosen}, name


@pytest.mark.exhaustive
@parametrize_operations(lambda operation: operation.id in RECORDED)
def test_all_callers_get_the_recorded_decisions(operation, tenant, restore_tenant):
    callers = restore_tenant(create_callers)
    assert authorization_decisions.decide(operation, tenant, callers) == RECORDED[operation.id]
