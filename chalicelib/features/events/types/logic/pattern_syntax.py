"""Parses the regular expressions of schemas: the part of ECMA-262 that every engine reads in the same way.

Schemas are validated with an engine that needs linear time (Rust's `regex`). It has no lookarounds and no
back-references. Word boundaries are left out because its fast automaton does not support them.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_PATTERN_LENGTH: Final = 500
"""Characters of a regular expression in a schema."""

MAX_GROUP_DEPTH: Final = 20
"""Levels of groups in a regular expression."""

Ranges = tuple[tuple[int, int], ...]
"""A set of characters: ranges of code points, in order and disjoint."""


class UnsupportedPattern(ValueError):
    """A regular expression outside of the supported syntax. The message says what to change."""


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Sequence:
    """Expressions that follow each other. An empty one matches the empty text."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Choice:
    """Expressions of which one matches."""

    options: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Repetition:
    """An expression that is repeated. `most`: None without a limit."""

    part: "Expression"
    least: int
    most: int | None


Expression = Characters | Sequence | Choice | Repetition


@dataclass(frozen=True)
class Alternative:
    """An alternative of a whole pattern, and whether it must match at the start and at the end of the text."""

    expression: Expression
    is_anchored_at_start: bool
    is_anchored_at_end: bool


def union(*sets: Ranges) -> Ranges:
    """Return the characters that are in one of the sets."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for ranges in sets for each in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return the characters that are not in a set."""
    result, start = [], 0
    for low, high in ranges:
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    return (*result, (start, sys.maxunicode)) if start <= sys.maxunicode else tuple(result)


def _ranges(text: str) -> Ranges:
    return union(tuple((ord(character), ord(character)) for character in text))


_DIGITS: Final[Ranges] = ((0x30, 0x39),)
_WORD: Final[Ranges] = union(_DIGITS, ((0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
_SPACE: Final[Ranges] = union(_ranges("\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"), ((0x2000, 0x200A),))
_CLASSES: Final = {
    "d": _DIGITS,
    "D": complement(_DIGITS),
    "w": _WORD,
    "W": complement(_WORD),
    "s": _SPACE,
    "S": complement(_SPACE),
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")
_MAX_COUNT_DIGITS: Final = 5
_FIRST_SURROGATE: Final = 0xD800
_LAST_SURROGATE: Final = 0xDFFF
_ANY: Final = complement(_ranges("\n\r\u2028\u2029"))
_QUANTIFIERS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_pattern(pattern: str) -> list[Alternative]:
    """Return the alternatives of a regular expression. Raises UnsupportedPattern."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise UnsupportedPattern(f"must have {MAX_PATTERN_LENGTH} or fewer characters")
    return list(_Parser(pattern).parse_alternatives())


class _Parser:
    """A recursive-descent parser of one pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._depth = 0

    def parse_alternatives(self) -> Iterator[Alternative]:
        while True:
            at_start = self._skip("^")
            expression = self._parse_sequence()
            yield Alternative(expression, at_start, self._skip("$"))
            if self._position == len(self._pattern):
                return
            if not self._skip("|"):
                raise self._refuse()

    def _parse_sequence(self) -> Expression:
        parts: list[Expression] = []
        while self._next not in ("", "|", ")", "$"):
            parts.append(self._parse_quantified())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _parse_quantified(self) -> Expression:
        part = self._parse_atom()
        if (quantifier := self._next) in _QUANTIFIERS:
            self._position += 1
            least, most = _QUANTIFIERS[quantifier]
        elif quantifier == "{":
            least, most = self._parse_counts()
        else:
            return part
        self._skip("?")
        if self._next and self._next in "*+?{":
            raise self._refuse("put the repeated part in a group before you repeat it again")
        return Repetition(part, least, most)

    def _parse_counts(self) -> tuple[int, int | None]:
        text, brace, _ = self._pattern[self._position + 1 :].partition("}")
        least, comma, most = text.partition(",")
        if not (brace and _is_count(least) and (not most or _is_count(most))):
            raise self._refuse("write a count as {2}, {2,} or {2,5}, and a brace as \\{")
        if max(len(least), len(most)) > _MAX_COUNT_DIGITS:
            raise self._refuse("the count is too large; limit the length with `maxLength`")
        self._position += len(text) + 2
        lower, upper = int(least), int(most) if most else (None if comma else int(least))
        if upper is not None and lower > upper:
            raise self._refuse("the smaller count comes first")
        return lower, upper

    def _parse_atom(self) -> Expression:
        character = self._take()
        if character == "(":
            return self._parse_group()
        if character == "[":
            return Characters(self._parse_set())
        if character == ".":
            return Characters(_ANY)
        if character == "\\":
            return Characters(self._parse_escape())
        if character in _SYNTAX - {"/"}:
            advice = "use ^ only at the start and $ only at the end of the pattern" if character == "^" else ""
            raise self._refuse(advice or f"write the character {character} as \\{character}")
        return Characters(_ranges(character))

    def _parse_group(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_GROUP_DEPTH:
            raise UnsupportedPattern(f"must have {MAX_GROUP_DEPTH} or fewer levels of groups")
        if self._skip("?") and not self._skip(":"):
            raise self._refuse("use groups of the form (…) and (?:…); there are no lookarounds, names or flags")
        options = [self._parse_sequence()]
        while self._skip("|"):
            options.append(self._parse_sequence())
        if not self._skip(")"):
            raise self._refuse("close the group, and use $ only at the end of the pattern")
        self._depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _parse_set(self) -> Ranges:
        is_negated = self._skip("^")
        members: list[Ranges] = []
        while not self._skip("]"):
            low = self._parse_member()
            if self._next == "-" and self._pattern[self._position + 1 : self._position + 2] not in ("", "]"):
                self._position += 1
                low = self._make_range(low, self._parse_member())
            members.append(low)
        if not members:
            raise self._refuse("put a character in the brackets")
        return complement(union(*members)) if is_negated else union(*members)

    def _make_range(self, low: Ranges, high: Ranges) -> Ranges:
        first, last = low[0][0], high[-1][1]
        if low != ((first, first),) or high != ((last, last),) or first > last:
            raise self._refuse("write a range as [a-z], and a hyphen as \\-")
        return ((first, last),)

    def _parse_member(self) -> Ranges:
        character = self._take()
        if not character:
            raise self._refuse("close the bracket")
        if character == "\\":
            return self._parse_escape()
        if character in "[&~" and character in ("[", self._next):
            raise self._refuse(f"write the character {character} in brackets as \\{character}")
        return _ranges(character)

    def _parse_escape(self) -> Ranges:
        character = self._take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _CONTROLS:
            return _ranges(_CONTROLS[character])
        if character and (character in _SYNTAX or character in "-&~"):
            return _ranges(character)
        length = {"x": 2, "u": 4}.get(character, 0)
        digits = self._pattern[self._position : self._position + length]
        if length and len(digits) == length and {*digits} <= _HEXADECIMAL:
            self._position += length
            code_point = int(digits, 16)
            if _FIRST_SURROGATE <= code_point <= _LAST_SURROGATE:
                raise self._refuse("a surrogate is not a character; write the character itself")
            return ((code_point, code_point),)
        raise self._refuse("the escapes are \\d \\D \\w \\W \\s \\S \\t \\n \\r \\f \\v \\xFF, \\uFFFF and syntax")

    @property
    def _next(self) -> str:
        return self._pattern[self._position : self._position + 1]

    def _take(self) -> str:
        character = self._next
        self._position += 1
        return character

    def _skip(self, character: str) -> bool:
        is_next = self._next == character
        self._position += is_next
        return is_next

    def _refuse(self, advice: str = "close or escape the parenthesis") -> UnsupportedPattern:
        return UnsupportedPattern(f"is not supported at character {self._position + 1}: {advice}")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()
