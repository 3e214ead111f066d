"""Every entity is unchanged after it is converted to an item and back."""

import re
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.entrypoints.catalogue import list_record_types
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json, item_to_dynamodb_json
from chalicelib.kernel.storage.record_sets import RecordSet
from infrastructure.resources import table_definition

ENTITY_TYPES = [kind for kind in list_record_types() if not issubclass(kind, RecordSet)]
ATTRIBUTES = {
    values_of["AttributeName"]: values_of["AttributeType"]
    for values_of in table_definition("atrium")["AttributeDefinitions"]
}
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False, width=32)
texts = st.text(max_size=20)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=10
    )


json_values = nested(st.none() | st.booleans() | numbers | texts)
values = nested(st.none() | st.booleans() | numbers | texts | st.binary(max_size=20))
documents = st.dictionaries(texts, json_values, max_size=3)


STRATEGIES = {
    str: texts,
    int: st.integers(0, 2**53),
    bool: st.booleans(),
    bytes: st.binary(max_size=40),
    Any: values,
    NoneType: st.none(),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    if hint in STRATEGIES:
        return STRATEGIES[hint]
    arguments = get_args(hint)
    match get_origin(hint):
        case origin if origin is Literal:
            return st.sampled_from(arguments)
        case origin if origin in (Union, UnionType):
            return st.one_of(*map(values_of, arguments))
        case origin if origin is list:
            return st.lists(values_of(arguments[0]), max_size=3)
        case origin if origin is dict:
            return st.dictionaries(texts, values_of(arguments[1]), max_size=3)
    raise TypeError(f"define how to draw a {hint}")


def records(kind: type[Entity]) -> st.SearchStrategy[Entity]:
    hints = get_type_hints(kind)
    field_names = [field.name for field in fields(kind) if field.name not in kind.computed_fields]
    return st.builds(
        kind, **{name: documents if name in kind.json_fields else values_of(hints[name]) for name in field_names}
    )


@pytest.mark.parametrize("kind", ENTITY_TYPES)
@settings(max_examples=20)
@given(data=st.data())
def test_an_entity_is_restored_from_its_item_which_has_the_declared_keys(kind, data):
    record = data.draw(records(kind))
    item = record.item()
    assert (item["pk"], item["sk"]) == record.item_key == kind.make_item_key(**record.__dict__)
    assert item["kind"] == kind.kind
    keys = {name for name in item if re.fullmatch(r"([a-z]+[0-9]|due)?[ps]k", name)}
    assert keys <= set(ATTRIBUTES)
    assert all(isinstance(item[name], str) for name in keys)
    for index in ("index1", "index2", "due"):
        assert (f"{index}pk" in item) is (f"{index}sk" in item)
    restored = kind.from_item(item_from_dynamodb_json(item_to_dynamodb_json(item)))
    # An invitation with a platform becomes a platform invitation.
    assert restored == record or type(restored) is not kind


@given(st.dictionaries(texts, values, max_size=5))
def test_every_value_is_restored_from_dynamodb_json(item):
    restored = item_from_dynamodb_json(item_to_dynamodb_json(item))
    assert repr(restored) == repr(item), "1, 1.0 and True are equal, but distinct"
