"""Times: what is said of spans holds of every moment."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.sites.models.intervals import (
    ALWAYS,
    MAX_INTERVALS,
    OPEN_END,
    Intervals,
    close_intervals,
    compact,
    intersect,
    is_open,
    last_end,
    open_interval,
    subtract,
)

MOMENTS = "abcdefghij"
spans = st.lists(st.integers(0, 9), min_size=0, max_size=8, unique=True).map(
    lambda ends: [[MOMENTS[a], MOMENTS[b]] for a, b in zip(*[iter(sorted(ends))] * 2, strict=False)]
)
moments = st.sampled_from(MOMENTS)


def so(times: Intervals, moment: str) -> bool:
    return any(since <= moment < until for since, until in times)


@given(spans, spans, moments)
def test_two_things_are_so_at_once_and_one_without_the_other(these: Intervals, those: Intervals, moment: str) -> None:
    assert so(intersect(these, those), moment) == (so(these, moment) and so(those, moment))
    assert so(subtract(these, those), moment) == (so(these, moment) and not so(those, moment))
    assert intersect(these, ALWAYS) == tuple(map(tuple, these))


@given(spans, moments, moments)
def test_what_ends_was_so_until_then_and_what_begins_is_so_from_then(times: Intervals, moment: str, other: str) -> None:
    assert so(close_intervals(times, moment), other) == (so(times, other) and other < moment)
    again = open_interval(close_intervals(times, moment), moment)
    assert is_open(again)
    assert last_end(again) == OPEN_END
    assert so(again, other) == (so(times, other) or other >= moment)
    assert open_interval(again, other) == again


@given(st.integers(1, 40))
def test_of_very_many_spans_the_first_become_one(number: int) -> None:
    times = [[f"{n:03}a", f"{n:03}b"] for n in range(number)]
    few = compact(times[::-1])
    assert len(few) == min(number, MAX_INTERVALS)
    assert few[1:] == times[len(times) - len(few) + 1 :]
    assert (few[0][0], last_end(few)) == ("000a", last_end(times))
