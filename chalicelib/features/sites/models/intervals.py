"""Intervals of time in ascending order: pairs of a start and an end, which is not part of the interval."""

from collections.abc import Sequence
from typing import Final

OPEN_END: Final = "~"
"""End of an interval that continues. It is greater than any timestamp."""

MAX_INTERVALS: Final = 10
"""Number of intervals that are stored for one fact."""

Intervals = Sequence[Sequence[str]]
"""Pairs of timestamps."""

ALWAYS: Final[Intervals] = (("", OPEN_END),)


def open_interval(intervals: Intervals, timestamp: str) -> list[list[str]]:
    """Return the intervals with one that is open, starting at a time unless one is open already."""
    return [*map(list, intervals)] if is_open(intervals) else [*map(list, intervals), [timestamp, OPEN_END]]


def close_intervals(intervals: Intervals, timestamp: str) -> list[list[str]]:
    """Return the intervals without anything after a time."""
    return [[since, min(until, timestamp)] for since, until in intervals if since < timestamp]


def is_open(intervals: Intervals) -> bool:
    """Return whether the last interval is open."""
    return bool(intervals) and last_end(intervals) == OPEN_END


def last_end(intervals: Intervals) -> str:
    """Return the end of the last interval, or `OPEN_END`."""
    return intervals[-1][1]


def compact(intervals: Intervals) -> list[list[str]]:
    """Return at most `MAX_INTERVALS` intervals. The first ones are joined."""
    ordered = sorted(map(list, intervals))
    while len(ordered) > MAX_INTERVALS:
        (since, _), (_, until), *ordered = ordered
        ordered = [[since, until], *ordered]
    return ordered


def intersect(first: Intervals, second: Intervals) -> Intervals:
    """Return the intersection of two sequences of intervals."""
    spans = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return tuple(sorted((since, until) for since, until in spans if since < until))


def subtract(intervals: Intervals, subtracted: Intervals) -> Intervals:
    """Return the intervals without those of a second sequence."""
    for since, until in subtracted:
        intervals = intersect(intervals, [("", since), (until, OPEN_END)])
    return intervals
