"""Times: what is said of spans holds of every moment."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.sites.models.intervals import (
    ALWAYS,
    MOST_SPANS,
    NEVER,
    Times,
    begun,
    both,
    ended,
    is_so,
    kept,
    last,
    without,
)

MOMENTS = "abcdefghij"
spans = st.lists(st.integers(0, 9), min_size=0, max_size=8, unique=True).map(
    lambda ends: [[MOMENTS[a], MOMENTS[b]] for a, b in zip(*[iter(sorted(ends))] * 2, strict=False)]
)
moments = st.sampled_from(MOMENTS)


def so(times: Times, moment: str) -> bool:
    return any(since <= moment < until for since, until in times)


@given(spans, spans, moments)
def test_two_things_are_so_at_once_and_one_without_the_other(these: Times, those: Times, moment: str) -> None:
    assert so(both(these, those), moment) == (so(these, moment) and so(those, moment))
    assert so(without(these, those), moment) == (so(these, moment) and not so(those, moment))
    assert both(these, ALWAYS) == tuple(map(tuple, these))


@given(spans, moments, moments)
def test_what_ends_was_so_until_then_and_what_begins_is_so_from_then(times: Times, moment: str, other: str) -> None:
    assert so(ended(times, moment), other) == (so(times, other) and other < moment)
    again = begun(ended(times, moment), moment)
    assert is_so(again)
    assert last(again) == NEVER
    assert so(again, other) == (so(times, other) or other >= moment)
    assert begun(again, other) == again


@given(st.integers(1, 40))
def test_of_very_many_spans_the_first_become_one(number: int) -> None:
    times = [[f"{n:03}a", f"{n:03}b"] for n in range(number)]
    few = kept(times[::-1])
    assert len(few) == min(number, MOST_SPANS)
    assert few[1:] == times[len(times) - len(few) + 1 :]
    assert (few[0][0], last(few)) == ("000a", last(times))
