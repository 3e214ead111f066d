"""A redirect leads to the host of its target, whatever path a visitor requests."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import Url

from chalicelib.features.sites.models.redirect_targets import (
    MAX_SOURCE_BYTES,
    SPLAT,
    checked_target,
    expand_splat,
    normalize_source_path,
    to_location,
)
from chalicelib.features.sites.models.url_paths import to_comparable_path

SITE: Final = "engines.example"
UNUSUAL_PARTS: Final = (
    *("/", "//", "\\", "%2f", "%5C", "%252f", "\t", "\n", " ", "\x00", ":", "@", "?", "#", ".", "..", "%2e", "%", "["),
    *("evil.example", "javascript:", "https:", "https://", "http:/", "\uff0f", "\uff3c", "\u2044", "\u2028", "\u200b"),
    *("é", "İ", "a", "B", "]", "*", ";", "&", '"', "<", SPLAT),
)
ORDINARY_PARTS: Final = ("/", "//", ".", "..", "%2e", "a", "b", "é", "%2f", "?", "#", ":", "@", SPLAT, "\uff0f")


def accepted_or_none(check: Callable[[str], str], text: str) -> str | None:
    """Return the result of a check, or None if it rejects the text."""
    try:
        return check(text)
    except ValueError:
        return None


def texts_of(parts: Sequence[str], prefix: str) -> st.SearchStrategy[str]:
    """Return texts with this beginning that consist of some parts."""
    return st.lists(st.sampled_from(parts), max_size=8).map(lambda chosen: prefix + "".join(chosen))


texts = st.lists(st.sampled_from(UNUSUAL_PARTS) | st.text(max_size=3), max_size=8).map("".join)
anything = texts | texts.map("/".__add__) | texts.map("https://shop.example".__add__)
ordinary_targets = texts_of(ORDINARY_PARTS, "/") | texts_of(ORDINARY_PARTS, "https://shop.example/")
ordinary_sources = texts_of(ORDINARY_PARTS, "/a") | texts_of(ORDINARY_PARTS, "/a").map("{}/*".format)
targets = (ordinary_targets | anything).map(lambda text: accepted_or_none(checked_target, text) or "").filter(bool)
sources = (
    (ordinary_sources | anything).map(lambda text: accepted_or_none(normalize_source_path, text) or "").filter(bool)
)
requested_paths = (texts | texts_of(ORDINARY_PARTS, "")).map("/".__add__)
splats = requested_paths.map(lambda path: (to_comparable_path(path) or "")[1:]).filter(bool)
"""What a `*` matched in a requested path."""


def browser_url(location: str) -> Url:
    """Return the URL to which a browser on the site follows a `Location` (WHATWG URL Standard, section 4.4)."""
    stripped = re.sub(r"[\t\n\r]", "", location).strip("".join(map(chr, range(0x21))))
    if re.match(r"[/\\]{2}", stripped):
        return Url(f"https:{stripped}")
    return Url(f"https://{SITE}{stripped}" if stripped.startswith("/") else stripped)


@given(targets, splats)
@example("/:splat", "/evil.example")
@example("/:splat", "%2fevil.example")
@example("/:splat", "\uff0fevil.example")
@example("/a/..:splat", "/evil.example")
@example("https://shop.example/:splat", "@evil.example")
def test_a_target_leads_to_its_own_host_for_any_splat(target, splat):
    expanded = expand_splat(target, splat)
    assert checked_target(expanded) == expanded
    location = to_location(expanded)
    assert location.isascii()
    assert not re.search(r"[\x00-\x20\\]", location)
    url = browser_url(location)
    assert url.scheme in ("http", "https")
    assert (url.username, url.password) == (None, None)
    assert url.host == (SITE if target.startswith("/") else Url(target).host)


@given(targets.filter(lambda target: target.startswith("/")), splats)
@example("/:splat", "/evil.example/../..")
def test_a_target_on_the_site_stays_there_when_it_is_decoded(target, splat):
    decoded = unicodedata.normalize("NFKC", unquote(to_location(expand_splat(target, splat))))
    assert browser_url(decoded).host == SITE


@given(texts_of(("/", "//", "..", "/..", "%2f", "\uff0f", ".", "evil.example", "a"), "/"))
@example("//evil.example/../..")
@example("/%2fevil.example/../..")
def test_a_path_through_another_host_is_no_target(text):
    assert accepted_or_none(checked_target, text) is None or all(
        browser_url(unicodedata.normalize("NFKC", variant)).host == SITE for variant in (text, unquote(text))
    )


def test_a_query_is_not_normalized():
    assert checked_target("/search?for=%5Cloom//a#//b") == "/search?for=%5Cloom//a#//b"


@given(sources)
def test_a_normalized_source_is_a_lookup_path(source):
    path = source.removesuffix("*")
    assert to_comparable_path(path) == (path.rstrip("/") or "/")
    assert normalize_source_path(source) == source
    assert len(source.encode()) <= MAX_SOURCE_BYTES


@given(texts_of(("/", "//", ".", "..", "%2e", "a", "B", "é", "?", "#"), "/a"))
def test_paths_are_normalized_as_by_browsers(text):
    assert to_comparable_path(Url(f"https://{SITE}{text}").path or "/") == to_comparable_path(text)
