"""A fault at any AWS call of any read: the contract's problem, and no half of an answer."""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import perform
from tests.catalogue.tenant_fixture import World
from tests.faults.variants import Variant
from tests.harness.faults import Fault

READS: Final = [operation for operation in operations() if not operation.mutates]
FAULTS: Final = [Variant(f, lasts) for f in (Fault.THROTTLED, Fault.BROKEN, Fault.TIMED_OUT) for lasts in (False, True)]


@pytest.mark.parametrize("variant", FAULTS, ids=str)
@pytest.mark.parametrize("operation", READS, ids=lambda operation: operation.id)
def test_a_read_answers_whole_or_unavailable(
    operation: Operation, variant: Variant, world: World, begin: Begin
) -> None:
    whole = perform(operation, world)
    asks = whole.calls.names
    for at, _ in enumerate(asks, 1):
        begin()
        with variant.strikes(at) as injected:
            answer = perform(operation, world)
        assert injected.hit in asks  # What is asked side by side comes in any order.
        if operation.id == "get_status":  # says how the service is, whatever that is
            assert (answer.status, answer.json["status"]) == (200, "degraded")
        elif (operation.id, injected.hit) == ("get_sitemap", "dynamodb:TransactWriteItems"):
            # What it made could not be kept: the next one makes it again.
            assert (answer.status, answer.text) == (200, whole.text)
        else:
            assert answer.code == "503 unavailable"
            assert answer.headers["Cache-Control"] == "no-store"
