"""Module overrides of a space: list, set, replace, get, remove."""

from typing import Any

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import SpaceClient

PATH = "/module-overrides"


def post_override(space: SpaceClient, module_id: str, **fields: Any) -> ApiResponse:
    return space.post(PATH, {"moduleId": module_id, **fields})


def put_overrides(space: SpaceClient, *overrides: str | Json, **options: Any) -> ApiResponse:
    """Replace the overrides. A module id stands for an override without other fields."""
    items = [{"moduleId": each} if isinstance(each, str) else each for each in overrides]
    return space.put(PATH, {"overrides": items}, **options)


def list_ids(space: SpaceClient) -> list[str]:
    listed = space.get(PATH).json
    assert listed["nextCursor"] is None
    return [item["moduleId"] for item in listed["items"]]


class TestSetModuleOverride:
    def test_a_new_override_is_created(self, api, organization, space):
        answer = post_override(space, "events")
        assert (answer.status, answer.location) == (201, f"{space.path}{PATH}/events")
        fields = {n: v for n, v in answer.json.items() if n not in ("id", "createdAt", "updatedAt")}
        expected = {"version": 1, "spaceId": space.id, "moduleId": "events", "enabled": True, "settings": {}}
        assert fields == expected
        assert space.get(f"{PATH}/events").text == answer.text
        entry = list_entries(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.module_override.set", answer.json)
        assert entry["target"] == {"type": "space.module_override", "id": answer.json["id"], "name": "events"}

    def test_an_existing_override_is_changed(self, space):
        first = post_override(space, "events", enabled=False, settings={"a": 1})
        second = post_override(space, "events", settings={"b": 1})
        assert (second.status, "Location" in second.headers) == (200, False)
        changes = {"enabled": True, "settings": {"b": 1}, "version": 2, "updatedAt": second.json["updatedAt"]}
        assert second.json == {**first.json, **changes}
        assert list_ids(space) == ["events"]

    def test_setting_the_same_override_changes_nothing(self, api, organization, space):
        first = post_override(space, "events", enabled=False, settings={"a": [1]})
        log = list_entries(api, organization)
        repeated = post_override(space, "events", enabled=False, settings={"a": [1]})
        assert (repeated.status, repeated.json) == (200, first.json)
        assert list_entries(api, organization) == log
        assert space.read()["version"] == 2

    def test_invalid_fields_are_rejected(self, space):
        answer = post_override(space, "-", enabled="yes", settings={"": 1})
        assert answer.errors == {"/moduleId": "malformed", "/enabled": "wrong_type", "/settings": "malformed"}
        assert space.post(PATH, {}).errors == {"/moduleId": "required"}


class TestReplaceModuleOverrides:
    def test_the_set_is_replaced(self, space):
        put_overrides(space, {"moduleId": "feed", "enabled": False}, "events")
        answer = put_overrides(space, "jobs", {"moduleId": "events", "settings": {"a": 1}})
        assert answer.status == 200
        assert answer.json == space.get(PATH).json
        items = [(item["moduleId"], item["enabled"], item["settings"]) for item in answer.json["items"]]
        assert items == [("events", True, {"a": 1}), ("jobs", True, {})]
        assert [item["version"] for item in answer.json["items"]] == [2, 1]
        assert put_overrides(space).json == {"items": [], "nextCursor": None}

    def test_new_overrides_are_listed_in_the_given_order(self, space):
        ids = [f"own-{n}" for n in (7, 3, 9, 1, 5)]
        put_overrides(space, *ids)
        assert list_ids(space) == ids

    def test_replacing_the_set_with_itself_changes_nothing(self, api, organization, space):
        first = put_overrides(space, "feed", "events")
        log, record = list_entries(api, organization), space.read()
        assert put_overrides(space, "events", "feed").json == first.json
        assert list_entries(api, organization) == log
        assert space.read() == record

    def test_repeated_modules_are_rejected(self, space):
        assert put_overrides(space, "feed", "jobs", "feed").errors == {"/overrides/2/moduleId": "repeated"}
        assert list_ids(space) == []

    def test_a_space_has_at_most_forty_overrides_which_forty_others_replace(self, space):
        assert put_overrides(space, *(f"own-{n}" for n in range(41))).errors == {"/overrides": "too_many"}
        for prefix in ("one", "own"):
            ids = [f"{prefix}-{n}" for n in range(40)]
            answer = put_overrides(space, *ids)
            assert (answer.status, [item["moduleId"] for item in answer.json["items"]]) == (200, ids)
        assert post_override(space, "more").status_and_code == "409 limit_exceeded"
        assert post_override(space, "own-7", enabled=False).status == 200

    def test_if_match_takes_the_etag_of_the_space(self, space):
        outdated = {"If-Match": space.get().etag}
        post_override(space, "feed")
        assert put_overrides(space, "jobs", headers=outdated).status_and_code == "412 precondition_failed"
        assert put_overrides(space, "jobs", headers={"If-Match": space.get().etag}).status == 200

    def test_the_target_of_the_entry_is_the_set(self, api, organization, space):
        answer = put_overrides(space, "feed")
        entry = list_entries(api, organization)[0]
        assert entry["type"] == "space.module_overrides.replaced"
        assert entry["target"] == {"type": "space.module_overrides", "id": space.id, "name": "Looms"}
        assert entry["changes"] == [
            {"field": "items", "from": [], "to": ["feed"]},
            {"field": "items.feed", "from": None, "to": answer.json["items"][0]},
        ]


def test_the_space_inherits_a_module_again_when_its_override_is_removed(api, organization, space, platform, new_space):
    post_override(space, "feed", enabled=False)
    assert new_space(platform, name="Mills").delete(f"{PATH}/feed").status_and_code == "404 not_found"
    assert space.delete(f"{PATH}/feed").status == 204
    assert list_ids(space) == []
    assert list_entries(api, organization)[0]["type"] == "space.module_override.removed"
    for module in ("feed", "Feed", "-", "%23", "a%2Fb"):
        assert space.delete(f"{PATH}/{module}").status_and_code == "404 not_found", module


def test_overrides_are_visible_to_everyone_who_sees_the_space(space, mary):
    post_override(space, "feed")
    paths = (PATH, f"{PATH}/feed", "/effective-modules")
    assert [space.get(path, caller=mary).status for path in paths] == [200] * 3
    space.update(visibility="private")
    assert [space.get(path, caller=mary).status_and_code for path in paths] == ["404 not_found"] * 3
