"""Rate limits and request quotas are counted per network or principal, and never exceeded."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ip_networks import client_network
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.rate_limits.buckets import RateLimit, count_request_in_own_transaction
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness import snapshots
from tests.harness.simulated_processes import SimulatedProcess
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


@pytest.fixture(autouse=True)
def request_limit(configure, clock):
    configure(requests_per_minute="100")
    clock.freeze()


def is_admitted(principal="ada"):
    try:
        return request_quota.count_and_limit_request(principal) is not None
    except Problem:
        return False


def count_admitted(requests, principal="ada"):
    return sum(is_admitted(principal) for _ in range(requests))


def test_threads_of_a_process_admit_exactly_the_limit():
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: is_admitted(), range(400))) == 100
    (item,) = snapshots.items_by_key().values()
    assert item["used"] == 100


def test_the_table_has_one_item_per_window_until_it_expires(clock):
    for _ in range(2):
        count_admitted(20)
        clock.shift(minutes=1)
    items = [*snapshots.items_by_key().values()]
    assert [item["used"] for item in items] == [39, 39]
    assert not [item for item in items if item["ttl"] > time.time() + request_quota.WINDOW_SECONDS]


def test_the_windows_of_principals_start_at_different_seconds():
    states = [request_quota.count_and_limit_request(f"user-{number}") for number in range(50)]
    assert len({state.reset_after_seconds for state in states if state}) > 20


def test_a_process_remembers_at_most_a_thousand_principals():
    count_admitted(19)
    for number in range(1000):
        is_admitted(f"user-{number}")
    assert SimulatedProcess.from_current_process().principal_count == 1000
    assert count_admitted(19) == 19
    assert snapshots.items_by_key() == {}


def test_a_slow_write_for_one_principal_does_not_block_another(monkeypatch):
    def increment_slowly(*_: object, **__: object) -> int:
        assert count_admitted(5, "grace") == 5
        return 39

    monkeypatch.setattr(table, "increment", increment_slowly)
    assert count_admitted(20) == 20


def test_requests_of_other_processes_are_subtracted():
    first, second = SimulatedProcess(), SimulatedProcess()
    with first():
        assert count_admitted(75) == 75
    with second():
        assert count_admitted(40) == 21  # 19 unreported; its first write returns that two remain
    with first():
        assert count_admitted(40) == 4
