"""Every validation error of any operation has a documented code and message."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.entrypoints import catalogue
from chalicelib.entrypoints.openapi.schemas import query_parameter_schemas, required_query_parameters
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import validate_body, validate_query

CODES = {
    *("malformed", "not_an_object", "not_one_of", "out_of_range", "required", "too_few", "too_long", "too_many"),
    *("too_short", "unknown_field", "wrong_type"),
}
LIBRARY_MESSAGES = re.compile(
    r"Input should|should (have|be)|^is not valid$|[Vv]alue error|Extra inputs|Field requ|codec|base64-encoded|^not "
)
# Several operations have the same query.
BODIES = [*{o.body_model: o.method for o in catalogue.all_operations() if o.body_model}.items()]
QUERIES = [*dict.fromkeys(o.query_model for o in catalogue.all_operations() if o.query_model)]

words = st.sampled_from(["", "a", "active", "read", "x" * 300, "2026-11-20T09:30:00Z", "a@example.com", "999"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=2),
    max_leaves=5,
)


few_examples = settings(max_examples=20)


def build_request(method: str, content: object = None, query: dict[str, str] | None = None) -> Request:
    query_lists = {name: [value] for name, value in (query or {}).items()}
    return Request(method, "/", {}, query_lists, {}, json.dumps(content).encode(), "id", "127.0.0.1")


def field_names(model):
    return st.sampled_from([field.alias or name for name, field in model.model_fields.items()])


def id_of(part):
    return part if isinstance(part, str) else part.__name__


def undocumented_errors(validate):
    """Return the errors that a validation reports, unless all of them have documented codes and messages."""
    try:
        validate()
    except ValidationProblem as problem:
        is_documented = [e.code in CODES and not LIBRARY_MESSAGES.search(e.detail) for e in problem.errors]
        return problem.errors if not all(is_documented) or not is_documented else []
    return []


@pytest.mark.parametrize(("model", "method"), BODIES, ids=id_of)
@few_examples
@given(data=st.data())
def test_errors_of_a_body_are_documented(model, method, data):
    content = data.draw(st.dictionaries(field_names(model) | st.text(), values, max_size=6) | values)
    assert undocumented_errors(lambda: validate_body(model, build_request(method, content), {})) == []


@pytest.mark.parametrize("model", QUERIES, ids=id_of)
@few_examples
@given(data=st.data())
def test_errors_of_a_query_are_documented(model, data):
    query = data.draw(st.dictionaries(field_names(model), words | st.text(), max_size=4))
    assert undocumented_errors(lambda: validate_query(model, build_request("GET", query=query))) == []


LIMITED_QUERY_FIELDS = [
    (model, name) for model in QUERIES for name, f in query_parameter_schemas(model).items() if "maxLength" in f
]


@pytest.mark.parametrize(("model", "name"), LIMITED_QUERY_FIELDS, ids=id_of)
def test_a_long_text_in_a_query_is_too_long(model, name):
    query = {**dict.fromkeys(required_query_parameters(model), "x"), name: "x" * 9000}
    with pytest.raises(ValidationProblem) as raised:
        validate_query(model, build_request("GET", query=query))
    assert [(error.pointer, error.code) for error in raised.value.errors] == [(f"query/{name}", "too_long")]
