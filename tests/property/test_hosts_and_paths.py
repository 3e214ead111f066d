"""Hosts and paths of browsers are normalized, in every form in which they are sent."""

import re

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.platforms.logic.navigation_targets import possible_space_slug_in_path
from chalicelib.kernel.http.fields import SLUG_PATTERN
from chalicelib.kernel.outbound.domain_names import host_name_from_header

labels = st.from_regex(r"\A[a-z0-9](?:[a-z0-9-]{0,10}[a-z0-9])?\Z")
names = st.lists(labels, min_size=1, max_size=4).map(".".join)
slugs = st.from_regex(rf"\A{SLUG_PATTERN[1:-1]}\Z").filter(lambda slug: slug != "spaces")
suffixes = st.text(st.characters(exclude_characters="?#"), max_size=10)


@given(names, st.sampled_from(["", ":443", ":8080", ":"]), st.sampled_from(["", "."]))
def test_a_host_is_normalized_without_case_port_and_final_dot(name, port, dot):
    assert host_name_from_header(f"{name}{dot}{port}") == host_name_from_header(f"{name.upper()}{dot}{port}") == name


@given(st.text())
def test_normalizing_any_text_as_a_host_is_idempotent(text):
    name = host_name_from_header(text)
    assert name is None or host_name_from_header(name) in (name, None)


@given(slugs, suffixes, st.sampled_from(["", "?x=1", "#top", "?a#b"]))
def test_a_path_contains_the_slug_of_its_first_segment(slug, rest, tail):
    for path in (f"/{slug}", f"/spaces/{slug}", f"{slug}", f"/{slug.upper()}", f"//spaces//{slug}"):
        assert possible_space_slug_in_path(f"{path}/{rest}{tail}") == slug
        assert possible_space_slug_in_path(f"{path}{tail}") == slug


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_another_value_contains_no_slug_or_a_valid_one(path):
    slug = possible_space_slug_in_path(path)
    assert slug is None or re.fullmatch(SLUG_PATTERN, slug)
