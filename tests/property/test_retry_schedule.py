"""The delays between delivery attempts are the documented ones, with jitter, and respect `Retry-After`."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.notifications.logic.retry_schedule import (
    JITTER_FRACTION,
    RETRY_SECONDS,
    matches_any_pattern,
    next_attempt_at,
)
from chalicelib.kernel.core.clock import timestamp, timestamp_ms

TIMESTAMPS = st.integers(0, 4_000_000_000_000).map(timestamp)
JITTER = st.floats(-1, 1)
ATTEMPTS = st.integers(1, len(RETRY_SECONDS))
RETRY_AFTER_SECONDS = st.none() | st.integers(0, 10**9)
DAY = 86_400


def retry_delay(attempts: int, failed_at: str, jitter: float, retry_after: int | None = None) -> float:
    """Return the seconds until the next attempt."""
    retry_at = next_attempt_at(attempts, failed_at, jitter, retry_after)
    assert retry_at is not None
    return (timestamp_ms(retry_at) - timestamp_ms(failed_at)) / 1000


def test_the_delays_are_the_documented_ones():
    assert (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, DAY) == RETRY_SECONDS
    assert JITTER_FRACTION == 0.2


@given(ATTEMPTS, TIMESTAMPS, JITTER, RETRY_AFTER_SECONDS)
def test_delays_are_spread_over_the_whole_jitter_of_a_fifth_and_respect_retry_after(
    attempts, failed_at, jitter, retry_after
):
    seconds, delay = RETRY_SECONDS[attempts - 1], retry_delay(attempts, failed_at, jitter)
    earliest, latest = retry_delay(attempts, failed_at, -1), retry_delay(attempts, failed_at, 1)
    assert 0.8 * seconds - 0.001 <= earliest <= delay <= latest <= 1.2 * seconds + 0.001
    assert abs(latest - earliest - 0.4 * seconds) < 0.01
    assert retry_delay(attempts, failed_at, jitter, retry_after) == max(delay, min(retry_after or 0, DAY))


@given(st.integers(len(RETRY_SECONDS) + 1, 1_000), TIMESTAMPS, JITTER, RETRY_AFTER_SECONDS)
def test_after_the_tenth_attempt_there_is_none(attempts, failed_at, jitter, retry_after):
    assert next_attempt_at(attempts, failed_at, jitter, retry_after) is None


@given(JITTER)
def test_ten_attempts_take_between_two_and_four_days(jitter):
    failed_at = started_at = timestamp(1_800_000_000_000)
    attempts = 0
    while failed_at:
        attempts, last = attempts + 1, failed_at
        failed_at = next_attempt_at(attempts, failed_at, jitter) or ""
    assert attempts == 10
    assert 2.5 * DAY < (timestamp_ms(last) - timestamp_ms(started_at)) / 1000 < 4 * DAY


SEGMENTS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
EVENT_TYPES = st.lists(SEGMENTS, min_size=2, max_size=4).map(".".join)


@given(EVENT_TYPES, st.lists(EVENT_TYPES))
def test_a_type_matches_its_name_its_prefixes_and_everything(name, others):
    segments = name.split(".")
    patterns = [".".join([*segments[:n], "*"]) for n in range(1, len(segments))]
    assert all(matches_any_pattern([*others, pattern], name) for pattern in (name, "*", *patterns))


@given(EVENT_TYPES, EVENT_TYPES)
def test_a_type_does_not_match_other_names_or_prefixes(name, other):
    assert matches_any_pattern([other], name) == (other == name)
    assert matches_any_pattern([f"{other}.*"], name) == name.startswith(f"{other}.")
    assert not matches_any_pattern([], name)
