"""Validation of the paths and targets of redirects, which must not lead elsewhere than they appear to."""

import re
import unicodedata
from collections.abc import Container
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic_core import Url

from chalicelib.features.sites.models.url_paths import decode_path_without_query, to_comparable_path
from chalicelib.kernel.outbound.domain_names import host_name_from_header

SPLAT: Final = ":splat"
MAX_SOURCE_BYTES: Final = 1000
"""Length of the source of a redirect in UTF-8."""

MAX_WILDCARD_SEGMENTS: Final = 10
"""Maximum number of segments before a wildcard. All redirects that a path can match are read at once."""

_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\<>\"`{}|^\u0080-\u00a0\u2028\u2029\ufeff\ud800-\udfff]")
_SAFE: Final = "/:@!$&'()*+,;=-._~%?#[]"
_ANY_HOST: Final = "site.example"
_TARGET_ADVICE: Final = "must be a path that begins with one /, or a web address such as https://example.com/looms"
_SOURCE_ADVICE: Final = "must be a path that begins with one /, such as /old-looms, or /old/* for all below it"


def normalize_source_path(text: str) -> str:
    """Return the normalized source path of a redirect. Raises ValueError."""
    if not text.startswith("/") or text.startswith("//") or re.search(r"[?#\\]", text):
        raise ValueError(_SOURCE_ADVICE)
    prefix, wildcard, suffix = text.partition("*")
    path = to_comparable_path(prefix)
    # A path that changes when it is normalized again, such as an escaped `?`, could not be sent back unchanged.
    if (
        path is None
        or path != to_comparable_path(path)
        or suffix
        or (wildcard and not prefix.endswith("/"))
        or "*" in path
    ):
        raise ValueError(_SOURCE_ADVICE)
    source = f"{path.rstrip('/')}/*" if wildcard else path
    if len(source.encode()) > MAX_SOURCE_BYTES:
        raise ValueError(f"must have {MAX_SOURCE_BYTES} bytes or fewer in UTF-8")
    if wildcard and source.count("/") > MAX_WILDCARD_SEGMENTS + 1:
        raise ValueError(f"must have {MAX_WILDCARD_SEGMENTS} segments or fewer before the *")
    return source


def checked_target(text: str) -> str:
    """Return the target of a redirect, a path of the site or a web address. Raises ValueError.

    It rejects `//host`, backslashes, control characters and other schemes, since browsers treat these as more than a
    path (OWASP, Unvalidated Redirects and Forwards).
    """
    try:
        is_valid = not _UNSAFE.search(text) and (
            _is_path_on_same_host(text) if is_site_path(text) else _is_web_address(text)
        )
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(_TARGET_ADVICE)
    return text


def _is_path_on_same_host(path: str) -> bool:
    """Return whether browsers, and servers that decode paths first, treat a path as one of the same host."""
    url = Url(f"https://{_ANY_HOST}{path}")
    # The unmodified path is checked, too. A library may reduce `//host/../..` to `/`, while browsers go to the host.
    decoded_paths = [unicodedata.normalize("NFKC", decode_path_without_query(each)) for each in (path, url.path or "/")]
    is_same_host = url.host == _ANY_HOST and not any(each.startswith("//") or "\\" in each for each in decoded_paths)
    return is_same_host and to_comparable_path(path) is not None


def _is_web_address(text: str) -> bool:
    """Return whether a text is a web address without credentials and without a wildcard in its host."""
    url, host = Url(text), urlsplit(text).netloc
    return url.scheme in ("http", "https") and bool(host) and not ("@" in host or SPLAT in host)


def is_site_path(to_path: str) -> bool:
    """Return whether a target is a path of the same site."""
    return to_path.startswith("/")


def without_own_host(to_path: str, own_hosts: Container[str]) -> str:
    """Return a target as a path if it is a URL of one of the site's hosts, else unchanged. Raises ValueError."""
    parts = urlsplit(to_path)
    if is_site_path(to_path) or host_name_from_header(parts.netloc) not in own_hosts:
        return to_path
    return checked_target(urlunsplit(("", "", f"/{parts.path.lstrip('/')}", parts.query, parts.fragment)))


def expand_splat(to_path: str, splat: str) -> str:
    """Return a target with `:splat` replaced by the part of the path that matched the wildcard.

    The host of the target never depends on the visitor's path. A path that would leave the site becomes `/`.
    """
    expanded = to_path.replace(SPLAT, quote(splat, safe="/-._~"))
    return expanded if not is_site_path(to_path) or _is_path_on_same_host(expanded) else "/"


def to_location(to_path: str) -> str:
    """Return a target as a `Location` value: ASCII only (RFC 3986), with the IDNA form of the host."""
    has_ascii_host = is_site_path(to_path) or urlsplit(to_path).netloc.isascii()
    return quote(to_path if has_ascii_host else str(Url(to_path)), safe=_SAFE)
