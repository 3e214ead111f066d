"""Searching by name: whatever a record is called, the beginning of that finds it, however it is written."""

import unicodedata
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.reference.logic.cache import RecordColumns
from chalicelib.features.reference.logic.name_search import prefix_range, search_key
from chalicelib.features.reference.models.dataset_file import search_names_set
from tests.harness.reference import SETS, columns, file

WRITTEN = (str.upper, str.lower, str.title, lambda name: unicodedata.normalize("NFD", name), lambda name: f"  {name} ")


@cache
def records(name: str) -> RecordColumns:
    return RecordColumns(columns(name), file().sets[search_names_set(name)])


@settings(max_examples=150, deadline=None)  # The first of them decompresses a set.
@given(st.sampled_from(SETS), st.data())
def test_the_beginning_of_a_name_finds_all_that_are_called_so(name: str, data: st.DataObject) -> None:
    known = records(name)
    place = data.draw(st.integers(0, len(known.columns["name"]) - 1))
    called = known.columns["name"][place]
    prefix = data.draw(st.sampled_from(WRITTEN))(called[: data.draw(st.integers(1, len(called)))])
    found = known.search(prefix)
    assert found == sorted(set(found))
    assert place in found or not search_key(prefix)


@given(st.lists(st.text(), max_size=20), st.text(max_size=3))
def test_a_bisection_finds_what_a_look_at_all_of_them_does(names: list[str], prefix: str) -> None:
    keys = sorted({search_key(name) for name in names})
    key = search_key(prefix)
    assert [keys[place] for place in prefix_range(keys, key)] == [each for each in keys if each.startswith(key)]


@given(st.text())
def test_what_is_searched_by_is_searched_by_itself(name: str) -> None:
    assert search_key(search_key(name)) == search_key(name)
