"""The generation of OpenAPI from declarations, on fictitious operations."""

from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from chalicelib.entrypoints.openapi import build_document_for
from chalicelib.entrypoints.openapi.examples import example_for_schema, example_uuid
from chalicelib.kernel.http.fields import Name, Slug, Uuid, pattern_validator_and_schema
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, RecordOutput
from chalicelib.kernel.operations.access_rules import (
    Caller,
    ContainerLocation,
    ContainerReference,
    RequireRecordToken,
    RequireRole,
)
from chalicelib.kernel.operations.deprecation import Deprecation
from chalicelib.kernel.operations.results import ListPage, RawResponse, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import KINDS, Container, Entity


class GardenOut(RecordOutput):
    """A garden."""

    name: str
    light: Literal["sun", "shade"] | None


class ToolIn(Input):
    """A tool of a garden."""

    title: Name = Field(examples=["Spade"])
    details: dict[str, str] = Field({}, examples=[{"title": "Ash handle"}])


class GardenCreate(Input):
    """A new garden."""

    name: Name
    slug: Slug | None = None
    beds: int = 2
    walled: bool = False
    tools: list[ToolIn] = Field([])


class GardenPatch(Patch):
    """What of a garden can be changed."""

    name: Name
    light: Literal["sun"] | None = None
    beds: int = 2
    gate: Literal["open", "shut"] = "shut"


class Garden(Container):
    kind, parameter = "garden", "garden_id"
    pk, sk = "G#{id}", "#"
    output_model = GardenOut


class PlantOut(RecordOutput):
    """A plant."""

    garden_id: Uuid


class Plant(Entity):
    kind, parameter, id_field = "plant", "plant_name", "name"
    parameter_pattern = "^[a-z]+$"
    pk, sk = "G#{garden_id}", "P#{name}"
    output_model = PlantOut


del KINDS["garden"], KINDS["plant"]  # Other tests must not find them.


class PlantsQuery(ListQuery):
    """Which plants."""

    light: Literal["sun", "shade"] | None = Field(None, description="Only those.")
    role: Role | None = Field(None, description="Only those that it tends.")
    year: int


def require_garden_role(role: Role, location: ContainerLocation = ContainerReference.PATH_ID) -> RequireRole:
    return RequireRole(Garden, role, location)


def document_operation(
    function: Callable[..., Any], method: str, path: str, access: Any = Caller.PUBLIC, **options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the documentation of an operation, and the document."""
    group = RouteGroup("sites")
    getattr(group, method)(path, access=access, **{"scope": None, "emits": None, **options})(function)
    document = build_document_for(group.operations)
    return document["paths"][path][method], document


def event_content(document: dict[str, Any], event: str) -> Any:
    """Return the schema and the example of an event's message."""
    return document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]


def create_garden(_ctx: object, body: GardenCreate) -> GardenOut:
    """Create a garden.

    Gardens are few: more than that answers `limit_exceeded`, too often `rate_limited`; `soil` is no problem.
    """
    raise NotImplementedError(body)


def update_garden(_ctx: object, garden: Garden, body: GardenPatch) -> GardenOut:
    """Change a garden."""
    raise NotImplementedError(garden, body)


def remove_plant(_ctx: object, plant: Plant) -> None:
    """Remove a plant."""
    raise NotImplementedError(plant)


def list_plants(_ctx: object, query: PlantsQuery) -> ListPage[PlantOut]:
    """List plants."""
    raise NotImplementedError(query)


def test_a_creation_documents_its_location_and_the_problems_in_its_docstring():
    operation, document = document_operation(create_garden, "post", "/gardens", Caller.USER, emits="garden.created")
    assert operation["summary"] == "Create a garden"
    assert operation["description"].startswith("Gardens are few")
    assert operation["description"].endswith("**Access:** `user` (users, by their token). **Event:** `garden.created`.")
    assert operation["security"] == [{"userToken": []}]
    assert {"ETag", "Location", "Idempotency-Replayed"} <= set(operation["responses"]["201"]["headers"])
    assert {"409", "429"} <= set(operation["responses"])
    assert not {"404", "410", "412"} & set(operation["responses"])
    body = operation["requestBody"]
    assert body["required"]
    assert body["content"]["application/json"]["example"] == {
        "name": "Analytical Engines",
        "slug": "analytical-engines",
        "beds": 2,
        "walled": False,
        "tools": [{"title": "Spade", "details": {"title": "Ash handle"}}],
    }
    fields = document["components"]["schemas"]["GardenCreate"]["properties"]
    assert fields["beds"] == {"type": ["integer", "null"], "description": "The default is `2`."}
    assert "null" not in fields["name"]["type"]
    data = event_content(document, "garden.created")["schema"]["properties"]["data"]
    assert data == {"$ref": "#/components/schemas/Garden"}


def test_a_deprecated_operation_is_documented_as_such_with_its_headers():
    deprecation = Deprecation(date(2026, 12, 1), date(2027, 6, 1), "Use another garden.")
    operation, _ = document_operation(create_garden, "post", "/gardens", Caller.USER, deprecation=deprecation)
    assert operation["deprecated"] is True
    first = "**Deprecated** since 2026-12-01, and removed on 2027-06-01. Use another garden."
    assert operation["description"].startswith(first)
    assert {"Deprecation", "Sunset"} <= set(operation["responses"]["201"]["headers"])


def test_the_fields_of_a_patch_are_optional_and_null_means_the_default():
    access, events = require_garden_role(Role.ADMIN), ("garden.updated", "garden.restored")
    operation, document = document_operation(
        update_garden, "patch", "/gardens/{garden_id}", access, scope="gardens:write", emits=events
    )
    schema = document["components"]["schemas"]["GardenPatch"]
    assert "required" not in schema
    assert schema["properties"].pop("name")["type"] == "string"
    assert schema["properties"] == {
        "light": {"anyOf": [{"type": "string", "const": "sun"}, {"type": "null"}]},
        "beds": {"type": ["integer", "null"]},
        "gate": {"anyOf": [{"title": "Gate", "type": "string", "enum": ["open", "shut"]}, {"type": "null"}]},
    }
    assert operation["requestBody"]["required"], "a patch of a record needs a body"
    assert "application/merge-patch+json" in operation["requestBody"]["content"]
    assert operation["security"] == [{"userToken": []}, {"apiKey": []}]
    assert operation["x-atrium-scope"] == "gardens:write"
    assert operation["x-atrium-access"] == "garden:admin"
    assert "**Access:** `garden:admin` (role admin or higher in the garden); an API key" in operation["description"]
    assert operation["x-atrium-event"] == "garden.updated"
    assert operation["x-atrium-other-events"] == ["garden.restored"]
    assert {"404", "412", "413", "415", "422"} <= set(operation["responses"])


def test_an_event_of_an_operation_without_a_response_body_has_the_record_of_the_path():
    path, access = "/gardens/{garden_id}/plants/{plant_name}", require_garden_role(Role.EDITOR)
    operation, document = document_operation(
        remove_plant, "delete", path, access, scope="gardens:write", emits="plant.removed"
    )
    assert event_content(document, "plant.removed")["example"]["data"]["gardenId"] == example_uuid("Garden")
    patterns = {p["name"]: p["schema"] for p in operation["parameters"] if "name" in p}
    assert patterns["plant_name"] == {"type": "string", "pattern": "^[a-z]+$"}
    assert patterns["garden_id"]["format"] == "uuid"
    assert "content" not in operation["responses"]["204"]


def test_an_event_of_several_record_types_has_a_union():
    group = RouteGroup("sites")
    group.post("/gardens", access=Caller.USER, scope=None, emits="green.made")(create_garden)
    group.get("/plants", access=Caller.PUBLIC, scope=None, emits="green.made")(list_plants)
    data = event_content(build_document_for(group.operations), "green.made")["schema"]["properties"]["data"]
    assert data["anyOf"] == [{"$ref": f"#/components/schemas/{name}"} for name in ("Garden", "Plant")]


def test_an_event_without_a_public_record_has_any_object():
    def sow() -> None:
        """Sow what is at hand."""

    _, document = document_operation(sow, "post", "/sow", Caller.USER, emits="seed.sown")
    body = event_content(document, "seed.sown")
    assert (body["schema"]["properties"]["data"], body["example"]["data"]) == ({"type": "object"}, {})


def test_a_list_documents_its_query_without_null_and_without_examples():
    operation, document = document_operation(list_plants, "get", "/plants")
    parameters = {p["name"]: p for p in operation["parameters"] if "name" in p}
    assert parameters["limit"]["schema"] == {"type": "integer", "default": 25, "minimum": 1, "maximum": 100}
    assert parameters["light"]["schema"] == {"type": "string", "enum": ["sun", "shade"]}
    assert parameters["light"]["description"] == "Only those."
    assert parameters["role"]["schema"]["enum"] == ["member", "editor", "admin", "owner"]
    assert parameters["year"]["required"]
    assert "required" not in parameters["limit"]
    assert operation["security"] == []
    assert operation["responses"]["200"]["content"]["application/json"]["example"]["nextCursor"] is None
    assert document["components"]["schemas"]["PlantList"]["required"] == ["items", "nextCursor"]


def test_an_operation_that_may_redirect_documents_304_and_301():
    def get_garden(garden: Garden) -> GardenOut | Redirect:
        """Get a garden by its slug."""
        raise NotImplementedError(garden)

    access = require_garden_role(Role.MEMBER, ContainerReference.PATH_SLUG)
    operation, document = document_operation(get_garden, "get", "/gardens/by-slug/{slug}", access)
    header_names = {"API-Version", "ETag", "Ignored-Parameters", "Preference-Applied"}
    header_names |= {"RateLimit", "RateLimit-Policy", "X-Request-Id"}
    assert set(operation["responses"]["304"]["headers"]) == header_names
    assert "Location" in operation["responses"]["301"]["headers"]
    assert operation["parameters"][0]["schema"]["pattern"].startswith("^[a-z0-9]")
    assert {"$ref": "#/components/parameters/IfNoneMatch"} in operation["parameters"]
    assert document["components"]["schemas"]["Garden"]["required"][-1] == "light"


def test_a_raw_response_documents_its_media_types():
    def get_plan(
        plan: Annotated[str, *pattern_validator_and_schema("^[a-z]$", "")],
    ) -> Annotated[RawResponse, "text/html", "image/svg+xml"]:
        """Get a garden's plan."""
        raise NotImplementedError(plan)

    operation, _ = document_operation(get_plan, "get", "/plans/{plan}")
    assert set(operation["responses"]["200"]["content"]) == {"text/html", "image/svg+xml"}
    assert operation["parameters"][0]["schema"] == {"type": "string", "pattern": "^[a-z]$"}


def test_two_models_with_one_name_are_rejected():
    other = type("Garden", (Output,), {"__doc__": "Another garden."})

    def get_other() -> Output:
        """Get another garden."""
        raise NotImplementedError

    get_other.__annotations__["return"] = other

    group = RouteGroup("sites")
    group.get("/other", access=Caller.PUBLIC, scope=None, emits=None)(get_other)
    group.post("/gardens", access=Caller.USER, scope=None, emits="garden.created")(create_garden)
    with pytest.raises(ValueError, match="Two models are called Garden"):
        build_document_for(group.operations)


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ({"type": "string", "examples": [None]}, None),
        ({"type": ["string", "null"], "format": "email"}, "ada@example.com"),
        ({"type": "array", "items": {"enum": ["read", "write"]}}, ["read"]),
        ({"type": "boolean"}, True),
        ({"type": "boolean", "default": False}, False),
        ({"type": "integer", "minimum": 7}, 7),
        ({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Colour"}]}, "red"),
        (
            {"type": "object", "properties": {"gardenId": {"format": "uuid", "type": "string"}}},
            {"gardenId": example_uuid("Garden")},
        ),
    ],
)
def test_an_example_is_derived_from_its_schema(schema, example):
    assert example_for_schema(schema, {"Colour": {"type": "string", "const": "red"}}) == example


def test_a_string_with_a_pattern_requires_an_example():
    with pytest.raises(LookupError, match=r"Plant\.latin has no example"):
        example_for_schema({"properties": {"latin": {"type": "string", "pattern": "^[A-Z]"}}}, {}, model_name="Plant")


def test_a_record_token_header_is_documented_and_required_if_the_path_names_a_record():
    rule = RequireRecordToken("plant-token", "Plant-Token", str)
    deletion, document = document_operation(remove_plant, "delete", "/plants/{plant_name}", rule, emits="plant.removed")
    listing, _ = document_operation(list_plants, "get", "/plants", rule)
    for operation, is_required in ((deletion, True), (listing, False)):
        (header,) = [parameter for parameter in operation["parameters"] if parameter.get("name") == "Plant-Token"]
        assert (header["in"], header["required"]) == ("header", is_required)
    assert deletion["x-atrium-access"] == "plant-token"
    assert deletion["security"] == []
    assert "404" in deletion["responses"]
    assert document["tags"]
