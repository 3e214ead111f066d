"""What a redirect may lead from, and to: paths and web addresses, and nothing that leads elsewhere than it says."""

import re
import unicodedata
from typing import Final
from urllib.parse import quote, urlsplit

from pydantic_core import Url

from chalicelib.features.sites.models.url_paths import decoded, normalized

SPLAT: Final = ":splat"
MOST_BYTES: Final = 1000
MOST_LEVELS: Final = 10
"""Segments before a `*`: all that a path may match is read at once."""

_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\<>\"`{}|^\u0080-\u00a0\u2028\u2029\ufeff\ud800-\udfff]")
_SAFE: Final = "/:@!$&'()*+,;=-._~%?#[]"
_ANY_HOST: Final = "site.example"
_TARGET_ADVICE: Final = "must be a path that begins with one /, or a web address such as https://example.com/looms"
_SOURCE_ADVICE: Final = "must be a path that begins with one /, such as /old-looms, or /old/* for all below it"


def source(text: str) -> str:
    """Return the path that a redirect leads from, as paths are looked up. Raises ValueError."""
    if not text.startswith("/") or text.startswith("//") or re.search(r"[?#\\]", text):
        raise ValueError(_SOURCE_ADVICE)
    bare, star, behind = text.partition("*")
    path = normalized(bare)
    # What another look would make another path of, such as an escaped `?`, could not be sent back as it is shown.
    if path is None or path != normalized(path) or behind or (star and not bare.endswith("/")) or "*" in path:
        raise ValueError(_SOURCE_ADVICE)
    whole = f"{path.rstrip('/')}/*" if star else path
    if len(whole.encode()) > MOST_BYTES:
        raise ValueError(f"must have {MOST_BYTES} bytes or fewer in UTF-8")
    if star and whole.count("/") > MOST_LEVELS + 1:
        raise ValueError(f"must have {MOST_LEVELS} segments or fewer before the *")
    return whole


def target(text: str) -> str:
    """Return where a redirect leads to: a path of the site, or a web address. Raises ValueError.

    Not `//host`, nothing with backslashes or control characters, no other scheme: browsers take these for more than a
    path (OWASP, Unvalidated Redirects and Forwards).
    """
    try:
        leads = not _UNSAFE.search(text) and (_stays(text) if is_of_the_site(text) else _is_web_address(text))
    except ValueError:
        leads = False
    if not leads:
        raise ValueError(_TARGET_ADVICE)
    return text


def _stays(path: str) -> bool:
    """Return whether browsers take it for a path of the host they are at, and so does who decodes it before them."""
    url = Url(f"https://{_ANY_HOST}{path}")
    # As it is sent, too: of `//host/../..` a server's library leaves `/`, and browsers go to the host.
    readings = [unicodedata.normalize("NFKC", decoded(each)) for each in (path, url.path or "/")]
    at_home = url.host == _ANY_HOST and not any(each.startswith("//") or "\\" in each for each in readings)
    return at_home and normalized(path) is not None


def _is_web_address(text: str) -> bool:
    """Return whether it names a host that whoever reads it sees, and no secret for that."""
    url, host = Url(text), urlsplit(text).netloc
    return url.scheme in ("http", "https") and bool(host) and not ("@" in host or SPLAT in host)


def is_of_the_site(to_path: str) -> bool:
    """Return whether a redirect leads to a path of its own site."""
    return to_path.startswith("/")


def with_splat(to_path: str, splat: str) -> str:
    """Return a target with what a `*` stood for in place of `:splat`.

    By what visitors ask for it leads nowhere else than it says: to the host it names or, on the site, to its home.
    """
    filled = to_path.replace(SPLAT, quote(splat, safe="/-._~"))
    return filled if not is_of_the_site(to_path) or _stays(filled) else "/"


def as_location(to_path: str) -> str:
    """Return a target as a `Location` may hold it: ASCII only (RFC 3986), a host of other letters by its IDNA name."""
    named = is_of_the_site(to_path) or urlsplit(to_path).netloc.isascii()
    return quote(to_path if named else str(Url(to_path)), safe=_SAFE)
