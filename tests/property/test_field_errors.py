"""Whatever is sent to an operation, its faults are told in words of ours, each by a code of ours."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.entrypoints import catalogue
from chalicelib.entrypoints.openapi.schemas import query_fields, required_fields
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.models import Input, Query
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import validate_body, validate_query

CODES = {
    "malformed",
    "not_an_object",
    "not_one_of",
    "out_of_range",
    "required",
    "too_few",
    "too_long",
    "too_many",
    "too_short",
    "unknown_field",
    "wrong_type",
}
OTHERS = re.compile(
    r"Input should|should (have|be)|^is not valid$|[Vv]alue error|Extra inputs|Field requ|codec|base64-encoded|^not "
)
# Several operations take the same query.
BODIES = [*{o.body: o.method for o in catalogue.operations() if o.body}.items()]
QUERIES = [*dict.fromkeys(o.query for o in catalogue.operations() if o.query)]

words = st.sampled_from(["", "a", "active", "read", "x" * 300, "2026-11-20T09:30:00Z", "a@example.com", "999"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=2),
    max_leaves=5,
)


def sent(method: str, content: object, asked: dict[str, str]) -> Request:
    given = {name: [value] for name, value in asked.items()}
    return Request(method, "/", {}, given, {}, json.dumps(content).encode(), "id", "127.0.0.1")


def names(model: type[Input] | type[Query]) -> st.SearchStrategy[str]:
    return st.sampled_from([field.alias or name for name, field in model.model_fields.items()])


@pytest.mark.parametrize(("model", "method"), BODIES, ids=lambda part: part if isinstance(part, str) else part.__name__)
@given(data=st.data())
def test_of_a_body(model: type[Input], method: str, data: st.DataObject) -> None:
    content = data.draw(st.dictionaries(names(model) | st.text(), values, max_size=6) | values)
    try:
        validate_body(model, sent(method, content, {}), {})
    except ValidationProblem as refused:
        are_ours(refused)


@pytest.mark.parametrize("model", QUERIES)
@given(data=st.data())
def test_of_a_query(model: type[Query], data: st.DataObject) -> None:
    asked = data.draw(st.dictionaries(names(model), words | st.text(), max_size=4))
    try:
        validate_query(model, sent("GET", {}, asked))
    except ValidationProblem as refused:
        are_ours(refused)


LONG = [(model, name) for model in QUERIES for name, f in query_fields(model).items() if "maxLength" in f]


@pytest.mark.parametrize(("model", "name"), LONG, ids=lambda part: part if isinstance(part, str) else part.__name__)
def test_of_a_text_that_is_too_long(model: type[Query], name: str) -> None:
    with pytest.raises(ValidationProblem) as refused:
        validate_query(model, sent("GET", {}, {**dict.fromkeys(required_fields(model), "x"), name: "x" * 9000}))
    assert [(fault.pointer, fault.code) for fault in refused.value.errors] == [(f"query/{name}", "too_long")]


def are_ours(refused: ValidationProblem) -> None:
    assert refused.errors
    for fault in refused.errors:
        assert fault.code in CODES, fault
        assert not OTHERS.search(fault.detail), fault
