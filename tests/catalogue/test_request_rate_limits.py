"""The rate limit of requests per minute, at every operation: requests are counted before any other call."""

from typing import Final

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.rate_limits import request_quota, volume_limits
from tests.catalogue.examples.registry import call_operation, get_caller
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.faults import Fault, inject_fault
from tests.harness.parametrize_operations import parametrize_operations, parametrize_request_rules

COUNTER_WRITE: Final = "dynamodb:UpdateItem"


def call_with_credential(operation: Operation, tenant: TenantFixture) -> ApiResponse:
    """Call an operation as its least privileged caller, with a credential even if it is anonymous."""
    return call_operation(operation, tenant, caller=get_caller(operation, tenant) or tenant.people.owner)


@parametrize_request_rules(lambda o: not o.volume_limits)
class TestEveryOperationWithoutAVolumeLimit:
    def test_is_counted_by_a_write_before_all_other_calls_and_proceeds_if_that_fails(
        self, operation, tenant, restore_tenant, configure, monkeypatch
    ):
        unlimited = call_with_credential(operation, tenant)
        monkeypatch.setattr(request_quota, "BATCH_SIZE", 1)  # Each request writes the counter.
        configure(requests_per_minute="600")
        restore_tenant()
        counted = call_with_credential(operation, tenant)
        restore_tenant()
        with inject_fault(Fault.INTERNAL_ERROR, call_name=COUNTER_WRITE) as injected:
            uncounted = call_with_credential(operation, tenant)
        assert injected.failed_call
        for answer in (counted, uncounted):
            assert answer.status == unlimited.status == operation.success
            assert answer.calls.call_names == [COUNTER_WRITE, *unlimited.calls.call_names]
            assert answer.headers["RateLimit-Policy"].endswith('"requests";q=600;w=60')

    def test_is_rejected_without_a_call_when_the_limit_is_reached(self, operation, tenant, configure):
        configure(requests_per_minute="1")
        assert call_with_credential(operation, tenant).status == operation.success
        rejected = call_with_credential(operation, tenant)
        assert rejected.status_and_code == "429 rate_limited"
        assert rejected.calls.call_names == []


@parametrize_operations(lambda o: o.volume_limits)
class TestAnOperationWithVolumeLimits:
    def test_is_not_limited_by_requests_and_proceeds_if_its_volume_cannot_be_counted(
        self, operation, tenant, configure, monkeypatch
    ):
        monkeypatch.setattr(volume_limits, "BATCH_SIZE", 1)
        configure(requests_per_minute="1", events_per_second="1", event_bytes_per_second="1000000")
        with inject_fault(Fault.INTERNAL_ERROR, call_name=COUNTER_WRITE) as injected:
            answers = [call_operation(operation, tenant) for _ in range(3)]
        assert injected.failed_call
        assert {answer.status for answer in answers} == {operation.success}
        policies = '"events";q=60;w=60, "event-bytes";q=60000000;w=60'
        assert {answer.headers["RateLimit-Policy"] for answer in answers} == {policies}

    def test_is_rejected_without_a_call_after_too_many_failed_requests(self, operation, tenant, configure):
        configure(requests_per_minute="1")
        assert call_operation(operation, tenant, json={"colour": "green"}).status == 422
        rejected = call_operation(operation, tenant)
        assert rejected.status_and_code == "429 rate_limited"
        assert rejected.headers["RateLimit-Policy"] == '"failed-requests";q=1;w=60'
        assert rejected.calls.call_names == []


@parametrize_request_rules(
    lambda o: o.allows_anonymous or (isinstance(o.access, RequireRole) and o.access.if_published)
)
class TestWithoutACredential:
    def test_requests_are_limited_for_each_client_network(self, operation, tenant, configure):
        configure(network_requests_per_minute="1")
        assert tenant.api.get("/public/leads/statuses").status == 200
        rejected = call_operation(operation, tenant, caller=None)
        assert rejected.status_and_code == "429 rate_limited"
        assert rejected.headers["RateLimit-Policy"] == '"anonymous-requests";q=1;w=60'
        assert int(rejected.headers["Retry-After"]) >= 1
        assert rejected.calls.call_names == []
        assert call_operation(operation, tenant, caller=None, ip="198.51.100.9").status != 429

    def test_counting_takes_one_write_per_twenty_requests_and_no_read(
        self, operation, tenant, configure, restore_tenant
    ):
        unlimited = call_operation(operation, tenant, caller=None)
        configure(network_requests_per_minute="600")
        restore_tenant()
        for _ in range(request_quota.BATCH_SIZE - 1):
            assert tenant.api.get("/public/leads/statuses").calls.call_names == []
        counted = call_operation(operation, tenant, caller=None)
        assert counted.calls.call_names == [COUNTER_WRITE, *unlimited.calls.call_names]
        assert counted.status == unlimited.status
