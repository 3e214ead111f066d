"""Mutations with a fault at any AWS call commit all or nothing, and exactly once if they respond with success.

Afterwards the process is a new one, time passes, the schedule runs, and the client repeats the request.
"""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.notifications.webhooks.logic.host_rate_limit import slot_counter_key
from chalicelib.kernel.execution import attempts
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue import log_proof
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults import call_sequences
from tests.faults.fault_variants import Variant, call_numbers, with_all_variants
from tests.faults.table_summaries import TableSummary, summarize
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.clock import Clock
from tests.harness.faults import Fault, InjectedFault, ProcessDied, inject_fault

PAUSE_MINUTES: Final = 6
"""Longer than the sweep waits before it handles anything, such as a delivery whose message was lost."""

COUNTER_PREFIXES: Final = (
    slot_counter_key("", "")[0],
    *(
        f"Y#{budget.name}#"
        for operation in all_operations()
        if operation.has_external_effects
        for budget in operation.rate_limits
    ),
)
"""The partitions of counters for operations with external effects, which also count failed requests."""

IDEMPOTENCY_HEADERS: Final = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


def execute(operation: Operation, tenant: TenantFixture, **headers: str) -> ApiResponse | None:
    """Call the mutation, with an `Idempotency-Key` if no headers are given. Return None if the process died."""
    try:
        return call_operation(operation, tenant, headers=headers or IDEMPOTENCY_HEADERS)
    except ProcessDied:
        return None


def stored_items() -> log_proof.Items:
    """Return all items but counters that failed requests change as well."""
    return {key: item for key, item in snapshots.items_by_key().items() if not key[0].startswith(COUNTER_PREFIXES)}


def run_until_idle(tenant: TenantFixture, clock: Clock) -> log_proof.Items:
    """Run the schedule and the workers until the items no longer change, and return them."""
    items_before, items = None, stored_items()
    while items != items_before:
        clock.shift(minutes=PAUSE_MINUTES)
        tenant.workers.run_until_idle()
        items_before, items = items, stored_items()
    pending_log_heads = [key for key, item in items.items() if key[0].startswith("Q#") and "duepk" in item]
    assert pending_log_heads == [], "all consumers have read their logs to the end"
    return items


def is_transparent(variant: Variant, injected: InjectedFault) -> bool:
    """Return whether the service hides the fault from the caller by a retry or a later recovery."""
    is_transient = (
        variant.fault in (Fault.RETRIED, Fault.CANCELLED_BY_THROTTLE, Fault.CONFLICT) and not variant.is_repeated
    )
    return is_transient or injected.failed_call == "sqs:SendMessage"


_expected_summaries: dict[str, TableSummary] = {}


@pytest.fixture
def expected_summary(
    operation: Operation, tenant: TenantFixture, clock: Clock, restore_tenant: RestoreTenant
) -> TableSummary:
    """The summary of the table after the mutation without faults."""
    if operation.id not in _expected_summaries:
        restore_tenant()
        assert execute(operation, tenant)
        _expected_summaries[operation.id] = summarize(run_until_idle(tenant, clock))
    return _expected_summaries[operation.id]


@with_all_variants
@call_sequences.parametrize_sequences()
class TestMutation:
    def test_commits_once_or_not_at_all(
        self, operation, variant, tenant, restore_tenant, clock, expected_summary, monkeypatch
    ):
        if variant.is_repeated:
            monkeypatch.setattr(attempts, "_MAX_WAIT_SECONDS", 0.05)
        for at in call_numbers():
            restore_tenant()
            items_before = stored_items()
            with variant.inject(at) as injected:
                response = execute(operation, tenant)
            if not injected.failed_call:
                break
            self._check_response(operation, variant, injected, response)
            items_after = run_until_idle(tenant, clock)
            was_committed = len(log_proof.load_entries(items_after)) > len(log_proof.load_entries(items_before))
            assert was_committed or response is None or response.status != operation.success
            assert items_after == items_before or summarize(items_after) == expected_summary
            log_proof.assert_logs_are_proven(items_after)
            repeated_response = execute(operation, tenant)
            assert repeated_response
            self._check_repeated_response(operation, tenant, response, repeated_response, was_committed=was_committed)
            final_items = run_until_idle(tenant, clock)
            assert summarize(final_items) == expected_summary
            log_proof.assert_logs_are_proven(final_items)
        assert at > 1, "the fault was never injected"

    @staticmethod
    def _check_response(
        operation: Operation, variant: Variant, injected: InjectedFault, response: ApiResponse | None
    ) -> None:
        """Assert that the response is a success, or a problem that says when to retry."""
        if response is None:
            assert variant.fault in (Fault.DIED_BEFORE, Fault.DIED_AFTER)
        elif response.status != operation.success:
            assert not is_transparent(variant, injected)
            # A conflict in a mere counter is retried as if the table were unavailable.
            is_conflict = variant.fault is Fault.CONFLICT and injected.failed_call == "dynamodb:TransactWriteItems"
            assert response.status_and_code == ("409 conflict" if is_conflict else "503 unavailable")
            assert int(response.headers["Retry-After"]) >= 1

    @staticmethod
    def _check_repeated_response(
        operation: Operation,
        tenant: TenantFixture,
        response: ApiResponse | None,
        repeated_response: ApiResponse,
        *,
        was_committed: bool,
    ) -> None:
        """Assert that a repeated request gets the first response, if the caller is still authorized."""
        if not was_committed:
            assert repeated_response.status == operation.success
        elif operation.method == "POST" and not get_example(operation, tenant).revokes_own_access:
            assert repeated_response.headers["Idempotency-Replayed"] == "true"
            assert repeated_response.status == operation.success
            assert response is None or response.status != operation.success or repeated_response.text == response.text
        else:
            assert repeated_response.status in (operation.success, 403, 404)


def test_the_recorded_sequences_of_calls_are_those_of_the_mutations(tenant, restore_tenant):
    sequences = {}
    for operation in call_sequences.MUTATIONS:
        restore_tenant()
        sequences[operation.id] = call_sequences.sequence_of(call_operation(operation, tenant))
    assert call_sequences.load_sequences() == sequences, "run make generate"


@pytest.mark.parametrize("operation", call_sequences.MUTATIONS, ids=lambda operation: operation.id)
def test_aws_call_retried_by_the_sdk_has_one_effect(operation, tenant, clock):
    with inject_fault(Fault.RETRIED, call_name="dynamodb:TransactWriteItems") as injected:
        response = execute(operation, tenant, Accept="*/*")
    assert injected.failed_call
    assert response
    assert response.status == operation.success
    items = run_until_idle(tenant, clock)
    requests = [entry.json["context"]["requestId"] for entry in log_proof.load_entries(items)]
    assert requests.count(response.request_id) == 1
    log_proof.assert_logs_are_proven(items)
