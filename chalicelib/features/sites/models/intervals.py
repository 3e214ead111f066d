"""Time intervals in ascending order. Each is a pair of a start and an end, and does not include its end."""

from collections.abc import Sequence
from typing import Final

OPEN_END: Final = "~"
"""The end of an open interval. It is greater than any timestamp."""

MAX_INTERVALS: Final = 10
"""Maximum number of intervals that `limit_count_by_merging_oldest` returns, so that stored items stay small."""

Intervals = Sequence[Sequence[str]]
"""Pairs of timestamps."""

ALWAYS: Final[Intervals] = (("", OPEN_END),)


def with_open_last_interval(intervals: Intervals, start_if_closed: str) -> list[list[str]]:
    """Return the intervals with an open one at the end. If none is open yet, it starts at `start_if_closed`."""
    return [*map(list, intervals)] if is_open(intervals) else [*map(list, intervals), [start_if_closed, OPEN_END]]


def parts_before(intervals: Intervals, timestamp: str) -> list[list[str]]:
    """Return the parts of the intervals before `timestamp`."""
    return [[since, min(until, timestamp)] for since, until in intervals if since < timestamp]


def is_open(intervals: Intervals) -> bool:
    """Return whether the last interval is open."""
    return bool(intervals) and last_end_or_open_end(intervals) == OPEN_END


def last_end_or_open_end(intervals: Intervals) -> str:
    """Return the end of the last interval, or `OPEN_END`."""
    return intervals[-1][1]


def limit_count_by_merging_oldest(intervals: Intervals) -> list[list[str]]:
    """Return at most `MAX_INTERVALS` sorted intervals. If there are more, the earliest are merged into one."""
    ordered = sorted(map(list, intervals))
    while len(ordered) > MAX_INTERVALS:
        (since, _), (_, until), *ordered = ordered
        ordered = [[since, until], *ordered]
    return ordered


def intersect(first: Intervals, second: Intervals) -> Intervals:
    """Return the intersection of two sequences of intervals."""
    overlaps = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return tuple(sorted((since, until) for since, until in overlaps if since < until))


def subtract(intervals: Intervals, subtracted: Intervals) -> Intervals:
    """Return the parts of the intervals outside `subtracted`."""
    for since, until in subtracted:
        intervals = intersect(intervals, [("", since), (until, OPEN_END)])
    return intervals
