import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import events
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded


@pytest.fixture
def listed(api: Api) -> dict[str, dict[str, Any]]:
    """The types of events as anybody finds them."""
    return {item["type"]: item for item in api.items("/event-types")}


def test_every_event_is_listed_with_what_it_says(listed: dict[str, dict[str, Any]]) -> None:
    assert list(listed) == events()
    assert {name: item["description"] for name, item in listed.items()} == {
        name: event_type.description for name, event_type in EVENT_TYPES.items()
    }


def test_every_example_is_what_its_schema_says(listed: dict[str, dict[str, Any]]) -> None:
    for item in listed.values():
        Draft202012Validator.check_schema(item["schema"])
        whole = {**item["schema"], "unevaluatedProperties": False}
        faults = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
        assert [fault.message for fault in faults.iter_errors(item["example"])] == [], item["type"]
        assert list(faults.iter_errors({})), f"the schema of {item['type']} takes anything"


def test_every_schema_stands_alone(listed: dict[str, dict[str, Any]]) -> None:
    for item in listed.values():
        text = json.dumps(item["schema"])
        assert "#/components" not in text
        assert all(f'"#/$defs/{name}"' in text for name in item["schema"]["$defs"])


def test_they_are_those_of_the_document(listed: dict[str, dict[str, Any]]) -> None:
    for name, path in openapi.document()["webhooks"].items():
        content = path["post"]["requestBody"]["content"]["application/json"]
        assert path["post"]["description"] == listed[name]["description"]
        assert content["example"]["data"] == listed[name]["example"]


def test_what_happens_is_as_its_schema_says(
    api: Api, organization: Founded, ada: Person, listed: dict[str, dict[str, Any]]
) -> None:
    api.patch(organization.path, as_=ada, json={"name": "Looms"})
    (entry,) = log_of(api, organization, type="organization.updated")
    schema = listed["organization.updated"]["schema"]
    assert list(Draft202012Validator(schema).iter_errors(entry["data"])) == []
    assert list(Draft202012Validator(schema).iter_errors({**entry["data"], "status": "lost"}))


def test_the_list_goes_on_for_whoever_moves_to_another_network(api: Api, ada: Person) -> None:
    first = api.get("/event-types", query={"limit": 100}).json
    rest = {"limit": 100, "cursor": first["nextCursor"]}
    second = api.get("/event-types", query=rest, ip="198.51.100.9").json
    assert [item["type"] for item in [*first["items"], *second["items"]]] == events()
    assert second["nextCursor"] is None
    assert api.get("/event-types", query=rest, as_=ada).json == second
