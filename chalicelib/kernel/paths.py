"""Paths of sites, as they are written and looked up."""

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

_BEHIND: Final = re.compile(r"[?#]")
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")


def normalized(path: str) -> str | None:
    """Return a path as it is looked up: decoded, in lower case, each slash once, none at its end; None of what is none.

    What follows a `?` or `#` is left out.
    """
    plain = unicodedata.normalize("NFC", unquote(_BEHIND.split(path.strip(), maxsplit=1)[0])).lower()
    if _UNSAFE.search(plain):
        return None
    return "/" + "/".join(filter(None, plain.split("/")))


def prefixes(path: str) -> list[str]:
    """Return the paths that one lies below, the nearest first, `/` last."""
    parts = path.split("/")[1:]
    return ["/" + "/".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)] if path != "/" else []
