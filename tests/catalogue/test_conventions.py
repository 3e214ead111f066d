"""Conventions of the interface that every operation follows."""

from collections import defaultdict
from typing import Final

import pytest
from jsonschema import Draft202012Validator
from pydantic.alias_generators import to_camel

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.entrypoints.route_hints import hints_by_path
from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.http.principal_ids import principal_id_fields
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import (
    add_neighbours,
    call_operation,
    field_names,
    get_caller,
    get_example,
    read_with_full_access,
)
from tests.catalogue.extra_operations import EXTRA_OPERATIONS
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.conformance import openapi_document
from tests.harness.parametrize_operations import parametrize_operations

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
OPERATIONS_BY_PATH: Final[dict[str, list[Operation]]] = defaultdict(list)
for each in all_operations():
    OPERATIONS_BY_PATH[each.path].append(each)


LISTS_WITH_AT_MOST_ONE_ITEM: Final = ("list_public_leads",)
"""Lists with at most one item, the record that the token gives access to. They have no second page."""
LISTS: Final = [
    o for o in all_operations() if o.is_list and o.method == "GET" and o.id not in LISTS_WITH_AT_MOST_ONE_ITEM
]
PATCHES_OF_RECORDS: Final = {
    *("update_organization", "update_integration_channel", "update_webhook", "update_platform", "update_space"),
    *("update_taxonomy_node", "update_site", "update_page", "update_redirect"),
}
INVALID_LIMITS: Final = ("0", "101", "-1", "many", "")
_cursors: Final[dict[str, str]] = {}


@parametrize_operations(lambda o: o.body_model and not issubclass(o.body_model, Patch))
def test_a_body_except_of_a_patch_accepts_null_for_optional_fields_only_as_documented(operation, tenant):
    names, required = field_names(operation.body_model), {*field_names(operation.body_model, required=True)}
    response = call_operation(operation, tenant, json=dict.fromkeys([*names, "colour"]))
    assert response.status_and_code == "422 validation_failed"
    assert {"/colour", *(f"/{name}" for name in required)} == set(response.errors)
    assert response.errors["/colour"] == "unknown_field"
    body = {**dict.fromkeys(names), **(get_example(operation, tenant).body or {})}
    assert call_operation(operation, tenant, json=body).status == operation.success
    name, components = operation.body_model.__name__, openapi_document()["components"]
    assert set(components["schemas"][name]["properties"]) == set(names)
    schema = Draft202012Validator({"components": components, **openapi.schemas.schema_reference(name)})
    assert {error.path[0] for error in schema.iter_errors(dict.fromkeys(names))} == required


@parametrize_operations(lambda o: o.method == "PATCH")
def test_only_merge_patches_of_records_require_a_body(operation, tenant, clock):
    clock.freeze()  # The lag of a log stream grows with time.
    missing = [call_operation(operation, tenant, json=None, body=body) for body in (None, b" \n")]
    empty = call_operation(operation, tenant, json={})
    if operation.requires_body:
        assert {response.status_and_code for response in missing} == {"400 malformed_json"}
        assert "or {} to change nothing" in missing[0].json["detail"]
        assert empty.expect(200).text == read_with_full_access(operation, tenant, empty.path).text
    else:
        assert {(response.status, response.text) for response in missing} == {(empty.status, empty.text)}


def test_these_merge_patches_require_a_body():
    required = {operation.id for operation in all_operations() if operation.requires_body}
    assert required - EXTRA_OPERATIONS.keys() == PATCHES_OF_RECORDS


@parametrize_operations(lambda o: o.body_model)
def test_a_body_field_in_the_query_is_rejected(operation, tenant):
    in_query = field_names(operation.query_model)
    names = [name for name in field_names(operation.body_model) if name not in in_query]
    response = call_operation(operation, tenant, query=dict.fromkeys(names, "x"))
    assert response.status_and_code == "422 validation_failed"
    assert response.errors == {f"query/{name}": "misplaced" for name in names}


def test_every_path_rejects_other_methods_and_responds_to_preflight_requests(api):
    for path, operations in OPERATIONS_BY_PATH.items():
        url, own_methods = path.format_map(defaultdict(lambda: "x")), {operation.method for operation in operations}
        for method in {*METHODS} - own_methods:
            response = api.request(method, url)
            assert response.status_and_code == "405 method_not_allowed", (method, path)
            head = {"HEAD"} if path == "/sites/resolve" else set()  # Which a CDN forwards from visitors.
            assert split_header(response.headers["Allow"]) == own_methods | head, (method, path)
        headers = {"Origin": "https://app.example", "Access-Control-Request-Method": operations[0].method}
        answer = api.request("OPTIONS", url, headers=headers)
        assert answer.status == 204, path
        hinted_methods = {hint.method for hint in hints_by_path().get(path, ())}
        allowed_methods = {*own_methods, *hinted_methods, "OPTIONS"}
        assert split_header(answer.headers["Access-Control-Allow-Methods"]) == allowed_methods, path
        accepted = split_header(answer.headers["Access-Control-Allow-Headers"].lower())
        assert {
            "authorization",
            "content-type",
            "idempotency-key",
            "if-match",
            "if-none-match",
            "prefer",
        } <= accepted, path


def split_header(value: str) -> set[str]:
    return {name.strip() for name in value.split(",")}


def assert_cursors_are_rejected(operation: Operation, tenant: TenantFixture, *cursors: str) -> None:
    for cursor in cursors:
        response = call_operation(operation, tenant, query={"limit": 1, "cursor": cursor})
        assert response.problem_and_pointers == ("400 invalid_cursor", ["query/cursor"]), cursor


@parametrize_operations(lambda o: o.id in LISTS_WITH_AT_MOST_ONE_ITEM)
def test_a_list_with_at_most_one_item_has_no_second_page(operation, tenant, restore_tenant):
    restore_tenant(add_neighbours, 5)
    answer = call_operation(operation, tenant, query={"limit": 1})
    assert len(answer.json["items"]) == 1
    assert answer.json["nextCursor"] is None
    assert "Link" not in answer.headers
    assert_cursors_are_rejected(operation, tenant, "nonsense")


@parametrize_operations(lambda o: o in LISTS)
def test_a_list_contains_each_item_once_in_one_order_with_every_page_size(operation, tenant, restore_tenant, clock):
    restore_tenant(add_neighbours, 5)
    clock.freeze()  # The lag of a log stream grows with time.
    path, caller = get_example(operation, tenant).get_path(operation), get_caller(operation, tenant)
    whole = tenant.api.get_pages(path, caller=caller, query={"limit": 100})
    all_items = [item for page in whole for item in page["items"]]
    assert len(all_items) >= 5
    for limit in (1, 3) if len(all_items) <= 12 else (5,):  # Long lists take many requests.
        pages = tenant.api.get_pages(path, caller=caller, query={"limit": limit})
        assert all(len(page["items"]) <= limit for page in pages)
        assert [item for page in pages for item in page["items"]] == all_items


@parametrize_operations(lambda o: o in LISTS or o.id in LISTS_WITH_AT_MOST_ONE_ITEM)
def test_a_list_rejects_an_invalid_limit(operation, tenant):
    for limit in INVALID_LIMITS:
        response = call_operation(operation, tenant, query={"limit": limit})
        assert [*response.validation_errors] == ["query/limit"], limit


@parametrize_operations(lambda o: o in LISTS)
def test_a_list_links_to_its_next_page_with_a_cursor_that_cannot_be_altered(operation, tenant, restore_tenant):
    restore_tenant(add_neighbours, 5)
    path, caller = get_example(operation, tenant).get_path(operation), get_caller(operation, tenant)
    longest = tenant.api.get(path, caller=caller, query={"limit": 100})
    assert ("Link" in longest.headers) is (longest.json["nextCursor"] is not None)
    first = call_operation(operation, tenant, query={"limit": 2})
    link, relation = first.headers["Link"].split("; ")
    cursor = first.json["nextCursor"]
    assert relation == 'rel="next"'
    assert f"cursor={cursor}" in link
    assert "limit=2" in link
    altered = ("A" if cursor[20] != "A" else "B").join((cursor[:20], cursor[21:]))
    invalid = (altered, cursor[:-4], f"{cursor}AAAA", "nonsense", "%00", "é")
    assert_cursors_are_rejected(operation, tenant, *invalid)


@pytest.mark.parametrize("count", [2, pytest.param(len(LISTS) - 1, marks=pytest.mark.exhaustive)])
@parametrize_operations(lambda o: o in LISTS)
def test_a_list_rejects_the_cursors_of_others(operation, count, tenant, restore_tenant):
    restore_tenant(add_neighbours, 5)
    at = LISTS.index(operation)
    for other in [*LISTS[at + 1 :], *LISTS[:at]][:count]:
        if other.id not in _cursors:
            _cursors[other.id] = call_operation(other, tenant, query={"limit": 1}).json["nextCursor"]
        assert_cursors_are_rejected(operation, tenant, _cursors[other.id])


@parametrize_operations(lambda o: o in LISTS and isinstance(o.access, RequireRole))
def test_every_id_of_a_person_in_a_list_of_an_organization_can_be_named(operation):
    model = operation.response_or_item_model
    properties = model.model_json_schema(mode="serialization")["properties"]
    texts = {
        name
        for name, schema in properties.items()
        if any(each.get("type") == "string" and "enum" not in each for each in schema.get("anyOf", [schema]))
    }
    ids = {name for name in texts if name.endswith(("By", "userId"))}
    assert ids == {to_camel(name) for name in principal_id_fields(model)}


@parametrize_operations(lambda o: o.can_include_names)
def test_a_list_names_people_only_if_requested(operation, tenant):
    plain = call_operation(operation, tenant).json
    named = call_operation(operation, tenant, query={"include": "names"}).json
    fields = principal_id_fields(operation.response_or_item_model)
    ids = {item[to_camel(name)] for item in named["items"] for name in fields} - {None}
    assert "names" not in plain
    assert named["items"] == plain["items"]
    assert named["names"]
    assert named["names"].keys() <= ids
    assert {frozenset(name) for name in named["names"].values()} == {frozenset({"type", "name", "username"})}
