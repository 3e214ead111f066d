"""Requests that several processes count: whatever their order, neither many more nor fewer than there are."""

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
from tests.conftest import Configure
from tests.harness.clock import Clock
from tests.harness.processes import Process

by_chance = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
MOST_UNTOLD: Final = request_quota.BATCH_SIZE - 1
RUNS: Final = st.tuples(st.integers(0, 3), st.integers(1, 70))
"""Which process, and how many requests it gets one after the other."""

MINUTES: Final = st.lists(st.lists(RUNS, min_size=1, max_size=12), min_size=1, max_size=3)


@contextmanager
def shared(written: Counter[ItemKey]) -> Iterator[None]:
    """Let the block count in a table of its own; `written` has what each item holds."""

    def add(key: ItemKey, _name: str, amount: int, **_: object) -> int:
        written[key] += amount
        return written[key]

    with patch.object(table, "increment", add):
        yield


def let_through(process: Process) -> bool:
    with process():
        try:
            return request_quota.check_request_rate("ada") is not None
        except Problem:
            return False


@by_chance
@given(most=st.integers(1, 150), minutes=MINUTES)
def test_as_many_pass_as_there_are_and_nineteen_more_of_each_process_at_most(
    configure: Configure, clock: Clock, most: int, minutes: list[list[tuple[int, int]]]
) -> None:
    configure(requests_per_minute=str(most))
    clock.freeze()
    processes = [Process() for _ in range(4)]
    with shared(Counter()):
        for runs in minutes:
            clock.shift(seconds=request_quota.WINDOW_SECONDS)
            passed = sum(let_through(processes[number]) for number, times in runs for _ in range(times))
            asked = sum(times for _, times in runs)
            busy = {number for number, _ in runs}
            assert passed <= most + len(busy) * min(MOST_UNTOLD, most)
            assert len(busy) > 1 or passed == min(most, asked)
            unused = sum(processes[number].unused for number in busy)
            assert passed + unused >= min(most, asked)


@by_chance
@given(most=st.integers(0, 150), minutes=MINUTES)
def test_a_process_writes_once_in_twenty_requests_at_most(
    configure: Configure, clock: Clock, most: int, minutes: list[list[tuple[int, int]]]
) -> None:
    configure(requests_per_minute=str(most))
    clock.freeze()
    process, writes, asked = Process(), 0, 0

    def add(*_: object, **__: object) -> int:
        nonlocal writes
        writes += 1
        return 10**6 if writes % 3 else 1

    with patch.object(table, "increment", add):
        for runs in minutes:
            clock.shift(seconds=request_quota.WINDOW_SECONDS)
            for _ in range(sum(times for _, times in runs)):
                let_through(process)
                asked += 1
                assert writes <= asked / request_quota.BATCH_SIZE
