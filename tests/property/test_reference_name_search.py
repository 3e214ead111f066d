"""A search for the beginning of a name finds all records of this name, in any spelling."""

import unicodedata
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.reference.logic.cache import RecordColumns
from chalicelib.features.reference.logic.name_search import index_range_of_prefix, search_key
from chalicelib.features.reference.models.dataset_file import search_names_set_name
from tests.harness.reference_data import DATASET_NAMES, deployed_columns, deployed_dataset

SPELLINGS = (str.upper, str.lower, str.title, lambda name: unicodedata.normalize("NFD", name), "  {} ".format)


@cache
def load_records(name: str) -> RecordColumns:
    return RecordColumns(deployed_columns(name), deployed_dataset().sets[search_names_set_name(name)])


@settings(max_examples=100)
@given(st.sampled_from(DATASET_NAMES), st.data())
def test_a_prefix_of_a_name_finds_its_records(name, data):
    record_columns = load_records(name)
    index = data.draw(st.integers(0, len(record_columns.columns["name"]) - 1))
    record_name = record_columns.columns["name"][index]
    prefix = data.draw(st.sampled_from(SPELLINGS))(record_name[: data.draw(st.integers(1, len(record_name)))])
    matches = record_columns.find_indexes_by_name_prefix(prefix)
    assert matches == sorted(set(matches))
    assert index in matches or not search_key(prefix)


@given(st.lists(st.text(), max_size=20), st.text(max_size=3))
def test_bisection_finds_the_same_keys_as_a_full_scan(names, prefix):
    keys = sorted({search_key(name) for name in names})
    key = search_key(prefix)
    found_keys = [keys[index] for index in index_range_of_prefix(keys, key)]
    assert found_keys == [candidate for candidate in keys if candidate.startswith(key)]


@given(st.text())
def test_a_search_key_is_its_own_search_key(name):
    assert search_key(search_key(name)) == search_key(name)
