"""What a redirect may lead from, and to: paths and web addresses, and nothing that leads elsewhere than it says."""

import re
from typing import Final
from urllib.parse import quote, urlsplit

from pydantic_core import Url

from chalicelib.kernel.paths import normalized

SPLAT: Final = ":splat"
MOST_BYTES: Final = 1000

_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\<>\"`{}|^\u0080-\u00a0\u2028\u2029\ufeff]")
_SAFE: Final = "/:@!$&'()*+,;=-._~%?#[]"
_TARGET_ADVICE: Final = "must be a path that begins with one /, or a web address such as https://example.com/looms"
_SOURCE_ADVICE: Final = "must be a path that begins with one /, such as /old-looms, or /old/* for all below it"


def source(text: str) -> str:
    """Return the path that a redirect leads from, as paths are looked up. Raises ValueError."""
    if not text.startswith("/") or text.startswith("//") or re.search(r"[?#\\]", text):
        raise ValueError(_SOURCE_ADVICE)
    bare, star, behind = text.partition("*")
    path = normalized(bare)
    if path is None or behind or (star and not bare.endswith("/")) or "*" in path:
        raise ValueError(_SOURCE_ADVICE)
    whole = f"{path.rstrip('/')}/*" if star else path
    if len(whole.encode()) > MOST_BYTES:
        raise ValueError(f"must have {MOST_BYTES} bytes or fewer in UTF-8")
    return whole


def target(text: str) -> str:
    """Return where a redirect leads to: a path of the site, or a web address. Raises ValueError.

    Not `//host`, nothing with backslashes or control characters, no other scheme: browsers take these for more than a
    path (OWASP, Unvalidated Redirects and Forwards).
    """
    if _UNSAFE.search(text):
        raise ValueError(_TARGET_ADVICE)
    if text.startswith("/"):
        if text.startswith("//"):
            raise ValueError(_TARGET_ADVICE)
        return text
    try:
        url = Url(text)
    except ValueError:
        raise ValueError(_TARGET_ADVICE) from None
    parts = urlsplit(text)
    if url.scheme not in ("http", "https") or url.username or url.password or SPLAT in parts.netloc or not parts.netloc:
        raise ValueError(_TARGET_ADVICE)
    return text


def is_of_the_site(to_path: str) -> bool:
    """Return whether a redirect leads to a path of its own site."""
    return to_path.startswith("/")


def with_splat(to_path: str, splat: str) -> str:
    """Return a target with what a `*` stood for in place of `:splat`, so that it leads nowhere else than it says."""
    filled = to_path.replace(SPLAT, quote(splat, safe="/-._~"))
    return re.sub(r"^/{2,}", "/", filled) if is_of_the_site(to_path) else filled


def as_location(to_path: str) -> str:
    """Return a target as a `Location` may hold it: ASCII only (RFC 3986)."""
    return quote(to_path, safe=_SAFE)
