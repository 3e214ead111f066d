"""Event types of the application: declaring them, their versions, and who sees them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from chalicelib.features.events.types.entities import EventType
from chalicelib.features.events.types.logic import definitions
from chalicelib.features.events.types.models import MAX_VERSIONS
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 0}},
    "examples": [{"amount": 5}],
}
OTHER_SCHEMA: Final = {**SCHEMA, "required": ["amount"]}
BODY: Final[dict[str, Any]] = {
    "description": "An invoice was approved.",
    "sentence": "{actor} approved {target} over {data.amount}.",
    "schema": SCHEMA,
}


@pytest.fixture
def put(api: ApiClient, operator: Person) -> Callable[..., ApiResponse]:
    """A function that declares an event type with some fields."""

    def put(name: str = "invoice.approved", /, **fields: Any) -> ApiResponse:
        options = {key: fields.pop(key) for key in ("caller", "headers") if key in fields}
        return api.put(f"/event-types/{name}", json={**BODY, **fields}, **{"caller": operator, **options})

    return put


def pointers(response: ApiResponse) -> list[str]:
    code, pointers = response.problem_and_pointers
    assert code == "422 validation_failed"
    return pointers


class TestDeclaring:
    def test_the_first_declaration_creates_the_type_at_its_path(self, api, operator, put):
        created = put().expect(201)
        assert created.location.endswith("/event-types/invoice.approved")
        record = created.json
        at = record["createdAt"]
        assert record == {
            **BODY,
            "id": record["id"],
            "type": "invoice.approved",
            "deprecated": False,
            "version": 1,
            "versions": [{"version": 1, "createdAt": at}],
            "example": {"amount": 5},
            "createdAt": at,
            "updatedAt": at,
        }
        shown = api.get("/event-types/invoice.approved", caller=operator)
        assert (shown.json, shown.etag) == (record, created.etag)

    def test_an_equal_declaration_changes_nothing(self, put):
        created = put()
        assert (again := put().expect(200)).json == created.json
        assert again.etag == created.etag

    def test_only_a_change_of_the_schema_makes_a_version(self, put, clock):
        put()
        clock.shift(minutes=1)
        changed = put(sentence="{actor} did it.", deprecated=True).expect(200).json
        assert (changed["version"], changed["sentence"], changed["deprecated"]) == (1, "{actor} did it.", True)
        reordered = put(schema=dict(reversed(SCHEMA.items()))).expect(200).json
        assert reordered["version"] == 1
        assert put(schema={**SCHEMA, "default": 1}).json["version"] == 2
        assert put(schema={**SCHEMA, "default": True}).json["version"] == 3  # In Python, 1 and True are equal.

    def test_earlier_versions_stay_readable(self, api, operator, put, clock):
        put()
        clock.shift(minutes=1)
        latest = put(schema=OTHER_SCHEMA).json
        assert [each["version"] for each in latest["versions"]] == [1, 2]
        first = api.get("/event-types/invoice.approved", caller=operator, query={"version": 1}).json
        assert (first["version"], first["schema"]) == (1, SCHEMA)
        assert first["versions"] == latest["versions"]
        assert api.get("/event-types/invoice.approved", caller=operator, query={"version": 2}).json == latest
        missing = api.get("/event-types/invoice.approved", caller=operator, query={"version": 3})
        assert pointers(missing) == ["query/version"]
        impossible = api.get("/event-types/invoice.approved", caller=operator, query={"version": MAX_VERSIONS + 1})
        assert impossible.validation_errors == {"query/version": "out_of_range"}

    def test_events_can_name_an_earlier_version(self, api, ada, organization, put):
        put()
        put(schema=OTHER_SCHEMA)
        path = f"{organization.path}/events"
        earlier = api.post(path, json={"type": "invoice.approved", "version": 1, "data": {}}, caller=ada).expect(201)
        assert earlier.json["version"] == 1
        latest = api.post(path, json={"type": "invoice.approved", "data": {}}, caller=ada)
        assert latest.status == 422

    def test_concurrent_changes_get_versions_of_their_own(self, api, operator, put):
        schemas = [{**SCHEMA, "description": str(number)} for number in range(4)]
        with ThreadPoolExecutor() as pool:
            answers = [*pool.map(lambda schema: put(schema=schema), schemas)]
        assert sorted(answer.status for answer in answers) == [200, 200, 200, 201]
        assert sorted(answer.json["version"] for answer in answers) == [1, 2, 3, 4]
        for answer in answers:
            shown = api.get("/event-types/invoice.approved", caller=operator, query={"version": answer.json["version"]})
            assert shown.json["schema"] == answer.json["schema"]

    def test_only_operators_declare_types(self, put, ada):
        assert put(caller=ada).status_and_code == "403 forbidden"

    def test_a_change_with_an_outdated_tag_fails(self, put):
        tag = put().etag
        put(deprecated=True, headers={"If-Match": tag}).expect(200)
        assert put(deprecated=False, headers={"If-Match": tag}).status_and_code == "412 precondition_failed"

    def test_declarations_are_logged_without_an_organization(self, api, operator, put):
        put()
        put(schema=OTHER_SCHEMA)
        entries = [
            each
            for each in api.get_items("/system/audit-log", caller=operator)
            if each["target"]["name"] == "invoice.approved"
        ]
        assert [each["type"] for each in entries] == ["system.event_type.updated", "system.event_type.created"]
        assert [each["field"] for each in entries[0]["changes"]] == ["versions", "schema"]
        assert [each["data"]["version"] for each in entries] == [2, 1]
        assert (entries[0]["actor"]["type"], entries[1]["data"]["schema"]) == ("operator", SCHEMA)


class TestRules:
    @pytest.mark.parametrize("name", ["page.viewed", "system.started", "organization.x", "mail.a"])
    def test_the_first_words_of_built_in_types_are_reserved(self, put, name):
        response = put(name)
        assert pointers(response) == ["path/event_type"]
        assert "organization" in response.json["errors"][0]["detail"]

    @pytest.mark.parametrize("name", ["invoice", "Invoice.approved", "invoice..x", "invoice.", f"a.{'b' * 99}", "a.1"])
    def test_other_names_are_not_found(self, put, name):
        assert put(name).status == 404

    @pytest.mark.parametrize(
        "sentence", ["{actor} {who}", "{data.amont}", "{data}", "{}", "{actor", "a } b", "{{actor}}", "{actor!r}"]
    )
    def test_a_sentence_has_known_placeholders_only(self, put, sentence):
        assert {*pointers(put(sentence=sentence))} == {"/sentence"}

    @pytest.mark.parametrize(("description", "code"), [(" ", "too_short"), ("x" * 1001, "too_long")])
    def test_a_description_has_1_to_1000_characters(self, put, description, code):
        response = put(description=description)
        assert response.validation_errors == {"/description": code}
        assert "characters" in response.json["errors"][0]["detail"]

    def test_a_misspelled_property_is_suggested(self, put):
        assert "data.amount" in put(sentence="{data.amont}").json["errors"][0]["detail"]

    def test_errors_of_the_schema_have_pointers_into_it(self, put):
        response = put(sentence="{x}", schema={**SCHEMA, "$dynamicRef": "#x"})
        assert {each.partition("$")[0] for each in pointers(response)} == {"/sentence", "/schema/"}

    def test_a_schema_has_at_most_32_kib(self, put):
        assert pointers(put(schema={**SCHEMA, "description": "x" * 33_000})) == ["/schema"]
        assert put(schema={**SCHEMA, "description": "x" * 32_000}).status == 201

    def test_a_type_has_at_most_50_versions(self, put):
        for number in range(50):
            put(schema={**SCHEMA, "description": str(number)})
        assert put(schema={**SCHEMA, "description": "one more"}).status_and_code == "409 limit_exceeded"
        assert put(schema={**SCHEMA, "description": "49"}, deprecated=True).status == 200

    def test_a_deployment_has_at_most_200_types(self, put, monkeypatch):
        object.__setattr__(EventType.quota, "limit", 2)
        try:
            put("a.a").expect(201)
            put("a.b").expect(201)
            assert put("a.c").status_and_code == "409 limit_exceeded"
            put("a.b", deprecated=True).expect(200)
        finally:
            object.__setattr__(EventType.quota, "limit", 200)


class TestVisibility:
    @pytest.fixture(autouse=True)
    def _declared(self, put: Callable[..., ApiResponse]) -> None:
        for name in ("invoice.approved", "zebra.seen", "a.a"):
            put(name)

    def test_callers_with_a_credential_see_all_types_in_the_order_of_their_names(self, api, ada):
        public = [each["type"] for each in api.get_items("/event-types")]
        listed = [each["type"] for each in api.get_items("/event-types", caller=ada)]
        assert listed == sorted([*public, "a.a", "invoice.approved", "zebra.seen"])

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_pages_are_complete(self, api, ada, limit):
        names, query = [], {"limit": limit}
        for _ in range(250):
            page = api.get("/event-types", caller=ada, query=query).expect(200).json
            assert len(page["items"]) <= limit
            names += [each["type"] for each in page["items"]]
            if page["nextCursor"] is None:
                break
            query = {"limit": limit, "cursor": page["nextCursor"]}
            if limit < 3 and len(names) > 6:
                break
        assert names == sorted({*names})
        assert limit < 3 or names[-1] == "zebra.seen"

    def test_the_public_sees_built_in_types_only(self, api):
        assert api.get("/event-types/invoice.approved").status_and_code == "404 not_found"
        assert api.get("/event-types/page.exploded").status_and_code == "404 not_found"
        built_in = api.get("/event-types/page.created").expect(200).json
        assert "{actor}" in built_in["sentence"]
        assert built_in == next(each for each in api.get_items("/event-types") if each["type"] == "page.created")
        assert pointers(api.get("/event-types/page.created", query={"version": 1})) == ["query/version"]

    def test_the_names_are_read_with_one_query(self, api):
        assert definitions.list_declared_type_names() == ["a.a", "invoice.approved", "zebra.seen"]
