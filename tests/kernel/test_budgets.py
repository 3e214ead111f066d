from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ip_networks import client_network
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits.buckets import RateLimit, charge
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.clock import Clock

pytestmark = pytest.mark.usefixtures("aws")

BY_NETWORK = RateLimit("knocks", limit=3, seconds=60, per="network")
BY_PRINCIPAL = RateLimit("errands", limit=3, seconds=60, per="principal")


def spend(budget: RateLimit = BY_NETWORK, address: str = "192.0.2.7", principal: str = "ada") -> str:
    purse = budget.bucket_for(client_network(address) if budget.per == "network" else principal)
    share = purse.state(table.get(purse.key), now())
    table.write_transaction([share.write()])
    return share.headers["RateLimit"]


class TestBudget:
    def test_it_is_used_up_one_by_one_and_refilled_when_its_time_is_over(self, clock: Clock) -> None:
        clock.freeze()
        assert [spend() for _ in range(3)] == ['"knocks";r=2;t=60', '"knocks";r=1;t=60', '"knocks";r=0;t=60']
        clock.shift(seconds=59.5)
        with pytest.raises(Problem) as refused:
            spend()
        assert refused.value.headers == {
            "Retry-After": "1",
            "RateLimit": '"knocks";r=0;t=1',
            "RateLimit-Policy": '"knocks";q=3;w=60',
        }
        clock.shift(seconds=0.5)
        assert spend() == '"knocks";r=2;t=60'

    def test_a_time_begins_with_its_first_request_and_not_with_a_minute_of_the_clock(self, clock: Clock) -> None:
        clock.freeze()
        spend()
        clock.shift(seconds=20)
        assert spend() == '"knocks";r=1;t=40'

    def test_each_client_has_its_own_whoever_it_says_it_is(self) -> None:
        for principal in ("ada", "grace", "edith"):
            spend(principal=principal)
        with pytest.raises(Problem, match="rate_limited"):
            spend(principal="mary")
        spend(address="192.0.2.8")

    def test_of_ipv6_a_client_has_a_network_to_itself(self) -> None:
        for number in range(3):
            spend(address=f"2001:db8:0:1::{number}")
        with pytest.raises(Problem, match="rate_limited"):
            spend(address="2001:db8:0:1:ffff::1")
        spend(address="2001:db8:0:2::1")

    def test_an_ipv4_address_that_is_written_as_ipv6_is_the_same_client(self) -> None:
        for address in ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"):
            spend(address=address)
        with pytest.raises(Problem, match="rate_limited"):
            spend()

    def test_clients_of_an_unknown_address_have_one_together(self) -> None:
        assert spend(address="unknown").startswith('"knocks";r=2')
        assert spend(address="unknown").startswith('"knocks";r=1')

    def test_each_principal_has_its_own_wherever_it_comes_from(self) -> None:
        for number in range(3):
            spend(BY_PRINCIPAL, address=f"192.0.2.{number}")
        with pytest.raises(Problem, match="rate_limited"):
            spend(BY_PRINCIPAL, address="198.51.100.1")
        spend(BY_PRINCIPAL, principal="grace")

    def test_requests_at_once_use_up_no_more_than_there_is(self) -> None:
        def try_to_spend(_: int) -> bool:
            try:
                spend()
            except (TransactionCancelled, Problem):
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            spent = sum(threads.map(try_to_spend, range(40)))
        item = table.get(BY_NETWORK.bucket_for("192.0.2.7").key)
        assert item
        assert spent == item["used"] <= 3

    def test_a_time_that_another_request_began_meanwhile_is_begun_once(self) -> None:
        purse = BY_NETWORK.bucket_for("192.0.2.7")
        first, second = (purse.state(None, now()) for _ in range(2))
        table.write_transaction([first.write()])
        with pytest.raises(TransactionCancelled):
            table.write_transaction([second.write()])

    def test_what_is_charged_at_once_is_all_counted_or_none_of_it(self) -> None:
        purses = [BY_NETWORK.bucket_for("192.0.2.7"), BY_PRINCIPAL.bucket_for("ada")]
        shares = [purse.state(None, now()) for purse in purses]
        charge(shares)
        assert [table.get(purse.key) is not None for purse in purses] == [True, True]
        fresh = BY_PRINCIPAL.bucket_for("grace")
        with pytest.raises(ConcurrentModification):
            charge([shares[0], fresh.state(None, now())])
        assert table.get(fresh.key) is None
