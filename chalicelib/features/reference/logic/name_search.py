"""Name search by prefix, and UTC offsets of time zones. Without I/O."""

import re
import time
from bisect import bisect_left, bisect_right
from calendar import timegm
from collections.abc import Sequence
from typing import Final

from chalicelib.features.reference.models.schemas import LAST_YEAR
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.storage.search_keys import last_key_with_prefix

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
    return " ".join(
        _WORD_SEPARATORS.sub(
            " ", fold_case_accents_and_spaces(fold_case_accents_and_spaces(name).translate(_ASCII_SPELLINGS))
        ).split()
    )


def index_range_of_prefix(sorted_keys: Sequence[str], prefix: str) -> range:
    """Return the range of indexes in sorted keys of those that start with a prefix."""
    return range(bisect_left(sorted_keys, prefix), bisect_right(sorted_keys, last_key_with_prefix(prefix)))


def format_utc_offset(minutes: int) -> str:
    """Return an offset from UTC in the format of RFC 3339, such as `+05:30`."""
    hours, remaining_minutes = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{remaining_minutes:02}"


def utc_offset_minutes_at(offset_changes: Sequence[tuple[int, int]], unix_seconds: int) -> int:
    """Return the UTC offset in minutes at a time.

    `offset_changes` holds the offset changes of a zone as tuples of seconds since the epoch and minutes.
    """
    return offset_changes[max(0, bisect_right(offset_changes, (unix_seconds, 10_000)) - 1)][1]


def capped_next_12_months_bounds(unix_seconds: int) -> tuple[int, int]:
    """Return the start and end of the 12 months from a time on. They start in the last year with data at the latest."""
    start = min(unix_seconds, timegm((LAST_YEAR, 1, 1, 0, 0, 0)))
    year, *rest = time.gmtime(start)[:6]
    return start, timegm((year + 1, *rest))


def utc_offset_minutes_within(
    offset_changes: Sequence[tuple[int, int]], start_unix_seconds: int, end_unix_seconds: int
) -> set[int]:
    """Return all UTC offsets in minutes of a zone from `start_unix_seconds` to before `end_unix_seconds`."""
    return {
        utc_offset_minutes_at(offset_changes, start_unix_seconds),
        *(offset for changed_at, offset in offset_changes if start_unix_seconds <= changed_at < end_unix_seconds),
    }
