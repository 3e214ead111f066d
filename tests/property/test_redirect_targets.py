"""What a redirect may lead from and to: whatever visitors ask for, it leads to the host that it says, or stays."""

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
    expand_splat,
    normalize_source,
    to_location,
    validate_target,
)
from chalicelib.features.sites.models.url_paths import normalize_path

SITE: Final = "engines.example"
TRICKS: Final = (
    "/",
    "//",
    "\\",
    "%2f",
    "%5C",
    "%252f",
    "\t",
    "\n",
    " ",
    "\x00",
    ":",
    "@",
    "?",
    "#",
    ".",
    "..",
    "%2e",
    "evil.example",
    "javascript:",
    "https:",
    "https://",
    "http:/",
    "\uff0f",
    "\uff3c",
    "\u2044",
    "\u2028",
    "\u200b",
    "é",
    "İ",
    "a",
    "B",
    "%",
    "[",
    "]",
    "*",
    ";",
    "&",
    '"',
    "<",
    SPLAT,
)
TAME: Final = ("/", "//", ".", "..", "%2e", "a", "b", "é", "%2f", "?", "#", ":", "@", SPLAT, "\uff0f")


def accepted(check: Callable[[str], str], text: str) -> str | None:
    """What a check makes of text, or None if it refuses it."""
    try:
        return check(text)
    except ValueError:
        return None


def pieces(of: Sequence[str], begins: str) -> st.SearchStrategy[str]:
    """Text that is put together of some pieces, and begins so."""
    return st.lists(st.sampled_from(of), max_size=8).map(lambda each: begins + "".join(each))


texts = st.lists(st.sampled_from(TRICKS) | st.text(max_size=3), max_size=8).map("".join)
anything = texts | texts.map("/".__add__) | texts.map("https://shop.example".__add__)
targets = (
    (pieces(TAME, "/") | pieces(TAME, "/a") | pieces(TAME, "https://shop.example/") | anything)
    .map(lambda text: accepted(validate_target, text))
    .filter(bool)
    .map(str)
)
sources = (
    (pieces(TAME, "/a") | pieces(TAME, "/a").map("{}/*".format) | anything)
    .map(lambda text: accepted(normalize_source, text))
    .filter(bool)
    .map(str)
)
asked = (texts | pieces(TAME, "")).map("/".__add__)
splats = asked.map(normalize_path).filter(lambda path: path and path != "/").map(lambda path: str(path)[1:])
"""What a `*` stood for in a path that somebody asked for."""


def led_by(location: str) -> Url:
    """Where a browser that is at the site goes by a `Location` (WHATWG, URL Standard, section 4.4)."""
    plain = re.sub(r"[\t\n\r]", "", location).strip("".join(map(chr, range(0x21))))
    if re.match(r"[/\\]{2}", plain):
        return Url(f"https:{plain}")
    return Url(f"https://{SITE}{plain}" if plain.startswith("/") else plain)


@given(targets, splats)
@example("/:splat", "/evil.example")
@example("/:splat", "%2fevil.example")
@example("/:splat", "\uff0fevil.example")
@example("/a/..:splat", "/evil.example")
@example("https://shop.example/:splat", "@evil.example")
def test_a_target_leads_to_its_own_host_whatever_a_splat_stands_for(led: str, splat: str) -> None:
    location = to_location(expand_splat(led, splat))
    assert location.isascii()
    assert not re.search(r"[\x00-\x20\\]", location)
    url = led_by(location)
    assert url.scheme in ("http", "https")
    assert (url.username, url.password) == (None, None)
    assert url.host == (SITE if led.startswith("/") else Url(led).host)


@given(targets.filter(lambda led: led.startswith("/")), splats)
@example("/:splat", "/evil.example/../..")
def test_a_target_on_the_site_is_so_for_who_decodes_it_too(led: str, splat: str) -> None:
    decoded = unicodedata.normalize("NFKC", unquote(to_location(expand_splat(led, splat))))
    assert led_by(decoded).host == SITE


@given(pieces(("/", "//", "..", "/..", "%2f", "\uff0f", ".", "evil.example", "a"), "/"))
@example("//evil.example/../..")
@example("/%2fevil.example/../..")
def test_a_path_that_leads_through_another_host_is_no_target(text: str) -> None:
    assert accepted(validate_target, text) is None or all(
        led_by(unicodedata.normalize("NFKC", each)).host == SITE for each in (text, unquote(text))
    )


def test_what_stands_in_a_query_leads_nowhere() -> None:
    assert validate_target("/search?for=%5Cloom//a#//b") == "/search?for=%5Cloom//a#//b"


@given(targets, splats)
def test_what_a_splat_makes_of_a_target_is_a_target(led: str, splat: str) -> None:
    filled = expand_splat(led, splat)
    assert validate_target(filled) == filled


@given(sources)
def test_a_source_is_a_path_as_it_is_looked_up_and_once_is_enough(led: str) -> None:
    path = led.removesuffix("*")
    assert normalize_path(path) == (path.rstrip("/") or "/")
    assert normalize_source(led) == led
    assert len(led.encode()) <= MAX_SOURCE_BYTES


@given(pieces(("/", "//", ".", "..", "%2e", "a", "B", "é", "?", "#"), "/a"))
def test_a_path_is_looked_up_where_browsers_ask_for_it(text: str) -> None:
    assert normalize_path(Url(f"https://{SITE}{text}").path or "/") == normalize_path(text)
