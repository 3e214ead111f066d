"""A rate limit counts requests per window for each network or principal, and is never exceeded."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ip_networks import client_network
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits.buckets import RateLimit, count_request_in_own_transaction
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.table import TransactionCancelled

pytestmark = pytest.mark.usefixtures("aws")

BY_NETWORK = RateLimit("knocks", limit=3, seconds=60, per="network")
BY_PRINCIPAL = RateLimit("errands", limit=3, seconds=60, per="principal")


def charge_once(rate_limit: RateLimit = BY_NETWORK, address: str = "192.0.2.7", principal: str = "ada") -> str:
    bucket = rate_limit.bucket_for(client_network(address) if rate_limit.per == "network" else principal)
    state = bucket.state_or_raise_if_exhausted(table.get(bucket.key), now())
    table.write_transaction([state.count_request_write()])
    return state.headers["RateLimit"]


class TestRateLimit:
    def test_each_charge_takes_one_unit_until_the_window_ends(self, clock):
        clock.freeze()
        assert [charge_once() for _ in range(3)] == ['"knocks";r=2;t=60', '"knocks";r=1;t=60', '"knocks";r=0;t=60']
        clock.shift(seconds=59.5)
        with pytest.raises(Problem) as raised:
            charge_once()
        assert raised.value.headers == {
            "Retry-After": "1",
            "RateLimit": '"knocks";r=0;t=1',
            "RateLimit-Policy": '"knocks";q=3;w=60',
        }
        clock.shift(seconds=0.5)
        assert charge_once() == '"knocks";r=2;t=60'

    def test_a_window_starts_with_its_first_request(self, clock):
        clock.freeze()
        charge_once()
        clock.shift(seconds=20)
        assert charge_once() == '"knocks";r=1;t=40'

    def test_each_network_has_one_bucket_for_all_principals(self):
        for principal in ("ada", "grace", "edith"):
            charge_once(principal=principal)
        with pytest.raises(Problem, match="rate_limited"):
            charge_once(principal="mary")
        charge_once(address="192.0.2.8")

    def test_an_ipv6_client_has_a_network_of_its_own(self):
        for number in range(3):
            charge_once(address=f"2001:db8:0:1::{number}")
        with pytest.raises(Problem, match="rate_limited"):
            charge_once(address="2001:db8:0:1:ffff::1")
        charge_once(address="2001:db8:0:2::1")

    def test_an_ipv4_mapped_ipv6_address_is_the_same_client(self):
        for address in ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"):
            charge_once(address=address)
        with pytest.raises(Problem, match="rate_limited"):
            charge_once()

    def test_clients_without_a_known_address_share_a_bucket(self):
        assert charge_once(address="unknown").startswith('"knocks";r=2')
        assert charge_once(address="unknown").startswith('"knocks";r=1')

    def test_each_principal_has_one_bucket_for_all_addresses(self):
        for number in range(3):
            charge_once(BY_PRINCIPAL, address=f"192.0.2.{number}")
        with pytest.raises(Problem, match="rate_limited"):
            charge_once(BY_PRINCIPAL, address="198.51.100.1")
        charge_once(BY_PRINCIPAL, principal="grace")

    def test_concurrent_requests_never_exceed_the_limit(self):
        def try_to_charge(_: int) -> bool:
            try:
                charge_once()
            except (TransactionCancelled, Problem):
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            successes = sum(threads.map(try_to_charge, range(40)))
        item = table.get(BY_NETWORK.bucket_for("192.0.2.7").key)
        assert item
        assert successes == item["used"] <= 3

    def test_concurrent_requests_start_a_window_once(self):
        bucket = BY_NETWORK.bucket_for("192.0.2.7")
        first, second = (bucket.state_or_raise_if_exhausted(None, now()) for _ in range(2))
        table.write_transaction([first.count_request_write()])
        with pytest.raises(TransactionCancelled):
            table.write_transaction([second.count_request_write()])

    def test_several_buckets_are_charged_together_or_not_at_all(self):
        buckets = [BY_NETWORK.bucket_for("192.0.2.7"), BY_PRINCIPAL.bucket_for("ada")]
        states = [bucket.state_or_raise_if_exhausted(None, now()) for bucket in buckets]
        count_request_in_own_transaction(states)
        assert [table.get(bucket.key) is not None for bucket in buckets] == [True, True]
        other_bucket = BY_PRINCIPAL.bucket_for("grace")
        with pytest.raises(ConcurrentModification):
            count_request_in_own_transaction([states[0], other_bucket.state_or_raise_if_exhausted(None, now())])
        assert table.get(other_bucket.key) is None
