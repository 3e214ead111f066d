"""When a delivery is tried again: the pauses of the contract, scattered, never shorter than what was asked for."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.notifications.logic.retry_schedule import (
    JITTER_FRACTION,
    RETRY_SECONDS,
    matches_any_pattern,
    next_attempt_at,
)
from chalicelib.kernel.core.clock import timestamp, timestamp_ms

MOMENTS = st.integers(0, 4_000_000_000_000).map(timestamp)
JITTER = st.floats(-1, 1)
TRIES = st.integers(1, len(RETRY_SECONDS))
ASKED = st.none() | st.integers(0, 10**9)
DAY = 86_400


def pause(tries: int, moment: str, jitter: float, asked: int | None = None) -> float:
    """Return the seconds until the next attempt."""
    at = next_attempt_at(tries, moment, jitter, asked)
    assert at is not None
    return (timestamp_ms(at) - timestamp_ms(moment)) / 1000


def test_the_pauses_are_those_that_receivers_are_told() -> None:
    minute, hour = 60, 3_600
    assert (
        5,
        5 * minute,
        30 * minute,
        2 * hour,
        5 * hour,
        10 * hour,
        14 * hour,
        20 * hour,
        24 * hour,
    ) == RETRY_SECONDS
    assert JITTER_FRACTION == 0.2


@given(TRIES, MOMENTS, JITTER)
def test_a_pause_is_at_most_a_fifth_shorter_or_longer(tries: int, moment: str, jitter: float) -> None:
    seconds = RETRY_SECONDS[tries - 1]
    assert 0.8 * seconds - 0.001 <= pause(tries, moment, jitter) <= 1.2 * seconds + 0.001


@given(TRIES, MOMENTS, JITTER)
def test_all_that_failed_at_once_is_spread_over_the_whole_of_it(tries: int, moment: str, jitter: float) -> None:
    earliest, latest = pause(tries, moment, -1), pause(tries, moment, 1)
    assert earliest <= pause(tries, moment, jitter) <= latest
    assert abs(latest - earliest - 0.4 * RETRY_SECONDS[tries - 1]) < 0.01


@given(TRIES, MOMENTS, JITTER, ASKED)
def test_it_is_never_shorter_than_what_was_asked_for_up_to_a_day(
    tries: int, moment: str, jitter: float, asked: int | None
) -> None:
    got, own = pause(tries, moment, jitter, asked), pause(tries, moment, jitter)
    assert got == max(own, min(asked or 0, DAY))


@given(st.integers(len(RETRY_SECONDS) + 1, 1_000), MOMENTS, JITTER, ASKED)
def test_after_the_tenth_attempt_there_is_none(tries: int, moment: str, jitter: float, asked: int | None) -> None:
    assert next_attempt_at(tries, moment, jitter, asked) is None


@given(JITTER)
def test_ten_attempts_take_between_two_and_four_days(jitter: float) -> None:
    moment = began = timestamp(1_800_000_000_000)
    tries = 0
    while moment:
        tries, last = tries + 1, moment
        moment = next_attempt_at(tries, moment, jitter) or ""
    assert tries == 10
    assert 2.5 * DAY < (timestamp_ms(last) - timestamp_ms(began)) / 1000 < 4 * DAY


WORDS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
TYPES = st.lists(WORDS, min_size=2, max_size=4).map(".".join)


@given(TYPES, st.lists(TYPES))
def test_a_type_is_wanted_by_its_name_by_what_it_begins_with_and_by_everything(name: str, others: list[str]) -> None:
    words = name.split(".")
    patterns = [".".join([*words[:n], "*"]) for n in range(1, len(words))]
    assert all(matches_any_pattern([*others, pattern], name) for pattern in (name, "*", *patterns))


@given(TYPES, TYPES)
def test_it_is_not_wanted_by_another_name_or_by_what_is_no_beginning_of_it(name: str, other: str) -> None:
    assert matches_any_pattern([other], name) == (other == name)
    assert matches_any_pattern([f"{other}.*"], name) == name.startswith(f"{other}.")
    assert not matches_any_pattern([], name)
