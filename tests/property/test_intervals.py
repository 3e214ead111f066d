"""Operations on intervals hold for every point in time."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.sites.models.intervals import (
    ALWAYS,
    MAX_INTERVALS,
    OPEN_END,
    Intervals,
    intersect,
    is_open,
    last_end_or_open_end,
    limit_count_by_merging_oldest,
    parts_before,
    subtract,
    with_open_last_interval,
)

TIMES = "abcdefghij"
interval_lists = st.lists(st.integers(0, 9), min_size=0, max_size=8, unique=True).map(
    lambda ends: [[TIMES[a], TIMES[b]] for a, b in zip(*[iter(sorted(ends))] * 2, strict=False)]
)
times = st.sampled_from(TIMES)


def contains(intervals: Intervals, time: str) -> bool:
    return any(since <= time < until for since, until in intervals)


@given(interval_lists, interval_lists, times)
def test_intersection_and_difference_match_their_definitions(first, second, time):
    assert contains(intersect(first, second), time) == (contains(first, time) and contains(second, time))
    assert contains(subtract(first, second), time) == (contains(first, time) and not contains(second, time))
    assert intersect(first, ALWAYS) == tuple(map(tuple, first))


@given(interval_lists, times, times)
def test_closing_and_opening_affect_only_later_times(intervals, time, other):
    assert contains(parts_before(intervals, time), other) == (contains(intervals, other) and other < time)
    reopened = with_open_last_interval(parts_before(intervals, time), time)
    assert is_open(reopened)
    assert last_end_or_open_end(reopened) == OPEN_END
    assert contains(reopened, other) == (contains(intervals, other) or other >= time)
    assert with_open_last_interval(reopened, other) == reopened


@given(st.integers(1, 40))
def test_the_earliest_of_too_many_intervals_are_merged(number):
    intervals = [[f"{n:03}a", f"{n:03}b"] for n in range(number)]
    compacted = limit_count_by_merging_oldest(intervals[::-1])
    assert len(compacted) == min(number, MAX_INTERVALS)
    assert compacted[1:] == intervals[len(intervals) - len(compacted) + 1 :]
    assert (compacted[0][0], last_end_or_open_end(compacted)) == ("000a", last_end_or_open_end(intervals))
