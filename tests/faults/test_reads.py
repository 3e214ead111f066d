"""Reads with a fault at any AWS call respond with a problem, never with a part of the result."""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from tests.catalogue.examples.registry import call_operation
from tests.faults.fault_variants import Variant
from tests.harness.faults import Fault

READS: Final = [operation for operation in all_operations() if not operation.emits_events]
FAULTS: Final = [
    Variant(f, is_repeated)
    for f in (Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT)
    for is_repeated in (False, True)
]


@pytest.mark.parametrize("variant", FAULTS, ids=str)
@pytest.mark.parametrize("operation", READS, ids=lambda operation: operation.id)
def test_read_responds_completely_or_unavailable(operation, variant, tenant, restore_tenant):
    expected_response = call_operation(operation, tenant)
    call_names = expected_response.calls.call_names
    for at, _ in enumerate(call_names, 1):
        restore_tenant()
        with variant.inject(at) as injected:
            response = call_operation(operation, tenant)
        assert injected.failed_call in call_names  # Concurrent calls have no fixed order.
        if operation.id == "get_status":  # reports the status of the service
            assert (response.status, response.json["status"]) == (200, "degraded")
        elif (operation.id, injected.failed_call) == ("get_sitemap", "dynamodb:TransactWriteItems"):
            # The sitemap could not be stored: the next request builds it again.
            assert (response.status, response.text) == (200, expected_response.text)
        else:
            assert response.status_and_code == "503 unavailable"
            assert response.headers["Cache-Control"] == "no-store"
