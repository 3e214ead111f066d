"""The requests of a minute, at every operation: they are counted before anything else, and nothing else changes."""

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

LEASE: Final = "dynamodb:UpdateItem"


def asked(operation: Operation, world: World) -> Answer:
    """Call an operation by whoever may, with a credential even where none is needed."""
    return perform(operation, world, as_=caller_of(operation, world) or world.people.owner)


@by_operation()
class TestEveryOperation:
    def test_is_counted_by_one_write_before_it_asks_for_anything_or_goes_on_without(
        self, operation: Operation, world: World, begin: Begin, configure: Configure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usual = asked(operation, world)
        monkeypatch.setattr(request_quota, "BATCH_SIZE", 1)  # Each request leases.
        configure(requests_per_minute="600")
        begin()
        counted = asked(operation, world)
        begin()
        with failing(Fault.BROKEN, name=LEASE) as injected:
            uncounted = asked(operation, world)
        assert injected.hit
        for answer in (counted, uncounted):
            assert answer.status == usual.status == operation.success
            assert answer.calls.names == [LEASE, *usual.calls.names]
            assert answer.headers["RateLimit-Policy"].endswith('"requests";q=600;w=60')

    def test_is_refused_without_a_call_when_nothing_is_left(
        self, operation: Operation, world: World, configure: Configure
    ) -> None:
        configure(requests_per_minute="1")
        caller = caller_of(operation, world) or world.people.owner
        assert world.api.get("/public/leads/statuses", as_=caller).status == 200
        refused = asked(operation, world)
        assert refused.code == "429 rate_limited"
        assert refused.calls.names == []


@by_operation(lambda o: o.allows_anonymous or (isinstance(o.access, RequireRole) and o.access.if_published))
class TestWithoutACredential:
    def test_each_is_limited_by_the_network_of_its_client(
        self, operation: Operation, world: World, configure: Configure, begin: Begin
    ) -> None:
        begin()
        configure(network_requests_per_minute="1")
        assert world.api.get("/public/leads/statuses").status == 200
        refused = perform(operation, world, as_=None)
        assert refused.code == "429 rate_limited"
        assert refused.headers["RateLimit-Policy"] == '"anonymous-requests";q=1;w=60'
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.calls.names == []
        elsewhere = perform(operation, world, as_=None, ip="198.51.100.9")
        assert elsewhere.status != 429

    def test_counting_takes_one_write_in_twenty_requests_and_no_read(
        self, operation: Operation, world: World, configure: Configure, begin: Begin
    ) -> None:
        begin()
        usual = perform(operation, world, as_=None)
        configure(network_requests_per_minute="600")
        begin()
        for _ in range(request_quota.BATCH_SIZE - 1):
            assert world.api.get("/public/leads/statuses").calls.names == []
        counted = perform(operation, world, as_=None)
        assert counted.calls.names == [LEASE, *usual.calls.names]
        assert counted.status == usual.status
