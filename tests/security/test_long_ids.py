"""Long values and unusual characters, wherever they may become part of a key, cause no server error.

The harness rejects keys that DynamoDB rejects (`tests/harness/key_size_limits.py`), and any response with status 500.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Final

import pytest

from chalicelib.features.sites.models.url_paths import ancestor_paths
from tests.catalogue.examples.registry import call_operation, field_names, get_caller, get_example
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_operations, parametrize_request_rules
from tests.security.hostile_values import Path, find_texts, replace_at, send_in_query, send_until_not_rejected

LONG_TEXTS: Final = tuple("a" * length for length in (1, 300, 1_100, 2_100, 9_000))
FEW_VALUES: Final = (*LONG_TEXTS, "a\x00b", "#", "\u212a", "\U0001f4a9" * 300, "\ufdfa" * 200, "\u202eabc")
VALUES: Final = (
    *FEW_VALUES,
    *("\x00", "a/b", "../..", "%2f", "%", "a#b", "?", " ", "\n", "*", "{id}", "\ufeff", "\x7f"),
    *("ß", "\u0131", "\u0627\u0644", "\u0390" * 255, "e\u0301" * 500),
)
for_few_and_all_values: Final = pytest.mark.parametrize(
    "values", [pytest.param(FEW_VALUES, id="few"), pytest.param(VALUES, id="all", marks=pytest.mark.exhaustive)]
)
JSON: Final = {"Content-Type": "application/json"}
LONE_SURROGATE: Final = b'"\\ud800"'


@parametrize_operations(lambda o: o.path_parameter_names)
def test_path_parameters_have_a_pattern_with_a_maximum_length_and_unknown_values_are_not_found(operation, tenant):
    example, caller = get_example(operation, tenant), get_caller(operation, tenant)
    for name in operation.path_parameter_names:
        valid = [v for v in VALUES if operation.has_valid_path_parameters({**example.parameters, name: v})]
        assert max(map(len, valid), default=0) < 300
        assert not operation.has_valid_path_parameters({**example.parameters, name: ""})
        for value in valid:
            response = call_operation(operation, tenant, example.with_parameters(**{name: value}), caller=caller)
            assert response.status == 404 or (len(value) == 1 and response.status < 500), (name, value)


@parametrize_request_rules(lambda o: o.path_parameter_names)
def test_malformed_path_parameters_are_not_found_without_reads(operation, tenant):
    example, caller = get_example(operation, tenant), get_caller(operation, tenant)
    for name in operation.path_parameter_names:
        for value in VALUES:
            if not operation.has_valid_path_parameters({**example.parameters, name: value}):
                response = call_operation(operation, tenant, example.with_parameters(**{name: value}), caller=caller)
                assert (response.status, response.calls.call_list) == (404, []), (name, value[:20])


@for_few_and_all_values
@parametrize_operations(lambda o: o.query_model)
def test_query_values_cause_no_server_error(operation, values, tenant):
    names = field_names(operation.query_model)
    for value in values:
        assert all(response.status < 500 for response in send_in_query(operation, tenant, names, value))
        assert call_operation(operation, tenant, caller=None, query=dict.fromkeys(names, value)).status < 500


@for_few_and_all_values
@parametrize_operations(lambda o: o.body_model)
def test_body_values_cause_no_server_error(operation, values, tenant):
    example, caller = get_example(operation, tenant), get_caller(operation, tenant)
    full_body = {**dict.fromkeys(field_names(operation.body_model)), **(example.body or {})}
    texts = [*find_texts(full_body)]

    def send(paths: Sequence[Path], value: str) -> ApiResponse:
        body = replace_at(full_body, paths, value)
        sent_body = {name: item for name, item in body.items() if item is not None}
        return call_operation(operation, tenant, caller=caller, json=sent_body)

    for value in values:
        responses = send_until_not_rejected(texts, partial(send, value=value))
        assert all(response.status < 500 for response in responses), value
    if values is VALUES:
        for path in texts:
            for value in values:
                assert send([path], value).status < 500
    raw_body = json.dumps(replace_at(full_body, texts, "HALF")).encode().replace(b'"HALF"', LONE_SURROGATE)
    if texts:
        response = call_operation(operation, tenant, caller=caller, json=None, body=raw_body, headers=JSON)
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
