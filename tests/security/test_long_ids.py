"""Long values and unusual characters, wherever they may become part of a key, cause no server error.

The harness rejects keys that DynamoDB rejects (`tests/harness/key_size_limits.py`), and any response with status 500.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.sites.models.url_paths import ancestor_paths
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller, get_example
from tests.harness.parametrize_operations import parametrize_operations

LENGTHS: Final = (1, 300, 1_100, 2_100, 9_000)
UNUSUAL_TEXTS: Final = (
    "\x00",
    "a\x00b",
    "a/b",
    "../..",
    "%2f",
    "%",
    "#",
    "a#b",
    "?",
    " ",
    "\n",
    "ß",
    "\u212a",
    "\u0131",
    "\u202eabc",
    "\U0001f4a9" * 300,
    "\u0627\u0644",
    "\ufdfa" * 200,
    "\u0390" * 255,
    "e\u0301" * 500,
    "*",
    "{id}",
    "\ufeff",
    "\x7f",
)
LONG_TEXTS: Final = tuple("a" * length for length in LENGTHS)
VALUES: Final = (*LONG_TEXTS, *UNUSUAL_TEXTS)
BODY_VALUES: Final = (*LONG_TEXTS, "a\x00b", "#", "\u212a", "\U0001f4a9" * 300, "\ufdfa" * 200, "\u202eabc")
JSON: Final = {"Content-Type": "application/json"}
LONE_SURROGATE: Final = b'"\\ud800"'


@parametrize_operations(lambda o: o.path_parameter_names)
class TestPathParameters:
    def test_unknown_values_are_not_found(self, operation, tenant):
        example, caller = get_example(operation, tenant), get_caller(operation, tenant)
        for name in operation.path_parameter_names:
            for value in VALUES:
                response = call_operation(operation, tenant, example.with_parameters(**{name: value}), caller=caller)
                assert response.status == 404 or (len(value) == 1 and response.status < 500), (name, value[:20])

    def test_each_parameter_has_a_maximum_length(self, operation):
        for name in operation.path_parameter_names:
            assert not operation.has_valid_path_parameters(
                {**dict.fromkeys(operation.path_parameter_names, "a"), name: "a" * 300}
            )
            assert not operation.has_valid_path_parameters(
                {**dict.fromkeys(operation.path_parameter_names, "a"), name: ""}
            )

    def test_overlong_value_is_rejected_without_reads(self, operation, tenant):
        example = get_example(operation, tenant)
        (first, *_) = operation.path_parameter_names
        response = call_operation(
            operation, tenant, example.with_parameters(**{first: "a" * 9_000}), caller=get_caller(operation, tenant)
        )
        assert response.calls.call_list == []


@parametrize_operations(lambda o: o.query_model)
def test_query_values_cause_no_server_error(operation, tenant):
    assert operation.query_model
    names = [field.alias or name for name, field in operation.query_model.model_fields.items()]
    for name in names:
        for value in VALUES:
            for caller in (get_caller(operation, tenant), None):
                assert call_operation(operation, tenant, caller=caller, query={name: value}).status < 500


def bodies_with_value(body: Any, value: Any) -> Iterator[Any]:
    """Yield copies of a body in which one text has the given value."""
    if isinstance(body, dict):
        for name, member in body.items():
            yield from ({**body, name: item} for item in bodies_with_value(member, value))
    elif isinstance(body, list):
        for at, member in enumerate(body):
            yield from ([*body[:at], item, *body[at + 1 :]] for item in bodies_with_value(member, value))
    elif isinstance(body, str) or body is None:
        yield value


def with_all_fields(operation: Operation, body: Any) -> dict[str, Any]:
    """Return a body with all fields of the operation, including those without a value."""
    assert operation.body_model
    names = [field.alias or name for name, field in operation.body_model.model_fields.items()]
    return {**dict.fromkeys(names), **(body or {})}


@parametrize_operations(lambda o: o.body_model)
def test_body_values_cause_no_server_error(operation, tenant):
    example, caller = get_example(operation, tenant), get_caller(operation, tenant)
    full_body = with_all_fields(operation, example.body)
    for value in BODY_VALUES:
        for body in bodies_with_value(full_body, value):
            sent_body = {name: item for name, item in body.items() if item is not None}
            assert call_operation(operation, tenant, caller=caller, json=sent_body).status < 500
    raw_bodies = [
        json.dumps(body).encode().replace(b'"HALF"', LONE_SURROGATE) for body in bodies_with_value(full_body, "HALF")
    ]
    for body in raw_bodies:
        response = call_operation(operation, tenant, caller=caller, json=None, body=body, headers=JSON)
        assert response.status_and_code in ("400 malformed_json", "429 rate_limited")


class TestPathWithManySegments:
    """Each segment of a page's path could require another look-up of a redirect."""

    def test_makes_no_more_calls_than_a_short_path(self, tenant):
        pages = f"{tenant.site.path}/pages/by-path"
        short_response = tenant.api.get(pages, query={"path": "/nothing"})
        for path in ("/x" * 900, "/x" * 4_500, "/" * 9_000, "/%2e%2e" * 900):
            long_response = tenant.api.get(pages, query={"path": path})
            assert len(long_response.calls.call_list) <= len(short_response.calls.call_list)
            host = {"host": tenant.site.record["host"], "path": path}
            assert len(tenant.api.get("/sites/resolve", query=host).calls.call_list) <= 4

    def test_number_of_prefixes_is_limited(self):
        assert ancestor_paths("/x" * 4_500, 10) == [("/x" * number) or "/" for number in range(10, -1, -1)]
        assert ancestor_paths("/a/b", 10) == ["/a", "/"]
        assert ancestor_paths("/", 10) == []
