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
from tests.harness.stored_records import load_item

pytestmark = pytest.mark.usefixtures("aws")

BY_NETWORK = RateLimit("knocks", limit=3, seconds=60, per="network")
BY_PRINCIPAL = RateLimit("errands", limit=3, seconds=60, per="principal")


def charge_once(address="192.0.2.7", principal="ada", *, rate_limit=BY_NETWORK):
    bucket = rate_limit.bucket_for(client_network(address) if rate_limit.per == "network" else principal)
    state = bucket.state_or_raise_if_exhausted(table.get(bucket.key), now())
    table.write_transaction([state.count_request_write()])
    return state.headers["RateLimit"]


def test_each_charge_takes_one_unit_until_the_window_ends(clock):
    clock.freeze()
    assert charge_once() == '"knocks";r=2;t=60'
    clock.shift(seconds=20)
    assert [charge_once() for _ in range(2)] == ['"knocks";r=1;t=40', '"knocks";r=0;t=40']
    clock.shift(seconds=39.5)
    with pytest.raises(Problem) as raised:
        charge_once()
    assert raised.value.headers == {
        "Retry-After": "1",
        "RateLimit": '"knocks";r=0;t=1',
        "RateLimit-Policy": '"knocks";q=3;w=60',
    }
    clock.shift(seconds=0.5)
    assert charge_once() == '"knocks";r=2;t=60'


@pytest.mark.parametrize(
    ("rate_limit", "same_callers", "other_caller"),
    [
        (BY_NETWORK, [("192.0.2.7", name) for name in ("ada", "grace", "edith", "mary")], ("192.0.2.8", "ada")),
        (BY_NETWORK, [(f"2001:db8:0:1:{n:x}::1", "ada") for n in (0, 1, 2, 0xFFFF)], ("2001:db8:0:2::1", "ada")),
        (
            BY_NETWORK,
            [(ip, "ada") for ip in ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207", "192.0.2.7")],
            ("192.0.2.8", "ada"),
        ),
        (BY_NETWORK, [("unknown", "ada")] * 4, ("192.0.2.8", "ada")),
        (BY_PRINCIPAL, [(f"192.0.2.{n}", "ada") for n in range(4)], ("192.0.2.0", "grace")),
    ],
    ids=["a network", "an IPv6 network", "both notations of IPv4", "unknown addresses", "a principal"],
)
def test_a_network_or_principal_has_one_bucket(rate_limit, same_callers, other_caller):
    for caller in same_callers[:3]:
        charge_once(*caller, rate_limit=rate_limit)
    with pytest.raises(Problem, match="rate_limited"):
        charge_once(*same_callers[3], rate_limit=rate_limit)
    charge_once(*other_caller, rate_limit=rate_limit)


def test_concurrent_requests_never_exceed_the_limit_and_start_a_window_once():
    bucket = BY_NETWORK.bucket_for("192.0.2.7")

    def can_charge(_: int) -> bool:
        try:
            charge_once()
        except (TransactionCancelled, Problem):
            return False
        return True

    first, second = (bucket.state_or_raise_if_exhausted(None, now()) for _ in range(2))
    table.write_transaction([first.count_request_write()])
    with pytest.raises(TransactionCancelled):
        table.write_transaction([second.count_request_write()])
    with ThreadPoolExecutor(8) as threads:
        successes = 1 + sum(threads.map(can_charge, range(40)))
    assert successes == load_item(bucket.key)["used"] <= 3


def test_several_buckets_are_charged_together_or_not_at_all():
    buckets = [BY_NETWORK.bucket_for("192.0.2.7"), BY_PRINCIPAL.bucket_for("ada"), BY_PRINCIPAL.bucket_for("grace")]
    states = [bucket.state_or_raise_if_exhausted(None, now()) for bucket in buckets]
    count_request_in_own_transaction(states[:2])
    assert [table.get(bucket.key) is not None for bucket in buckets] == [True, True, False]
    with pytest.raises(ConcurrentModification):
        count_request_in_own_transaction([states[0], states[2]])
    assert table.get(buckets[2].key) is None
