"""Hosts and paths of browsers are normalized, in every form in which they are sent."""

import re

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.platforms.logic.navigation_targets import space_slug_in_path
from chalicelib.kernel.http.fields import SLUG_PATTERN
from chalicelib.kernel.outbound.domain_names import normalize_host_name

labels = st.from_regex(r"\A[a-z0-9](?:[a-z0-9-]{0,10}[a-z0-9])?\Z")
names = st.lists(labels, min_size=1, max_size=4).map(".".join)
slugs = st.from_regex(rf"\A{SLUG_PATTERN[1:-1]}\Z").filter(lambda slug: slug != "spaces")
suffixes = st.text(st.characters(exclude_characters="?#"), max_size=10)


@given(names, st.sampled_from(["", ":443", ":8080", ":"]), st.sampled_from(["", "."]))
def test_a_host_is_normalized_without_case_port_and_final_dot(name: str, port: str, dot: str) -> None:
    assert normalize_host_name(f"{name}{dot}{port}") == normalize_host_name(f"{name.upper()}{dot}{port}") == name


@given(st.text())
def test_normalizing_any_text_as_a_host_is_idempotent(text: str) -> None:
    name = normalize_host_name(text)
    assert name is None or normalize_host_name(name) in (name, None)


@given(slugs, suffixes, st.sampled_from(["", "?x=1", "#top", "?a#b"]))
def test_a_path_contains_the_slug_of_its_first_segment(slug: str, rest: str, tail: str) -> None:
    for path in (f"/{slug}", f"/spaces/{slug}", f"{slug}", f"/{slug.upper()}", f"//spaces//{slug}"):
        assert space_slug_in_path(f"{path}/{rest}{tail}") == slug
        assert space_slug_in_path(f"{path}{tail}") == slug


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_another_value_contains_no_slug_or_a_valid_one(path: object) -> None:
    slug = space_slug_in_path(path)
    assert slug is None or re.fullmatch(SLUG_PATTERN, slug)
