"""A redirect leads to the host of its target, and exactly the redirects without loops and long chains are accepted.

Changes of redirects are tested in `tests/http/sites/test_redirects.py` and `test_redirect_loops.py`.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

from hypothesis import HealthCheck, example, given, settings
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
from tests.harness import snapshots
from tests.harness.organizations import create_organization
from tests.harness.redirects import list_redirects, post_redirect, resolve_visit
from tests.harness.sites import create_site

SITE: Final = "engines.example"
UNUSUAL_PARTS: Final = (
    *("/", "//", "\\", "%2f", "%5C", "%252f", "\t", "\n", " ", "\x00", ":", "@", "?", "#", ".", "..", "%2e", "%", "["),
    *("evil.example", "javascript:", "https:", "https://", "http:/", "\uff0f", "\uff3c", "\u2044", "\u2028", "\u200b"),
    *("é", "İ", "a", "B", "]", "*", ";", "&", '"', "<", SPLAT),
)
ORDINARY_PARTS: Final = ("/", "//", ".", "..", "%2e", "a", "b", "é", "%2f", "?", "#", ":", "@", SPLAT, "\uff0f")


def accepted_or_none(check: Callable[[str], str], text: str) -> str | None:
    try:
        return check(text)
    except ValueError:
        return None


def texts_of(parts: Sequence[str], prefix: str) -> st.SearchStrategy[str]:
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


MAX_HOPS: Final = 5
few_examples = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=10
)

short_paths = st.sampled_from([f"/{name}" for name in "abcdefg"])
chain_targets = short_paths | st.just("https://example.com/")
creations = st.tuples(short_paths, chain_targets, st.sampled_from([True, True, False]))
wildcard_paths = st.sampled_from(["/a/*", "/b/*", "/*", "/a/b/*", "/a/b", "/b/a", "/a", "/b"])
wildcard_targets = st.sampled_from(["/a/:splat", "/b/:splat", "/:splat", "/a", "/b", "/a/b", "/b/a/:splat", "/c"])


def create_empty_site(api, owner):
    return snapshots.create_or_restore(("an empty site",), lambda: create_site(api, create_organization(api, owner)))


def all_chains_end(redirects: dict[str, tuple[str, bool]]) -> bool:
    """Return whether a visitor of any path reaches an end after at most five hops."""
    target_paths = {path: target for path, (target, enabled) in redirects.items() if enabled}
    for start in target_paths:
        path, hops = start, 0
        while path in target_paths:
            path, hops = target_paths[path], hops + 1
            if hops > MAX_HOPS:
                return False
    return True


@few_examples
@given(st.lists(creations, min_size=8, max_size=25))
def test_each_chain_ends_after_at_most_five_hops(api, ada, drawn):
    site, expected = create_empty_site(api, ada), dict[str, tuple[str, bool]]()
    for path, target, enabled in drawn:
        response = post_redirect(api, site, path, target, enabled=enabled)
        if path in expected:
            assert response.status == 409
        elif all_chains_end({**expected, path: (target, enabled)}):
            assert response.status == 201
            expected[path] = (target, enabled)
        else:
            assert response.status_and_code == "409 redirect_loop"
    assert {each["fromPath"]: (each["toPath"], each["enabled"]) for each in list_redirects(api, site)} == expected
    for path, (target, enabled) in expected.items():
        assert resolve_visit(api, site, path) == ((301, target) if enabled else None)


@few_examples
@given(st.lists(st.tuples(wildcard_paths, wildcard_targets), min_size=2, max_size=12))
def test_no_visitor_is_redirected_in_a_loop(api, ada, redirects):
    site = create_empty_site(api, ada)
    for path, target in redirects:
        assert post_redirect(api, site, path, target).status in (201, 409)
    for start in ("/a", "/b", "/a/b", "/b/a", "/a/x", "/b/x", "/a/b/x", "/x"):
        visited_paths = [start]
        while isinstance(result := resolve_visit(api, site, visited_paths[-1]), tuple):
            assert result[1] not in visited_paths, "the redirects form a loop"
            visited_paths.append(result[1])
