"""Reconciliations after every operation: they find nothing, because the log explains everything that was stored."""

from tests.catalogue.examples.registry import call_operation
from tests.harness.parametrize_operations import parametrize_operations
from tests.harness.reconciliations import find_disagreements


def test_the_log_explains_the_records_of_the_tenant(tenant):
    assert find_disagreements(tenant.id) == []


@parametrize_operations(lambda o: o.emits_events)
def test_the_log_explains_what_an_operation_stores(operation, tenant):
    call_operation(operation, tenant).expect(operation.success)
    assert find_disagreements(tenant.id) == []
    tenant.workers.run_until_idle()
    assert find_disagreements(tenant.id) == []
