"""Several processes share a request quota, and together admit neither many more nor fewer requests than the limit."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from tests.harness.simulated_processes import SimulatedProcess

few_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
MAX_UNREPORTED: Final = request_quota.BATCH_SIZE - 1
RUNS: Final = st.tuples(st.integers(0, 3), st.integers(1, 70))
"""The number of a process, and of its consecutive requests."""

WINDOWS: Final = st.lists(st.lists(RUNS, min_size=1, max_size=12), min_size=1, max_size=3)


@contextmanager
def shared_counter(written: Counter[ItemKey]) -> Iterator[None]:
    """Replace the table's counters within the block. `written` has the value of each item."""

    def increment(key: ItemKey, _name: str, amount: int, **_: object) -> int:
        written[key] += amount
        return written[key]

    with patch.object(table, "increment", increment):
        yield


def is_admitted(process: SimulatedProcess) -> bool:
    with process():
        try:
            return request_quota.count_and_limit_request("ada") is not None
        except Problem:
            return False


@few_examples
@given(limit=st.integers(1, 150), windows=WINDOWS)
def test_admitted_requests_exceed_the_limit_by_at_most_19_per_process(configure, clock, limit, windows):
    configure(requests_per_minute=str(limit))
    clock.freeze()
    processes = [SimulatedProcess() for _ in range(4)]
    with shared_counter(Counter()):
        for runs in windows:
            clock.shift(seconds=request_quota.WINDOW_SECONDS)
            admitted = sum(is_admitted(processes[number]) for number, count in runs for _ in range(count))
            requests = sum(count for _, count in runs)
            active_processes = {number for number, _ in runs}
            assert admitted <= limit + len(active_processes) * min(MAX_UNREPORTED, limit)
            assert len(active_processes) > 1 or admitted == min(limit, requests)
            unused = sum(processes[number].unused_reservations for number in active_processes)
            assert admitted + unused >= min(limit, requests)


@few_examples
@given(limit=st.integers(0, 150), windows=WINDOWS)
def test_a_process_writes_at_most_once_per_20_requests(configure, clock, limit, windows):
    configure(requests_per_minute=str(limit))
    clock.freeze()
    process, writes, requests = SimulatedProcess(), 0, 0

    def increment(*_: object, **__: object) -> int:
        nonlocal writes
        writes += 1
        return 10**6 if writes % 3 else 1

    with patch.object(table, "increment", increment):
        for runs in windows:
            clock.shift(seconds=request_quota.WINDOW_SECONDS)
            for _ in range(sum(count for _, count in runs)):
                is_admitted(process)
                requests += 1
                assert writes <= requests / request_quota.BATCH_SIZE
