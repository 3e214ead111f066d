"""Paths of sites, as they are written and looked up."""

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from chalicelib.kernel.core.case_folding import lower

_BEHIND: Final = re.compile(r"[?#]")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


def normalized(path: str) -> str | None:
    """Return a path as it is looked up: `written`, in lower case; None of what is none."""
    clean = written(path)
    return clean and lower(clean)


def decoded(path: str) -> str:
    """Return a path without what follows a `?` or `#`, decoded."""
    return unquote(_BEHIND.split(path.strip(), maxsplit=1)[0])


def written(path: str) -> str | None:
    """Return a path in its own letters: decoded, with each slash once, and none at its end; None of what is none.

    What follows a `?` or `#` is left out. The segments `.` and `..` lead where browsers let them lead.
    """
    plain = unicodedata.normalize("NFC", decoded(path))
    if _UNSAFE.search(plain):
        return None
    kept: list[str] = []
    for segment in plain.split("/"):
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(filter(None, kept))


def prefixes(path: str, max_segments: int) -> list[str]:
    """Return the paths that one lies below and that have so many segments at most, the nearest first, `/` last."""
    parts = path.split("/", max_segments + 1)[1:]
    return ["/" + "/".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)] if path != "/" else []
