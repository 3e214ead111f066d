"""The public list of event types, with their schemas and examples."""

import json

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import event_names
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from tests.harness.audit_logs import list_entries
from tests.harness.webhooks import UPDATED


@pytest.fixture
def listed_event_types(api):
    """The event types of the public list, by name."""
    return {item["type"]: item for item in api.get_items("/event-types")}


def test_every_event_type_is_listed_with_its_description(listed_event_types):
    assert list(listed_event_types) == event_names()
    descriptions = {name: event_type.description for name, event_type in EVENT_TYPES.items()}
    assert {name: item["description"] for name, item in listed_event_types.items()} == descriptions
    for name, path in openapi.build_document()["webhooks"].items():
        content = path["post"]["requestBody"]["content"]["application/json"]
        assert path["post"]["description"] == descriptions[name]
        assert content["example"]["data"] == listed_event_types[name]["example"]


def test_every_schema_is_self_contained_and_matches_its_example(listed_event_types):
    for item in listed_event_types.values():
        Draft202012Validator.check_schema(item["schema"])
        text = json.dumps(item["schema"])
        assert "#/components" not in text
        assert all(f'"#/$defs/{name}"' in text for name in item["schema"]["$defs"])
        closed_schema = {**item["schema"], "unevaluatedProperties": False}
        validator = Draft202012Validator(closed_schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        assert [error.message for error in validator.iter_errors(item["example"])] == [], item["type"]
        assert list(validator.iter_errors({})), f"the schema of {item['type']} accepts anything"


def test_a_real_event_matches_its_schema(api, organization, rename, listed_event_types):
    rename("Looms")
    (entry,) = list_entries(api, organization, type=UPDATED)
    validator = Draft202012Validator(listed_event_types[UPDATED]["schema"])
    assert list(validator.iter_errors(entry["data"])) == []
    assert list(validator.iter_errors({**entry["data"], "status": "lost"}))


def test_a_cursor_is_valid_from_another_network_and_for_a_user(api, ada):
    first = api.get("/event-types", query={"limit": 100}).json
    rest = {"limit": 100, "cursor": first["nextCursor"]}
    second = api.get("/event-types", query=rest, ip="198.51.100.9").json
    assert [item["type"] for item in [*first["items"], *second["items"]]] == event_names()
    assert second["nextCursor"] is None
    assert api.get("/event-types", query=rest, caller=ada).json == second
