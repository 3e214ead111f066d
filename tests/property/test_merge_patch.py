"""JSON Merge Patch satisfies the test cases of RFC 7396, appendix A, and general laws."""

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
"""The original, the patch and the result."""

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
def test_the_examples_of_the_rfc_are_satisfied(original, patch, result):
    assert merge_patch(original, patch) == result


@given(documents, patches)
def test_a_patch_is_idempotent_modifies_nothing_and_changes_no_object_if_empty(document, patch):
    before = repr((document, patch))
    patched = merge_patch(document, patch)
    assert merge_patch(patched, patch) == patched
    assert repr((document, patch)) == before
    assert merge_patch(document, {}) == (document if isinstance(document, dict) else {})


def has_null_member(value):
    return isinstance(value, dict) and any(member is None or has_null_member(member) for member in value.values())


@given(documents, st.dictionaries(names, patches, max_size=3))
def test_the_result_contains_no_null_members(document, patch):
    assert not has_null_member(merge_patch(document, patch))
