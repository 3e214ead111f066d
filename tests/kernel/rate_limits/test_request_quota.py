"""The request quota of a principal is reserved in batches by each process, and never exceeded."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from tests.harness import snapshots
from tests.harness.simulated_processes import SimulatedProcess

pytestmark = pytest.mark.usefixtures("aws")


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
