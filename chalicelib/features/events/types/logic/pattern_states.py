"""Counts the states of the deterministic automaton of a regular expression, which decide how fast it matches.

The engine builds these states while it reads text. As long as they fit into its cache, each byte takes about the same
time. A pattern such as `a[ab]{20}$` has millions of states: its cache is emptied again and again, and a byte takes up
to a thousand times longer. The construction is that of V. M. Glushkov: each character of the expression is a
position, and a state is the set of positions that the last character may have had.
"""

from collections.abc import Iterable
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from chalicelib.features.events.types.logic.pattern_syntax import (
    Alternative,
    Characters,
    Choice,
    Expression,
    Ranges,
    Repetition,
    UnsupportedPattern,
    parse_pattern,
)

MAX_PATTERN_POSITIONS: Final = 300
"""Characters of a regular expression after its repetitions are written out: `[a-z]{2,5}` has five."""

MAX_PATTERN_STATES: Final = 250
"""States of the automaton of a regular expression, which reads the text forwards or backwards."""


@dataclass(frozen=True)
class _Part:
    """Sets of positions, as bits, that can be the first and the last ones of an expression's matches."""

    first: int
    last: int
    matches_empty: bool


class _Automaton:
    """The positions of a pattern. `followers`: for each position, those that can come next."""

    def __init__(self, alternatives: SequenceType[Alternative]) -> None:
        self.characters: list[Ranges] = []
        self.followers: list[int] = []
        self.parts = [self._add(alternative.expression) for alternative in alternatives]
        self.alternatives = alternatives

    def _add(self, expression: Expression) -> _Part:
        if isinstance(expression, Characters):
            return self._add_position(expression.ranges)
        if isinstance(expression, Choice):
            options = [self._add(option) for option in expression.options]
            first, last = _union(each.first for each in options), _union(each.last for each in options)
            return _Part(first, last, any(each.matches_empty for each in options))
        if isinstance(expression, Repetition):
            return self._add_repetition(expression)
        whole = _Part(0, 0, matches_empty=True)
        for part in expression.parts:
            whole = self._join(whole, self._add(part))
        return whole

    def _add_position(self, characters: Ranges) -> _Part:
        if len(self.characters) == MAX_PATTERN_POSITIONS:
            raise UnsupportedPattern(
                f"must have {MAX_PATTERN_POSITIONS} or fewer characters when its repetitions are written out. Limit the"
                " length with `maxLength` instead of a count such as {1,500}"
            )
        position = 1 << len(self.characters)
        self.characters.append(characters)
        self.followers.append(0)
        return _Part(position, position, matches_empty=False)

    def _add_repetition(self, repetition: Repetition) -> _Part:
        whole = _Part(0, 0, matches_empty=True)
        count = max(repetition.least, 1) if repetition.most is None else repetition.most
        if not _has_positions(repetition.part):
            return whole
        for number in range(count):
            part = self._add(repetition.part)
            if repetition.most is None and number == count - 1:
                self._link(part.last, part.first)
            is_optional = part.matches_empty or number >= repetition.least
            whole = self._join(whole, replace(part, matches_empty=is_optional))
        return whole

    def _join(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        return _Part(
            left.first | (right.first if left.matches_empty else 0),
            right.last | (left.last if right.matches_empty else 0),
            left.matches_empty and right.matches_empty,
        )

    def _link(self, positions: int, followers: int) -> None:
        for position in _bits(positions):
            self.followers[position] |= followers

    def count_states(self, *, backwards: bool) -> int:
        """Return the number of states, or one more than their limit. Raises no errors."""
        first, anchored_first, last = self._ends(backwards=backwards)
        followers = self._reversed_followers() if backwards else self.followers
        symbols = self._symbols()
        start = first | anchored_first
        states, pending = {0}, [start]
        seen = {start}
        while pending and len(states) <= MAX_PATTERN_STATES:
            expected = pending.pop()
            for members in symbols:
                state = expected & members
                if state in states:
                    continue
                states.add(state)
                if state & last:
                    continue
                successors = first | _union(followers[position] for position in _bits(state))
                if successors not in seen:
                    seen.add(successors)
                    pending.append(successors)
        return len(states)

    def _ends(self, *, backwards: bool) -> tuple[int, int, int]:
        """Return the positions where a match can start anywhere, those where it starts the text, and the last ones.

        The search ends at a last position, unless the match must end at the end of the text.
        """
        first, anchored_first, last = 0, 0, 0
        for part, alternative in zip(self.parts, self.alternatives, strict=True):
            starts, ends = (part.last, part.first) if backwards else (part.first, part.last)
            anchors = alternative.is_anchored_at_start, alternative.is_anchored_at_end
            is_start_anchored, is_end_anchored = reversed(anchors) if backwards else anchors
            first |= 0 if is_start_anchored else starts
            anchored_first |= starts if is_start_anchored else 0
            last |= 0 if is_end_anchored else ends
        return first, anchored_first, last

    def _reversed_followers(self) -> list[int]:
        result = [0] * len(self.followers)
        for position, followers in enumerate(self.followers):
            for follower in _bits(followers):
                result[follower] |= 1 << position
        return result

    def _symbols(self) -> set[int]:
        """Return, for each kind of character that the pattern distinguishes, the positions that accept it."""
        starts = sorted({0, *(edge for each in self.characters for low, high in each for edge in (low, high + 1))})
        members = dict.fromkeys(starts, 0)
        positions_by_set: dict[Ranges, int] = {}
        for position, characters in enumerate(self.characters):
            positions_by_set[characters] = positions_by_set.get(characters, 0) | 1 << position
        for characters, positions in positions_by_set.items():
            for low, high in characters:
                for start in starts:
                    if low <= start <= high:
                        members[start] |= positions
        return set(members.values())


def _has_positions(expression: Expression) -> bool:
    if isinstance(expression, Characters):
        return True
    if isinstance(expression, Repetition):
        return expression.most != 0 and _has_positions(expression.part)
    parts = expression.options if isinstance(expression, Choice) else expression.parts
    return any(_has_positions(part) for part in parts)


def _union(sets: Iterable[int]) -> int:
    result = 0
    for each in sets:
        result |= each
    return result


def _bits(positions: int) -> list[int]:
    result = []
    while positions:
        lowest = positions & -positions
        result.append(lowest.bit_length() - 1)
        positions ^= lowest
    return result


@lru_cache(maxsize=256)
def count_pattern_states(pattern: str) -> int:
    """Return the number of states of a regular expression's automaton, in the direction that needs more of them.

    Raises UnsupportedPattern, also if there are too many.
    """
    automaton = _Automaton(parse_pattern(pattern))
    count = max(automaton.count_states(backwards=False), automaton.count_states(backwards=True))
    if count > MAX_PATTERN_STATES:
        raise UnsupportedPattern(
            f"needs more than {MAX_PATTERN_STATES} states to match. Start it with ^, use smaller counts, and let"
            " neighbouring parts match different characters"
        )
    return count
