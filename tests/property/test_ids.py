"""Ids sort as the moments they are of, so that a time is a span of them."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.core.ids import id_range, new_id, timestamp_ms_of_id

_LAST_MS = timestamp_ms("2099-12-31T23:59:59.999Z")
moments = st.integers(0, _LAST_MS).map(timestamp)
ends = st.none() | moments


@given(moments)
def test_an_id_tells_its_moment(moment: str) -> None:
    assert timestamp_ms_of_id(new_id(moment)) == timestamp_ms(moment)


@given(moments, ends, ends)
def test_an_id_is_within_a_time_if_its_moment_is(moment: str, since: str | None, until: str | None) -> None:
    span, made = id_range(since, until), new_id(moment)
    is_meant = (since is None or since <= moment) and (until is None or moment <= until)
    assert is_meant == ((span["since"] or "") <= made <= (span["until"] or "~"))


@given(moments, st.integers(-1, 1))
def test_neighbouring_moments_are_told_apart(moment: str, step: int) -> None:
    near = max(timestamp_ms(moment) + step, 0)
    span = id_range(moment, moment)
    assert span["since"]
    assert span["until"]
    assert (span["since"] <= new_id(timestamp(near)) <= span["until"]) == (near == timestamp_ms(moment))
