"""Slugs, hosts and paths in URLs follow the documented rules, in every form in which they are sent."""

import re
from types import SimpleNamespace
from typing import Any, Final, cast

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from chalicelib.features.platforms.logic.navigation_targets import possible_space_slug_in_path
from chalicelib.features.sites.pages.models.slugs import RESERVED_PAGE_SLUGS, PageSlug
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import RESERVED_SLUGS, SLUG_PATTERN, Slug, derive_slug, fold_case_accents_and_spaces
from chalicelib.kernel.outbound.domain_names import host_name_from_header

WELL_FORMED: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
SLUG: Final = TypeAdapter[str](Slug)
PAGE_SLUG: Final = TypeAdapter[str](PageSlug)

slugs = st.from_regex(WELL_FORMED, fullmatch=True)
names = st.text(min_size=1, max_size=200) | st.text("aeß Å-_&", min_size=1, max_size=200)


def is_valid(slug: str) -> bool:
    """Return whether a slug meets the documented rules: the pattern, no double hyphen, no reserved word."""
    return bool(WELL_FORMED.fullmatch(slug)) and "--" not in slug and slug not in RESERVED_SLUGS


def is_accepted(slug: str, adapter: TypeAdapter[str] = SLUG) -> bool:
    try:
        adapter.validate_python(slug)
    except ValidationError:
        return False
    return True


@given(slugs | st.text(max_size=70) | st.sampled_from(sorted(RESERVED_SLUGS)))
@example("a\n")
@example("a" * 63)
@example("a" * 64)
@example("a--b")
@example("-a")
def test_exactly_the_valid_slugs_are_accepted(text):
    assert is_accepted(text) is is_valid(text)


def test_reserved_words_are_rejected():
    for word in ("api", "www", "admin", "app", "docs", "status", "by-slug", "invitations", "resolve"):
        assert not is_accepted(word)


@given(slugs | st.sampled_from(sorted(RESERVED_SLUGS)))
def test_pages_may_have_slugs_that_are_reserved_for_hosts(text):
    is_well_formed = is_accepted(text) or text in RESERVED_SLUGS
    assert is_accepted(text, PAGE_SLUG) is (is_well_formed and text not in RESERVED_PAGE_SLUGS)


@given(names)
@example("Größe & Co")
@example("x" * 62 + " y")
@example("Admin")
@example("\N{LATIN SMALL LIGATURE FFI}" * 63)
def test_a_derived_slug_is_valid_reserved_or_empty(name):
    slug = derive_slug(name)
    assert slug in {"", *RESERVED_SLUGS} or is_valid(slug)
    assert derive_slug(slug) == slug or not is_valid(slug)


@given(names, st.booleans())
def test_the_slug_of_a_new_record_is_valid_at_every_attempt(name, is_retry):
    operation = SimpleNamespace(group="organizations")
    context: Any = SimpleNamespace(attempt=int(is_retry), operation=operation, has_derived_slug=False)
    slug = Context.given_or_derived_slug(cast("Context", context), None, name)
    assert is_valid(slug)
    assert context.has_derived_slug


@given(names)
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}")
@example("\N{GREEK CAPITAL LETTER UPSILON WITH DIALYTIKA}\N{COMBINING ACUTE ACCENT}")
def test_folding_is_idempotent_and_ignores_case(name):
    fold = fold_case_accents_and_spaces
    assert fold(fold(name)) == fold(name)
    assert fold(name.upper().lower()) == fold(name.lower().upper().lower())


def test_case_accents_and_blanks_are_ignored():
    spellings = [("Größe", "GROSSE"), ("Métiers  à\ttisser ", "metiers a tisser"), ("\uff21lpha", "alpha")]
    for first, second in (*spellings, ("Σίσυφος", "σισυφοσ")):
        assert fold_case_accents_and_spaces(first) == fold_case_accents_and_spaces(second)


labels = st.from_regex(r"\A[a-z0-9](?:[a-z0-9-]{0,10}[a-z0-9])?\Z")
host_names = st.lists(labels, min_size=1, max_size=4).map(".".join)
space_slugs = st.from_regex(rf"\A{SLUG_PATTERN[1:-1]}\Z").filter(lambda slug: slug != "spaces")
suffixes = st.text(st.characters(exclude_characters="?#"), max_size=10)


@given(host_names, st.sampled_from(["", ":443", ":8080", ":"]), st.sampled_from(["", "."]))
def test_a_host_is_normalized_without_case_port_and_final_dot(name, port, dot):
    assert host_name_from_header(f"{name}{dot}{port}") == host_name_from_header(f"{name.upper()}{dot}{port}") == name


@given(st.text())
def test_normalizing_any_text_as_a_host_is_idempotent(text):
    name = host_name_from_header(text)
    assert name is None or host_name_from_header(name) in (name, None)


@given(space_slugs, suffixes, st.sampled_from(["", "?x=1", "#top", "?a#b"]))
def test_a_path_contains_the_slug_of_its_first_segment(slug, rest, tail):
    for path in (f"/{slug}", f"/spaces/{slug}", f"{slug}", f"/{slug.upper()}", f"//spaces//{slug}"):
        assert possible_space_slug_in_path(f"{path}/{rest}{tail}") == slug
        assert possible_space_slug_in_path(f"{path}{tail}") == slug


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_another_value_contains_no_slug_or_a_valid_one(path):
    slug = possible_space_slug_in_path(path)
    assert slug is None or re.fullmatch(SLUG_PATTERN, slug)
