"""Times: when something was so. Spans in their order, each from a moment on until another, which is none of it."""

from collections.abc import Sequence
from typing import Final

NEVER: Final = "~"
"""Later than any moment: the end of what is still so."""

MOST_SPANS: Final = 10
"""That are kept of one thing."""

Times = Sequence[Sequence[str]]
"""Pairs of moments."""

ALWAYS: Final[Times] = (("", NEVER),)


def begun(times: Times, moment: str) -> list[list[str]]:
    """Return times of what is so again, or still, from a moment on."""
    return [*map(list, times)] if is_so(times) else [*map(list, times), [moment, NEVER]]


def ended(times: Times, moment: str) -> list[list[str]]:
    """Return times of what is so no more from a moment on."""
    return [[since, min(until, moment)] for since, until in times if since < moment]


def is_so(times: Times) -> bool:
    """Return whether it is so still."""
    return bool(times) and last(times) == NEVER


def last(times: Times) -> str:
    """Return the moment until which it was so last, or `NEVER`."""
    return times[-1][1]


def kept(times: Times) -> list[list[str]]:
    """Return times of which no more are kept than there may be: the first of them become one."""
    ordered = sorted(map(list, times))
    while len(ordered) > MOST_SPANS:
        (since, _), (_, until), *ordered = ordered
        ordered = [[since, until], *ordered]
    return ordered


def both(these: Times, those: Times) -> Times:
    """Return when two things were so at once."""
    spans = ((max(a, c), min(b, d)) for a, b in these for c, d in those)
    return tuple(sorted((since, until) for since, until in spans if since < until))


def without(these: Times, those: Times) -> Times:
    """Return when one thing was so, and another was not."""
    for since, until in those:
        these = both(these, [("", since), (until, NEVER)])
    return these
