"""Name search by prefix, and UTC offsets of time zones. Without I/O."""

import re
import time
from bisect import bisect_left, bisect_right
from calendar import timegm
from collections.abc import Sequence
from typing import Final

from chalicelib.features.reference.models.schemas import LAST_YEAR
from chalicelib.kernel.http.fields import fold_text

_ASCII_SPELLINGS: Final = str.maketrans(
    {
        "\N{LATIN SMALL LETTER DOTLESS I}": "i",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "ø": "o",
        "æ": "ae",
        "œ": "oe",
        "ə": "e",
        "ħ": "h",
        "þ": "th",
        "ŋ": "n",
        **dict.fromkeys("'`\u00b4\u2018\u2019\u02bb\u02bc\u02be\u02bf", ""),
    }
)
"""Letters without a Unicode decomposition → their usual ASCII spelling; apostrophes are removed."""
_WORD_SEPARATORS: Final = re.compile(r"[\W_]+")


def search_key(name: str) -> str:
    """Return the search key of a name, which ignores case, accents, apostrophes and punctuation between words."""
    return " ".join(_WORD_SEPARATORS.sub(" ", fold_text(fold_text(name).translate(_ASCII_SPELLINGS))).split())


def prefix_range(keys: Sequence[str], prefix: str) -> range:
    """Return the range of indexes in sorted keys of those that start with a prefix."""
    return range(bisect_left(keys, prefix), bisect_right(keys, prefix + "\U0010ffff"))


def format_utc_offset(minutes: int) -> str:
    """Return an offset from UTC in the format of RFC 3339, such as `+05:30`."""
    hours, remaining_minutes = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{remaining_minutes:02}"


def offset_at(changes: Sequence[tuple[int, int]], seconds: int) -> int:
    """Return the UTC offset in minutes at a time.

    `changes` holds the offset changes of a zone as tuples of seconds since the epoch and minutes.
    """
    return changes[max(0, bisect_right(changes, (seconds, 10_000)) - 1)][1]


def following_year(seconds: int) -> tuple[int, int]:
    """Return the start and end of the 12 months from a time on. They start in the last year with data at the latest."""
    start = min(seconds, timegm((LAST_YEAR, 1, 1, 0, 0, 0)))
    year, *rest = time.gmtime(start)[:6]
    return start, timegm((year + 1, *rest))


def offsets_within(changes: Sequence[tuple[int, int]], start: int, end: int) -> set[int]:
    """Return all UTC offsets in minutes of a zone from `start` to before `end`."""
    return {offset_at(changes, start), *(offset for changed_at, offset in changes if start <= changed_at < end)}
