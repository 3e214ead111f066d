"""Normalization of URL paths."""

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from chalicelib.kernel.core.case_folding import lower_without_new_ascii

_QUERY_OR_FRAGMENT: Final = re.compile(r"[?#]")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


def to_comparable_path(path: str) -> str | None:
    """Return a clean path in lower case, the form in which paths are compared; None if the path is invalid."""
    clean = to_decoded_clean_path(path)
    return clean and lower_without_new_ascii(clean)


def decode_path_without_query(path: str) -> str:
    """Return a path without its query and fragment, percent-decoded."""
    return unquote(_QUERY_OR_FRAGMENT.split(path.strip(), maxsplit=1)[0])


def to_decoded_clean_path(path: str) -> str | None:
    """Return a path decoded, with single slashes and without a trailing one; None if the path is invalid.

    The case stays. The query and fragment are removed. The segments `.` and `..` are resolved as in browsers.
    """
    decoded = unicodedata.normalize("NFC", decode_path_without_query(path))
    if _UNSAFE.search(decoded):
        return None
    segments: list[str] = []
    for segment in decoded.split("/"):
        if segment == "..":
            segments = segments[:-1]
        elif segment != ".":
            segments.append(segment)
    return "/" + "/".join(filter(None, segments))


def ancestor_paths(path: str, max_segments: int) -> list[str]:
    """Return the ancestors of a path with at most `max_segments` segments, the longest first and `/` last."""
    parts = path.split("/", max_segments + 1)[1:]
    return ["/" + "/".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)] if path != "/" else []
