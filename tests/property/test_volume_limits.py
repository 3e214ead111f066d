"""Several processes share the volume that an organization can write, and exceed it by at most a second each."""

from collections import Counter
from typing import Final
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits.request_quota import BATCH_SIZE, WINDOW_SECONDS
from chalicelib.kernel.rate_limits.volume_limits import VolumeLimit, count_volume, refund_volume
from chalicelib.kernel.storage import table
from tests.harness.clock import Clock
from tests.harness.simulated_processes import SimulatedProcess
from tests.property.test_request_quota import shared_counter

few_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
MAX_AMOUNT: Final = 25
WRITES: Final = st.lists(st.tuples(st.integers(0, 2), st.integers(1, MAX_AMOUNT)), min_size=1, max_size=80)
"""The number of a process, and the amount that it tries to write."""


def limit_of(per_second: int, name: str = "events") -> VolumeLimit:
    return VolumeLimit(name, name, lambda: per_second, int)


def is_admitted(process: SimulatedProcess, limits: tuple[VolumeLimit, ...], amount: int) -> bool:
    with process():
        try:
            count_volume(limits, amount, "O#1")
        except Problem:
            return False
        return True


@few_examples
@given(per_second=st.integers(1, 10), writes=WRITES)
def test_the_admitted_volume_exceeds_the_limit_by_at_most_a_second_for_each_process(clock, per_second, writes):
    clock.freeze()
    clock.shift(seconds=WINDOW_SECONDS)
    limit, processes = limit_of(per_second), [SimulatedProcess() for _ in range(3)]
    with shared_counter(Counter()):
        admitted = sum(amount for number, amount in writes if is_admitted(processes[number], (limit,), amount))
    total, per_minute = sum(amount for _, amount in writes), per_second * WINDOW_SECONDS
    active = len({number for number, _ in writes})
    assert admitted <= max(per_minute, MAX_AMOUNT) + (active - 1) * (limit.batch + MAX_AMOUNT)
    if active == 1:
        assert admitted == total or total > per_minute - MAX_AMOUNT


@few_examples
@given(per_second=st.integers(1, 30), writes=WRITES)
def test_a_process_makes_at_most_one_write_for_the_volume_of_a_second(clock, per_second, writes):
    clock.freeze()
    limit, process, volume, write_count = limit_of(per_second), SimulatedProcess(), 0, 0

    def increment(*_: object, **__: object) -> int:
        nonlocal write_count
        write_count += 1
        return 1

    with patch.object(table, "increment", increment):
        for _, amount in writes:
            is_admitted(process, (limit,), amount)
            volume += amount
            assert write_count <= volume / max(BATCH_SIZE, per_second)


@few_examples
@given(writes=st.lists(st.tuples(st.integers(1, MAX_AMOUNT), st.booleans()), max_size=40))
def test_a_refunded_volume_is_available_again_and_no_other(clock, writes):
    clock.freeze()
    clock.shift(seconds=WINDOW_SECONDS)
    limit, used = limit_of(MAX_AMOUNT), 0
    with shared_counter(Counter()), SimulatedProcess()():
        for amount, is_refunded in writes:
            states = count_volume((limit,), amount, "O#1")
            assert states[0].used == used
            if is_refunded:
                refund_volume(states, "O#1")
            else:
                used += amount


class TestSeveralLimits:
    limits = (limit_of(2), limit_of(1, "event-bytes"))

    @pytest.fixture(autouse=True)
    def _frozen(self, clock: Clock) -> None:
        clock.freeze()
        clock.shift(seconds=WINDOW_SECONDS)

    def test_a_volume_that_one_limit_rejects_counts_against_none(self):
        process = SimulatedProcess()
        with shared_counter(Counter()):
            assert is_admitted(process, self.limits, 50)
            assert not is_admitted(process, self.limits, 20)  # 60 a minute.
            with process():
                (state,) = count_volume(self.limits[:1], 20, "O#1")
        assert (state.used, state.rate_limit.limit) == (50, 120)

    def test_the_problem_says_what_is_allowed_and_when_to_try_again(self):
        with shared_counter(Counter()), SimulatedProcess()():
            count_volume(self.limits, 60, "O#1")
            with pytest.raises(Problem) as raised:
                count_volume(self.limits, 1, "O#1")
        problem = raised.value
        assert problem.status == 429
        assert problem.detail.startswith(
            "An organization can write 1 event-bytes a second, averaged over 60 s. Nothing"
        )
        assert problem.headers["RateLimit-Policy"] == '"event-bytes";q=60;w=60'
        assert problem.headers["RateLimit"] == f'"event-bytes";r=0;t={problem.headers["Retry-After"]}'

    def test_a_volume_above_the_whole_limit_is_admitted_if_nothing_was_used(self):
        with shared_counter(Counter()):
            assert is_admitted(SimulatedProcess(), self.limits, 1000)

    def test_no_limit_counts_nothing(self):
        assert count_volume([limit_of(0)], 10**9, "O#1") == []
