"""Module overrides of a space: list, set, replace, get, remove."""

import pytest

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.organizations import create_api_key
from tests.harness.platforms import CreatedSpace, add_space_member, create_space


@pytest.fixture
def overrides(space: CreatedSpace) -> str:
    """The path of the space's overrides."""
    return f"{space.path}/module-overrides"


def list_overrides(api: ApiClient, path: str, caller: Person) -> list[Json]:
    """Return the module, the state and the settings of each override."""
    response = api.get(path, caller=caller).json
    assert response["nextCursor"] is None
    return [{name: item[name] for name in ("moduleId", "enabled", "settings")} for item in response["items"]]


class TestSetModuleOverride:
    def test_a_new_override_is_created(self, api, overrides, space, ada):
        answer = api.post(overrides, caller=ada, json={"moduleId": "events"})
        assert answer.status == 201
        assert answer.location == f"{overrides}/events"
        fields = {n: v for n, v in answer.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "spaceId": space.id,
            "moduleId": "events",
            "enabled": True,
            "settings": {},
        }
        assert api.get(answer.location, caller=ada).text == answer.text

    def test_an_existing_override_is_changed(self, api, overrides, ada):
        first = api.post(overrides, caller=ada, json={"moduleId": "events", "enabled": False, "settings": {"a": 1}})
        second = api.post(overrides, caller=ada, json={"moduleId": "events", "settings": {"b": 1}})
        assert (second.status, "Location" in second.headers) == (200, False)
        assert second.json == {
            **first.json,
            "enabled": True,
            "settings": {"b": 1},
            "version": 2,
            "updatedAt": second.json["updatedAt"],
        }
        assert len(list_overrides(api, overrides, ada)) == 1

    def test_setting_the_same_override_changes_nothing(self, api, organization, space, overrides, ada):
        body = {"moduleId": "events", "enabled": False, "settings": {"a": [1]}}
        first, log = api.post(overrides, caller=ada, json=body), list_entries(api, organization)
        repeated = api.post(overrides, caller=ada, json=body)
        assert (repeated.status, repeated.json) == (200, first.json)
        assert list_entries(api, organization) == log
        assert api.get(space.path, caller=ada).json["version"] == 2

    def test_invalid_fields_are_rejected(self, api, overrides, ada):
        answer = api.post(overrides, caller=ada, json={"moduleId": "-", "enabled": "yes", "settings": {"": 1}})
        assert answer.errors == {"/moduleId": "malformed", "/enabled": "wrong_type", "/settings": "malformed"}
        assert api.post(overrides, caller=ada, json={}).errors == {"/moduleId": "required"}

    def test_a_space_has_at_most_forty_overrides(self, api, overrides, ada):
        api.put(overrides, caller=ada, json={"overrides": [{"moduleId": f"own-{n}"} for n in range(40)]})
        assert api.post(overrides, caller=ada, json={"moduleId": "more"}).status_and_code == "409 limit_exceeded"
        assert api.post(overrides, caller=ada, json={"moduleId": "own-7", "enabled": False}).status == 200

    def test_the_target_of_the_entry_is_the_override(self, api, organization, overrides, ada):
        answer = api.post(overrides, caller=ada, json={"moduleId": "events"})
        entry = list_entries(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.module_override.set", answer.json)
        assert entry["target"] == {"type": "space.module_override", "id": answer.json["id"], "name": "events"}

    def test_only_admins_of_the_space_set_an_override(self, api, organization, space, overrides, mary, edith):
        add_space_member(space, edith, "editor")
        add_space_member(space, mary, "admin")
        body = {"moduleId": "events"}
        assert api.post(overrides, caller=edith, json=body).status_and_code == "403 insufficient_role"
        write = create_api_key(api, organization, "write")
        assert api.post(overrides, caller=write, json=body).status_and_code == "403 insufficient_scope"
        assert api.post(overrides, caller=mary, json=body).status == 201


class TestReplaceModuleOverrides:
    def put(self, api: ApiClient, path: str, caller: Person, *overrides: Json, **options: object) -> ApiResponse:
        return api.put(path, caller=caller, json={"overrides": [*overrides]}, **options)

    def test_the_set_is_replaced(self, api, overrides, ada):
        self.put(api, overrides, ada, {"moduleId": "feed", "enabled": False}, {"moduleId": "events"})
        answer = self.put(api, overrides, ada, {"moduleId": "jobs"}, {"moduleId": "events", "settings": {"a": 1}})
        assert answer.status == 200
        assert answer.json == api.get(overrides, caller=ada).json
        assert list_overrides(api, overrides, ada) == [
            {"moduleId": "events", "enabled": True, "settings": {"a": 1}},
            {"moduleId": "jobs", "enabled": True, "settings": {}},
        ]
        assert [item["version"] for item in answer.json["items"]] == [2, 1]
        assert self.put(api, overrides, ada).json == {"items": [], "nextCursor": None}

    def test_new_overrides_are_listed_in_the_given_order(self, api, overrides, ada):
        names = [f"own-{n}" for n in (7, 3, 9, 1, 5)]
        self.put(api, overrides, ada, *({"moduleId": name} for name in names))
        assert [override["moduleId"] for override in list_overrides(api, overrides, ada)] == names

    def test_replacing_the_set_with_itself_changes_nothing(self, api, organization, space, overrides, ada):
        first = self.put(api, overrides, ada, {"moduleId": "feed"}, {"moduleId": "events"})
        log, record = list_entries(api, organization), api.get(space.path, caller=ada).json
        repeated = self.put(api, overrides, ada, {"moduleId": "events"}, {"moduleId": "feed"})
        assert repeated.json == first.json
        assert list_entries(api, organization) == log
        assert api.get(space.path, caller=ada).json == record

    def test_repeated_modules_and_more_than_forty_are_rejected(self, api, overrides, ada):
        response = self.put(api, overrides, ada, {"moduleId": "feed"}, {"moduleId": "jobs"}, {"moduleId": "feed"})
        assert response.errors == {"/overrides/2/moduleId": "repeated"}
        response = self.put(api, overrides, ada, *({"moduleId": f"own-{n}"} for n in range(41)))
        assert response.errors == {"/overrides": "too_many"}
        assert list_overrides(api, overrides, ada) == []

    def test_forty_overrides_replace_forty_others(self, api, overrides, ada):
        for prefix in ("one", "other"):
            answer = self.put(api, overrides, ada, *({"moduleId": f"{prefix}-{n}"} for n in range(40)))
            assert answer.status == 200
            assert [item["moduleId"] for item in answer.json["items"]] == [f"{prefix}-{n}" for n in range(40)]

    def test_if_match_takes_the_etag_of_the_space(self, api, space, overrides, ada):
        etag = api.get(space.path, caller=ada).etag
        api.post(overrides, caller=ada, json={"moduleId": "feed"})
        response = self.put(api, overrides, ada, {"moduleId": "jobs"}, headers={"If-Match": etag})
        assert response.status_and_code == "412 precondition_failed"
        etag = api.get(space.path, caller=ada).etag
        assert self.put(api, overrides, ada, {"moduleId": "jobs"}, headers={"If-Match": etag}).status == 200

    def test_the_target_of_the_entry_is_the_set(self, api, organization, space, overrides, ada):
        answer = self.put(api, overrides, ada, {"moduleId": "feed"})
        entry = list_entries(api, organization)[0]
        assert entry["type"] == "space.module_overrides.replaced"
        assert entry["target"] == {"type": "space.module_overrides", "id": space.id, "name": "Looms"}
        assert entry["changes"] == [
            {"field": "items", "from": [], "to": ["feed"]},
            {"field": "items.feed", "from": None, "to": answer.json["items"][0]},
        ]


class TestRemoveModuleOverride:
    def test_the_space_inherits_the_module_again(self, api, organization, overrides, ada):
        api.post(overrides, caller=ada, json={"moduleId": "feed", "enabled": False})
        assert api.delete(f"{overrides}/feed", caller=ada).status == 204
        assert list_overrides(api, overrides, ada) == []
        assert list_entries(api, organization)[0]["type"] == "space.module_override.removed"

    @pytest.mark.parametrize("module", ["feed", "Feed", "-", "%23", "a%2Fb"])
    def test_an_unknown_override_is_not_found(self, api, overrides, ada, module):
        assert api.delete(f"{overrides}/{module}", caller=ada).status_and_code == "404 not_found"

    def test_an_override_of_another_space_is_not_found(self, api, space, overrides, ada):
        api.post(overrides, caller=ada, json={"moduleId": "feed"})
        other = create_space(api, space.platform, name="Mills")
        assert api.delete(f"{other.path}/module-overrides/feed", caller=ada).status_and_code == "404 not_found"


class TestListModuleOverrides:
    def test_overrides_are_visible_to_everyone_who_sees_the_space(self, api, space, overrides, ada, mary, stranger):
        api.post(overrides, caller=ada, json={"moduleId": "feed"})
        assert [override["moduleId"] for override in list_overrides(api, overrides, mary)] == ["feed"]
        assert api.get(overrides, caller=stranger).status_and_code == "404 not_found"
        api.patch(space.path, caller=ada, json={"visibility": "private"})
        for path in (overrides, f"{overrides}/feed", f"{space.path}/effective-modules"):
            assert api.get(path, caller=mary).status_and_code == "404 not_found"
