"""Slugs: what is derived from a name is a slug that the service itself accepts, or nothing."""

import re
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from chalicelib.features.sites.pages.models.slugs import RESERVED_PAGE_SLUGS, PageSlug
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import RESERVED_SLUGS, Slug, fold_text, slug_from

WELL_FORMED: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
ACCEPTED: Final = TypeAdapter[str](Slug)
ON_SITES: Final = TypeAdapter[str](PageSlug)

slugs = st.from_regex(WELL_FORMED, fullmatch=True)
names = st.text(min_size=1, max_size=200) | st.text("aeß Å-_&", min_size=1, max_size=200)


def acceptable(slug: str) -> bool:
    """The contract's own words: the pattern, no two hyphens in a row, no reserved word."""
    return bool(WELL_FORMED.fullmatch(slug)) and "--" not in slug and slug not in RESERVED_SLUGS


def accepts(slug: str, kind: TypeAdapter[str] = ACCEPTED) -> bool:
    try:
        kind.validate_python(slug)
    except ValidationError:
        return False
    return True


@given(slugs | st.text(max_size=70) | st.sampled_from(sorted(RESERVED_SLUGS)))
@example("a\n")
@example("a" * 63)
@example("a" * 64)
@example("a--b")
@example("-a")
def test_a_slug_is_accepted_by_the_contracts_words(text: str) -> None:
    assert accepts(text) is acceptable(text)


@pytest.mark.parametrize("word", ["api", "www", "admin", "app", "docs", "status", "by-slug", "invitations", "resolve"])
def test_the_contracts_reserved_words_are_no_slugs(word: str) -> None:
    assert not accepts(word)


@given(slugs | st.sampled_from(sorted(RESERVED_SLUGS)))
def test_a_page_may_be_called_what_no_host_may_be(text: str) -> None:
    assert accepts(text, ON_SITES) is ((accepts(text) or text in RESERVED_SLUGS) and text not in RESERVED_PAGE_SLUGS)


@given(names)
@example("Größe & Co")
@example("x" * 62 + " y")
@example("Admin")
@example("\N{LATIN SMALL LIGATURE FFI}" * 63)
def test_a_derived_slug_is_acceptable_or_reserved_or_empty(name: str) -> None:
    slug = slug_from(name)
    assert slug in {"", *RESERVED_SLUGS} or acceptable(slug)


@given(slugs)
def test_a_slug_is_derived_from_itself(slug: str) -> None:
    assert not acceptable(slug) or slug_from(slug) == slug


@given(names, st.booleans())
def test_the_slug_that_a_record_gets_is_acceptable_at_every_attempt(name: str, again: bool) -> None:  # noqa: FBT001
    operation = SimpleNamespace(group="organizations")
    context: Any = SimpleNamespace(attempt=int(again), operation=operation, derived=False)
    slug = Context.choose_slug(cast("Context", context), None, name)
    assert acceptable(slug)
    assert context.derived


@given(names)
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}")
@example("\N{GREEK CAPITAL LETTER UPSILON WITH DIALYTIKA}\N{COMBINING ACUTE ACCENT}")
def test_what_is_folded_is_so_for_good_whatever_its_case(name: str) -> None:
    assert fold_text(fold_text(name)) == fold_text(name)
    assert fold_text(name.upper().lower()) == fold_text(name.lower().upper().lower())


@pytest.mark.parametrize(
    ("one", "other"),
    [("Größe", "GROSSE"), ("Métiers  à\ttisser ", "metiers a tisser"), ("\uff21lpha", "alpha"), ("Σίσυφος", "σισυφοσ")],
)
def test_case_accents_and_blanks_make_no_difference(one: str, other: str) -> None:
    assert fold_text(one) == fold_text(other)
