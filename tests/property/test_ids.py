"""IDs sort by their timestamps, so a time range is a range of IDs."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.core.ids import id_range_query_arguments, new_id, timestamp_ms_of_id

_LAST_MS = timestamp_ms("2099-12-31T23:59:59.999Z")
timestamps = st.integers(0, _LAST_MS).map(timestamp)
optional_timestamps = st.none() | timestamps


@given(timestamps, optional_timestamps, optional_timestamps)
def test_an_id_is_in_a_range_exactly_if_its_timestamp_is(created_at, since, until):
    id_bounds, record_id = id_range_query_arguments(since, until), new_id(created_at)
    assert timestamp_ms_of_id(record_id) == timestamp_ms(created_at)
    is_in_range = (since is None or since <= created_at) and (until is None or created_at <= until)
    assert is_in_range == ((id_bounds["since"] or "") <= record_id <= (id_bounds["until"] or "~"))


@given(timestamps, st.integers(-1, 1))
def test_ids_of_adjacent_milliseconds_are_distinguished(created_at, step):
    other_ms, id_bounds = timestamp_ms(created_at) + step, id_range_query_arguments(created_at, created_at)
    since, until, other_id = id_bounds["since"], id_bounds["until"], new_id(timestamp(max(other_ms, 0)))
    assert since
    assert until
    assert (since <= other_id <= until) == (max(other_ms, 0) == timestamp_ms(created_at))
