"""JSON Merge Patch: the test cases of RFC 7396, appendix A, and what holds for every patch."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.http.validation import merge_patch

APPENDIX_A: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
"""Original, patch, result."""

names = st.sampled_from("abc")
scalars = st.integers(0, 3) | st.booleans() | st.text(max_size=2)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
patches = st.recursive(
    st.none() | scalars,
    lambda inner: st.lists(scalars, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("original", "patch", "result"), APPENDIX_A)
def test_the_examples_of_the_rfc(original: object, patch: object, result: object) -> None:
    assert merge_patch(original, patch) == result


@given(documents, patches)
def test_a_patch_applied_twice_does_what_it_did_once(document: object, patch: object) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(documents)
def test_an_empty_patch_changes_no_object(document: object) -> None:
    assert merge_patch(document, {}) == (document if isinstance(document, dict) else {})


@given(documents, patches)
def test_what_is_patched_stays_as_it_was(document: object, patch: object) -> None:
    before = repr((document, patch))
    merge_patch(document, patch)
    assert repr((document, patch)) == before


def nulls(value: object) -> bool:
    if isinstance(value, dict):
        return any(member is None or nulls(member) for member in value.values())
    return False


@given(documents, st.dictionaries(names, patches, max_size=3))
def test_no_null_of_an_object_survives(document: object, patch: dict[str, object]) -> None:
    assert not nulls(merge_patch(document, patch))
