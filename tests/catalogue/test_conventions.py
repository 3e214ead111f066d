"""What every operation does alike, whatever it is about."""

from collections import defaultdict
from typing import Final

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import caller_of, crowd, example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness.api import Api
from tests.harness.by_operation import by_operation
from tests.harness.conformance import document

FOR_BROWSERS: Final = {
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
"""Headers that a page of another origin may read anyway, or that are for the browser itself, or for crawlers."""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
AT_PATH: Final[dict[str, list[Operation]]] = defaultdict(list)
for each in operations():
    AT_PATH[each.path].append(each)


def names_of(operation: Operation, *, required: bool = False) -> list[str]:
    """Return the fields of an operation's body, or only those that it can't do without."""
    fields = operation.body.model_fields if operation.body else {}
    return [field.alias or name for name, field in fields.items() if field.is_required() or not required]


by_path = pytest.mark.parametrize("path", AT_PATH)
ONE_AT_MOST: Final = ("list_public_leads",)
"""Lists of what a token opens, which is one thing: they have no second page."""
_cursors: Final[dict[str, str]] = {}
LISTS: Final = [o for o in operations() if o.is_list and o.method == "GET" and o.id not in ONE_AT_MOST]


@by_operation()
class TestEveryOperation:
    def test_ignores_what_it_does_not_know_of_a_query(self, operation: Operation, world: World) -> None:
        assert perform(operation, world, query={"utm_source": "post", "sheet": "7"}).status == operation.success

    def test_answers_a_known_version_and_refuses_others(self, operation: Operation, world: World) -> None:
        assert perform(operation, world, headers={"API-Version": "1999-12-31"}).code == "400 unknown_api_version"
        assert perform(operation, world, headers={"API-Version": API_VERSION}).status == operation.success

    def test_lets_a_browser_read_its_answer(self, operation: Operation, world: World) -> None:
        answer = perform(operation, world, headers={"Origin": "https://app.example"})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers
        exposed = {name.strip() for name in answer.headers["Access-Control-Expose-Headers"].split(",")}
        assert {"ETag", "Link", "Location", "X-Request-Id", "Retry-After"} <= exposed
        told = {name for name in answer.headers if not name.startswith("access-control-")} - FOR_BROWSERS
        assert told <= {name.lower() for name in exposed}


@by_operation(lambda o: o.method in ("GET", "DELETE"))
def test_a_body_where_none_belongs_is_ignored(operation: Operation, world: World) -> None:
    assert perform(operation, world, body=b"\xff{nonsense").status == operation.success


@by_operation(lambda o: o.method in ("POST", "PUT", "PATCH") and o.body is None)
def test_no_body_is_taken_for_an_empty_one(operation: Operation, world: World) -> None:
    assert perform(operation, world, json=None).status == operation.success


@by_operation(lambda o: o.body and not issubclass(o.body, Patch))
class TestEveryBodyThatIsNoPatch:
    def test_takes_null_for_what_may_be_left_out(self, operation: Operation, world: World) -> None:
        sent = {**dict.fromkeys(names_of(operation)), **(example_of(operation, world).body or {})}
        assert perform(operation, world, json=sent).status == operation.success

    def test_takes_null_for_nothing_else(self, operation: Operation, world: World) -> None:
        required = set(names_of(operation, required=True))
        refused = perform(operation, world, json=dict.fromkeys([*names_of(operation), "colour"]))
        assert refused.code == "422 validation_failed"
        assert {"/colour", *(f"/{name}" for name in required)} == set(refused.faults)
        assert refused.faults["/colour"] == "unknown_field"

    def test_says_so_in_its_schema(self, operation: Operation) -> None:
        assert operation.body
        schema = {"components": document()["components"], **openapi.schemas.reference(operation.body.__name__)}
        fields = document()["components"]["schemas"][operation.body.__name__]["properties"]
        assert set(fields) == set(names_of(operation))
        faults = Draft202012Validator(schema).iter_errors(dict.fromkeys(fields))
        assert {fault.path[0] for fault in faults} == set(names_of(operation, required=True))


@by_operation(lambda o: o.body)
def test_a_field_of_the_body_that_stands_in_the_query_is_not_passed_over(operation: Operation, world: World) -> None:
    in_query = {field.alias or name for name, field in operation.query.model_fields.items()} if operation.query else ()
    names = [name for name in names_of(operation) if name not in in_query]
    refused = perform(operation, world, query=dict.fromkeys(names, "x"))
    assert refused.code == "422 validation_failed"
    assert refused.faults == {f"query/{name}": "misplaced" for name in names}


@by_path
class TestEveryPath:
    def test_refuses_methods_it_does_not_have(self, path: str, api: Api) -> None:
        has = [operation.method for operation in AT_PATH[path]]
        for method in (method for method in METHODS if method not in has):
            refused = api.request(method, path.format_map(defaultdict(lambda: "x")))
            assert refused.code == "405 method_not_allowed"
            assert {name.strip() for name in refused.headers["Allow"].split(",")} == set(has)

    def test_answers_a_browser_that_asks_first(self, path: str, api: Api) -> None:
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": AT_PATH[path][0].method}
        answer = api.request("OPTIONS", path.format_map(defaultdict(lambda: "x")), headers=asked)
        assert answer.status == 204
        allowed = {name.strip() for name in answer.headers["Access-Control-Allow-Methods"].split(",")}
        assert allowed == {*(operation.method for operation in AT_PATH[path]), "OPTIONS"}
        accepted = {name.strip().lower() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
        assert {"authorization", "content-type", "idempotency-key", "if-match", "if-none-match"} <= accepted


@by_operation(lambda o: o in LISTS or o.id in ONE_AT_MOST)
@pytest.mark.parametrize("limit", ["0", "101", "-1", "many", ""])
def test_a_list_refuses_a_limit_that_is_none(operation: Operation, limit: str, world: World) -> None:
    refused = perform(operation, world, query={"limit": limit})
    assert refused.code == "422 validation_failed"
    assert list(refused.faults) == ["query/limit"]


@by_operation(lambda o: o.id in ONE_AT_MOST)
class TestEveryListOfOne:
    def test_holds_it_and_has_no_second_page(self, operation: Operation, world: World, begin: Begin) -> None:
        begin(crowd, 5)
        answer = perform(operation, world, query={"limit": 1})
        assert len(answer.json["items"]) == 1
        assert answer.json["nextCursor"] is None
        assert "Link" not in answer.headers

    def test_refuses_a_cursor_since_it_hands_out_none(self, operation: Operation, world: World) -> None:
        assert perform(operation, world, query={"cursor": "nonsense"}).code == "400 invalid_cursor"


@by_operation(lambda o: o in LISTS)
class TestEveryList:
    def test_holds_each_item_once_in_one_order_whatever_the_page(
        self, operation: Operation, world: World, begin: Begin
    ) -> None:
        begin(crowd, 5)
        path, caller = example_of(operation, world).path(operation), caller_of(operation, world)
        first = world.api.get(path, as_=caller, query={"limit": 100})
        assert ("Link" in first.headers) == (first.json["nextCursor"] is not None)
        whole = world.api.items(path, as_=caller, query={"limit": 100})
        assert len(whole) >= 5
        for limit in (1, 3):
            pages = world.api.pages(path, as_=caller, query={"limit": limit})
            assert all(len(page["items"]) <= limit for page in pages)
            assert [item for page in pages for item in page["items"]] == whole

    def test_links_to_its_next_page(self, operation: Operation, world: World, begin: Begin) -> None:
        begin(crowd, 5)
        first = perform(operation, world, query={"limit": 2})
        link, relation = first.headers["Link"].split("; ")
        assert relation == 'rel="next"'
        assert f"cursor={first.json['nextCursor']}" in link
        assert "limit=2" in link

    def test_refuses_a_cursor_that_was_altered(self, operation: Operation, world: World, begin: Begin) -> None:
        begin(crowd, 5)
        cursor = perform(operation, world, query={"limit": 1}).json["nextCursor"]
        swapped = ("A" if cursor[20] != "A" else "B").join((cursor[:20], cursor[21:]))
        for wrong in (swapped, cursor[:-4], f"{cursor}AAAA", "nonsense", "%00", "é"):
            refused = perform(operation, world, query={"limit": 1, "cursor": wrong})
            assert refused.code == "400 invalid_cursor"
            assert list(refused.faults) == ["query/cursor"]


@by_operation(lambda o: o in LISTS)
def test_a_list_refuses_the_cursor_of_another(operation: Operation, world: World, begin: Begin) -> None:
    begin(crowd, 5)
    for other in (other for other in LISTS if other is not operation):
        if other.id not in _cursors:
            _cursors[other.id] = perform(other, world, query={"limit": 1}).json["nextCursor"]
        refused = perform(operation, world, query={"limit": 1, "cursor": _cursors[other.id]})
        assert refused.code == "400 invalid_cursor", other.id
