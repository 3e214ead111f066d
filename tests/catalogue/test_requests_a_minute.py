"""The rate limit of requests per minute, at every operation: requests are counted before any other call."""

from typing import Final

import pytest

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.rate_limits import request_quota
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import caller_of, perform
from tests.catalogue.tenant_fixture import World
from tests.conftest import Configure
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.faults import Fault, failing

COUNTER_WRITE: Final = "dynamodb:UpdateItem"


def call_with_credential(operation: Operation, world: World) -> Answer:
    """Call an operation as its least privileged caller, with a credential even if it is anonymous."""
    return perform(operation, world, as_=caller_of(operation, world) or world.people.owner)


@by_operation()
class TestEveryOperation:
    def test_is_counted_by_a_write_before_all_other_calls_and_proceeds_if_that_fails(
        self, operation: Operation, world: World, begin: Begin, configure: Configure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unlimited = call_with_credential(operation, world)
        monkeypatch.setattr(request_quota, "BATCH_SIZE", 1)  # Each request writes the counter.
        configure(requests_per_minute="600")
        begin()
        counted = call_with_credential(operation, world)
        begin()
        with failing(Fault.BROKEN, name=COUNTER_WRITE) as injected:
            uncounted = call_with_credential(operation, world)
        assert injected.hit
        for answer in (counted, uncounted):
            assert answer.status == unlimited.status == operation.success
            assert answer.calls.names == [COUNTER_WRITE, *unlimited.calls.names]
            assert answer.headers["RateLimit-Policy"].endswith('"requests";q=600;w=60')

    def test_is_rejected_without_a_call_when_the_limit_is_reached(
        self, operation: Operation, world: World, configure: Configure
    ) -> None:
        configure(requests_per_minute="1")
        caller = caller_of(operation, world) or world.people.owner
        assert world.api.get("/public/leads/statuses", as_=caller).status == 200
        rejected = call_with_credential(operation, world)
        assert rejected.code == "429 rate_limited"
        assert rejected.calls.names == []


@by_operation(lambda o: o.allows_anonymous or (isinstance(o.access, RequireRole) and o.access.if_published))
class TestWithoutACredential:
    def test_requests_are_limited_for_each_client_network(
        self, operation: Operation, world: World, configure: Configure, begin: Begin
    ) -> None:
        begin()
        configure(network_requests_per_minute="1")
        assert world.api.get("/public/leads/statuses").status == 200
        rejected = perform(operation, world, as_=None)
        assert rejected.code == "429 rate_limited"
        assert rejected.headers["RateLimit-Policy"] == '"anonymous-requests";q=1;w=60'
        assert int(rejected.headers["Retry-After"]) >= 1
        assert rejected.calls.names == []
        from_other_network = perform(operation, world, as_=None, ip="198.51.100.9")
        assert from_other_network.status != 429

    def test_counting_takes_one_write_per_twenty_requests_and_no_read(
        self, operation: Operation, world: World, configure: Configure, begin: Begin
    ) -> None:
        begin()
        unlimited = perform(operation, world, as_=None)
        configure(network_requests_per_minute="600")
        begin()
        for _ in range(request_quota.BATCH_SIZE - 1):
            assert world.api.get("/public/leads/statuses").calls.names == []
        counted = perform(operation, world, as_=None)
        assert counted.calls.names == [COUNTER_WRITE, *unlimited.calls.names]
        assert counted.status == unlimited.status
