"""What is stored of a record is the record: every entity comes back from the table's own form as it went."""

import re
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chalicelib.entrypoints.catalogue import record_kinds
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.item_json import from_wire, to_wire
from chalicelib.kernel.storage.record_sets import RecordSet
from infrastructure.resources import table

STORED = [kind for kind in record_kinds() if not issubclass(kind, RecordSet)]
ATTRIBUTES = {a["AttributeName"]: a["AttributeType"] for a in table("atrium")["AttributeDefinitions"]}
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False, width=32)
texts = st.text(max_size=20)


def trees_of(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values, and lists and dictionaries of them."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=10
    )


json_values = trees_of(st.none() | st.booleans() | numbers | texts)
values = trees_of(st.none() | st.booleans() | numbers | texts | st.binary(max_size=20))
documents = st.dictionaries(texts, json_values, max_size=3)


def a(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    plain = {str: texts, int: st.integers(0, 2**53), bool: st.booleans(), bytes: st.binary(max_size=40), Any: values}
    if hint in plain:
        return plain[hint]
    if hint is NoneType:
        return st.none()
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return st.sampled_from(arguments)
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*(a(argument) for argument in arguments))
    if get_origin(hint) is list:
        return st.lists(a(arguments[0]), max_size=3)
    if get_origin(hint) is dict:
        return st.dictionaries(texts, a(arguments[1]), max_size=3)
    raise TypeError(f"say how to draw a {hint}")


def records(kind: type[Entity]) -> st.SearchStrategy[Entity]:
    hints = get_type_hints(kind)
    stored = [field.name for field in fields(kind) if field.name not in kind.computed_fields]
    return st.builds(kind, **{name: documents if name in kind.json_fields else a(hints[name]) for name in stored})


@pytest.mark.parametrize("kind", STORED)
class TestEveryEntity:
    @settings(max_examples=40)
    @given(data=st.data())
    def test_comes_back_as_it_was_stored(self, kind: type[Entity], data: st.DataObject) -> None:
        record = data.draw(records(kind))
        found = kind.from_item(from_wire(to_wire(record.item())))
        assume(type(found) is kind)  # An invitation that names a platform is one to that.
        assert found == record

    @settings(max_examples=40)
    @given(data=st.data())
    def test_is_stored_where_it_says(self, kind: type[Entity], data: st.DataObject) -> None:
        record = data.draw(records(kind))
        item = record.item()
        assert (item["pk"], item["sk"]) == record.item_key == kind.make_item_key(**record.__dict__)
        assert item["kind"] == kind.kind

    @settings(max_examples=40)
    @given(data=st.data())
    def test_has_whole_index_keys_of_the_declared_indexes_only(self, kind: type[Entity], data: st.DataObject) -> None:
        item = data.draw(records(kind)).item()
        keys = {name for name in item if re.fullmatch(r"([a-z]+[0-9]|due)?[ps]k", name)}
        assert keys <= set(ATTRIBUTES)
        assert all(isinstance(item[name], str) for name in keys)
        for index in ("index1", "index2", "due"):
            assert (f"{index}pk" in item) is (f"{index}sk" in item)


@given(st.dictionaries(texts, values, max_size=5))
def test_every_value_survives_the_tables_own_json(item: dict[str, Any]) -> None:
    assert repr(from_wire(to_wire(item))) == repr(item)  # 1, 1.0 and True are equal, and not the same
