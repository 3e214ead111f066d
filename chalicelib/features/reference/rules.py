"""How names are compared, and what a clock says in a time zone."""

import re
import time
from bisect import bisect_left, bisect_right
from calendar import timegm
from collections.abc import Sequence
from typing import Final

from chalicelib.features.reference.models import LAST_YEAR
from chalicelib.kernel.http.fields import fold_text

_PLAIN: Final = str.maketrans(
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
"""Letters without a decomposition as people without them on their keyboard type them, and apostrophes."""
_BETWEEN: Final = re.compile(r"[\W_]+")


def search_key(name: str) -> str:
    """Return a name as it is searched by: case, accents, apostrophes and what else stands between words don't count."""
    return " ".join(_BETWEEN.sub(" ", fold_text(fold_text(name).translate(_PLAIN))).split())


def with_prefix(keys: Sequence[str], prefix: str) -> range:
    """Return where in sorted keys those stand that begin so."""
    return range(bisect_left(keys, prefix), bisect_right(keys, prefix + "\U0010ffff"))


def written(minutes: int) -> str:
    """Return an offset from UTC as RFC 3339 writes it, such as `+05:30`."""
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def offset_at(changes: Sequence[tuple[int, int]], seconds: int) -> int:
    """Return the offset in minutes at a moment, by the changes of a zone: when, in seconds since 1970, and to what."""
    return changes[max(0, bisect_right(changes, (seconds, 10_000)) - 1)][1]


def year_from(seconds: int) -> tuple[int, int]:
    """Return when the 12 months begin and end that begin at a moment; the last that are known, if they'd go beyond."""
    begin = min(seconds, timegm((LAST_YEAR, 1, 1, 0, 0, 0)))
    year, *rest = time.gmtime(begin)[:6]
    return begin, timegm((year + 1, *rest))


def offsets_within(changes: Sequence[tuple[int, int]], begin: int, end: int) -> set[int]:
    """Return all offsets in minutes that a zone has from one moment up to another."""
    return {offset_at(changes, begin), *(offset for at, offset in changes if begin <= at < end)}
