"""Conventions of the interface that every operation follows."""

from collections import defaultdict
from typing import Final

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import add_neighbours, call_operation, get_caller, get_example
from tests.harness.conformance import openapi_document
from tests.harness.parametrize_operations import parametrize_operations

READABLE_OR_BROWSER_HEADERS: Final = {
    "cache-control",
    "content-length",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "referrer-policy",
    "vary",
    "x-content-type-options",
    "x-frame-options",
    "x-robots-tag",
}
"""Headers that pages of other origins may read without CORS, or that are for browsers and crawlers only."""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
OPERATIONS_BY_PATH: Final[dict[str, list[Operation]]] = defaultdict(list)
for each in all_operations():
    OPERATIONS_BY_PATH[each.path].append(each)


def body_field_names(operation: Operation, *, required: bool = False) -> list[str]:
    """Return the names of the fields of an operation's body, or only of the required ones."""
    fields = operation.body_model.model_fields if operation.body_model else {}
    return [field.alias or name for name, field in fields.items() if field.is_required() or not required]


by_path = pytest.mark.parametrize("path", OPERATIONS_BY_PATH)
LISTS_WITH_AT_MOST_ONE_ITEM: Final = ("list_public_leads",)
"""Lists with at most one item, the record that the token gives access to. They have no second page."""
_cursors: Final[dict[str, str]] = {}
LISTS: Final = [
    o for o in all_operations() if o.is_list and o.method == "GET" and o.id not in LISTS_WITH_AT_MOST_ONE_ITEM
]


@parametrize_operations()
class TestEveryOperation:
    def test_ignores_unknown_query_parameters(self, operation, tenant):
        assert call_operation(operation, tenant, query={"utm_source": "post", "sheet": "7"}).status == operation.success

    def test_accepts_the_known_version_and_rejects_others(self, operation, tenant):
        assert (
            call_operation(operation, tenant, headers={"API-Version": "1999-12-31"}).status_and_code
            == "400 unknown_api_version"
        )
        assert call_operation(operation, tenant, headers={"API-Version": API_VERSION}).status == operation.success

    def test_lets_browsers_read_its_response(self, operation, tenant):
        answer = call_operation(operation, tenant, headers={"Origin": "https://app.example"})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers
        exposed = {name.strip() for name in answer.headers["Access-Control-Expose-Headers"].split(",")}
        assert {"ETag", "Link", "Location", "X-Request-Id", "Retry-After"} <= exposed
        response_headers = {
            name for name in answer.headers if not name.startswith("access-control-")
        } - READABLE_OR_BROWSER_HEADERS
        assert response_headers <= {name.lower() for name in exposed}


@parametrize_operations(lambda o: o.method in ("GET", "DELETE"))
def test_an_unexpected_body_is_ignored(operation, tenant):
    assert call_operation(operation, tenant, body=b"\xff{nonsense").status == operation.success


@parametrize_operations(lambda o: o.method in ("POST", "PUT", "PATCH") and o.body_model is None)
def test_an_empty_body_is_optional(operation, tenant):
    assert call_operation(operation, tenant, json=None).status == operation.success


@parametrize_operations(lambda o: o.body_model and not issubclass(o.body_model, Patch))
class TestEveryBodyExceptPatches:
    def test_accepts_null_for_optional_fields(self, operation, tenant):
        body = {**dict.fromkeys(body_field_names(operation)), **(get_example(operation, tenant).body or {})}
        assert call_operation(operation, tenant, json=body).status == operation.success

    def test_rejects_null_for_other_fields(self, operation, tenant):
        required = set(body_field_names(operation, required=True))
        response = call_operation(operation, tenant, json=dict.fromkeys([*body_field_names(operation), "colour"]))
        assert response.status_and_code == "422 validation_failed"
        assert {"/colour", *(f"/{name}" for name in required)} == set(response.errors)
        assert response.errors["/colour"] == "unknown_field"

    def test_documents_nullable_fields_in_its_schema(self, operation):
        assert operation.body_model
        schema = {
            "components": openapi_document()["components"],
            **openapi.schemas.schema_reference(operation.body_model.__name__),
        }
        fields = openapi_document()["components"]["schemas"][operation.body_model.__name__]["properties"]
        assert set(fields) == set(body_field_names(operation))
        errors = Draft202012Validator(schema).iter_errors(dict.fromkeys(fields))
        assert {error.path[0] for error in errors} == set(body_field_names(operation, required=True))


@parametrize_operations(lambda o: o.body_model)
def test_a_body_field_in_the_query_is_rejected(operation, tenant):
    in_query = (
        {field.alias or name for name, field in operation.query_model.model_fields.items()}
        if operation.query_model
        else ()
    )
    names = [name for name in body_field_names(operation) if name not in in_query]
    response = call_operation(operation, tenant, query=dict.fromkeys(names, "x"))
    assert response.status_and_code == "422 validation_failed"
    assert response.errors == {f"query/{name}": "misplaced" for name in names}


@by_path
class TestEveryPath:
    def test_rejects_other_methods(self, path, api):
        own_methods = [operation.method for operation in OPERATIONS_BY_PATH[path]]
        for method in (method for method in METHODS if method not in own_methods):
            response = api.request(method, path.format_map(defaultdict(lambda: "x")))
            assert response.status_and_code == "405 method_not_allowed"
            assert {name.strip() for name in response.headers["Allow"].split(",")} == set(own_methods)

    def test_responds_to_preflight_requests(self, path, api):
        request_headers = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": OPERATIONS_BY_PATH[path][0].method,
        }
        answer = api.request("OPTIONS", path.format_map(defaultdict(lambda: "x")), headers=request_headers)
        assert answer.status == 204
        allowed = {name.strip() for name in answer.headers["Access-Control-Allow-Methods"].split(",")}
        assert allowed == {*(operation.method for operation in OPERATIONS_BY_PATH[path]), "OPTIONS"}
        accepted = {name.strip().lower() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
        assert {"authorization", "content-type", "idempotency-key", "if-match", "if-none-match"} <= accepted


@parametrize_operations(lambda o: o in LISTS or o.id in LISTS_WITH_AT_MOST_ONE_ITEM)
@pytest.mark.parametrize("limit", ["0", "101", "-1", "many", ""])
def test_a_list_rejects_an_invalid_limit(operation, limit, tenant):
    response = call_operation(operation, tenant, query={"limit": limit})
    assert response.status_and_code == "422 validation_failed"
    assert list(response.errors) == ["query/limit"]


@parametrize_operations(lambda o: o.id in LISTS_WITH_AT_MOST_ONE_ITEM)
class TestEveryListWithAtMostOneItem:
    def test_has_one_item_and_no_second_page(self, operation, tenant, restore_tenant):
        restore_tenant(add_neighbours, 5)
        answer = call_operation(operation, tenant, query={"limit": 1})
        assert len(answer.json["items"]) == 1
        assert answer.json["nextCursor"] is None
        assert "Link" not in answer.headers

    def test_rejects_every_cursor(self, operation, tenant):
        assert call_operation(operation, tenant, query={"cursor": "nonsense"}).status_and_code == "400 invalid_cursor"


@parametrize_operations(lambda o: o in LISTS)
class TestEveryList:
    def test_contains_each_item_once_in_one_order_with_every_page_size(self, operation, tenant, restore_tenant):
        restore_tenant(add_neighbours, 5)
        path, caller = get_example(operation, tenant).get_path(operation), get_caller(operation, tenant)
        first = tenant.api.get(path, caller=caller, query={"limit": 100})
        assert ("Link" in first.headers) == (first.json["nextCursor"] is not None)
        all_items = tenant.api.get_items(path, caller=caller, query={"limit": 100})
        assert len(all_items) >= 5
        for limit in (1, 3):
            pages = tenant.api.get_pages(path, caller=caller, query={"limit": limit})
            assert all(len(page["items"]) <= limit for page in pages)
            assert [item for page in pages for item in page["items"]] == all_items

    def test_links_to_its_next_page(self, operation, tenant, restore_tenant):
        restore_tenant(add_neighbours, 5)
        first = call_operation(operation, tenant, query={"limit": 2})
        link, relation = first.headers["Link"].split("; ")
        assert relation == 'rel="next"'
        assert f"cursor={first.json['nextCursor']}" in link
        assert "limit=2" in link

    def test_rejects_an_altered_cursor(self, operation, tenant, restore_tenant):
        restore_tenant(add_neighbours, 5)
        cursor = call_operation(operation, tenant, query={"limit": 1}).json["nextCursor"]
        altered = ("A" if cursor[20] != "A" else "B").join((cursor[:20], cursor[21:]))
        for invalid in (altered, cursor[:-4], f"{cursor}AAAA", "nonsense", "%00", "é"):
            response = call_operation(operation, tenant, query={"limit": 1, "cursor": invalid})
            assert response.status_and_code == "400 invalid_cursor"
            assert list(response.errors) == ["query/cursor"]


@parametrize_operations(lambda o: o in LISTS)
def test_a_list_rejects_the_cursor_of_another(operation, tenant, restore_tenant):
    restore_tenant(add_neighbours, 5)
    for other in (other for other in LISTS if other is not operation):
        if other.id not in _cursors:
            _cursors[other.id] = call_operation(other, tenant, query={"limit": 1}).json["nextCursor"]
        response = call_operation(operation, tenant, query={"limit": 1, "cursor": _cursors[other.id]})
        assert response.status_and_code == "400 invalid_cursor", other.id
