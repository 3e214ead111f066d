"""Module overrides of a space: list, set, replace, get, remove."""

import pytest

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, comes_in, make_space


@pytest.fixture
def overrides(looms: Room) -> str:
    """The path of the space's overrides."""
    return f"{looms.path}/module-overrides"


def list_overrides(api: Api, path: str, as_: Person) -> list[Json]:
    """Return the module, the state and the settings of each override."""
    response = api.get(path, as_=as_).json
    assert response["nextCursor"] is None
    return [{name: item[name] for name in ("moduleId", "enabled", "settings")} for item in response["items"]]


class TestSetModuleOverride:
    def test_a_new_override_is_created(self, api: Api, overrides: str, looms: Room, ada: Person) -> None:
        answer = api.post(overrides, as_=ada, json={"moduleId": "events"})
        assert answer.status == 201
        assert answer.location == f"{overrides}/events"
        fields = {n: v for n, v in answer.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "spaceId": looms.id,
            "moduleId": "events",
            "enabled": True,
            "settings": {},
        }
        assert api.get(answer.location, as_=ada).text == answer.text

    def test_an_existing_override_is_changed(self, api: Api, overrides: str, ada: Person) -> None:
        first = api.post(overrides, as_=ada, json={"moduleId": "events", "enabled": False, "settings": {"a": 1}})
        second = api.post(overrides, as_=ada, json={"moduleId": "events", "settings": {"b": 1}})
        assert (second.status, "Location" in second.headers) == (200, False)
        assert second.json == {
            **first.json,
            "enabled": True,
            "settings": {"b": 1},
            "version": 2,
            "updatedAt": second.json["updatedAt"],
        }
        assert len(list_overrides(api, overrides, ada)) == 1

    def test_setting_the_same_override_changes_nothing(
        self, api: Api, organization: Founded, looms: Room, overrides: str, ada: Person
    ) -> None:
        body = {"moduleId": "events", "enabled": False, "settings": {"a": [1]}}
        first, log = api.post(overrides, as_=ada, json=body), log_of(api, organization)
        repeated = api.post(overrides, as_=ada, json=body)
        assert (repeated.status, repeated.json) == (200, first.json)
        assert log_of(api, organization) == log
        assert api.get(looms.path, as_=ada).json["version"] == 2

    def test_invalid_fields_are_rejected(self, api: Api, overrides: str, ada: Person) -> None:
        answer = api.post(overrides, as_=ada, json={"moduleId": "-", "enabled": "yes", "settings": {"": 1}})
        assert answer.faults == {"/moduleId": "malformed", "/enabled": "wrong_type", "/settings": "malformed"}
        assert api.post(overrides, as_=ada, json={}).faults == {"/moduleId": "required"}

    def test_a_space_has_at_most_forty_overrides(self, api: Api, overrides: str, ada: Person) -> None:
        api.put(overrides, as_=ada, json={"overrides": [{"moduleId": f"own-{n}"} for n in range(40)]})
        assert api.post(overrides, as_=ada, json={"moduleId": "more"}).code == "409 limit_exceeded"
        assert api.post(overrides, as_=ada, json={"moduleId": "own-7", "enabled": False}).status == 200

    def test_the_target_of_the_entry_is_the_override(
        self, api: Api, organization: Founded, overrides: str, ada: Person
    ) -> None:
        answer = api.post(overrides, as_=ada, json={"moduleId": "events"})
        entry = log_of(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.module_override.set", answer.json)
        assert entry["target"] == {"type": "space.module_override", "id": answer.json["id"], "name": "events"}

    def test_only_admins_of_the_space_set_an_override(
        self, api: Api, organization: Founded, looms: Room, overrides: str, mary: Person, edith: Person
    ) -> None:
        comes_in(looms, edith, "editor")
        comes_in(looms, mary, "admin")
        body = {"moduleId": "events"}
        assert api.post(overrides, as_=edith, json=body).code == "403 insufficient_role"
        write = make_key(api, organization, "write")
        assert api.post(overrides, as_=write, json=body).code == "403 insufficient_scope"
        assert api.post(overrides, as_=mary, json=body).status == 201


class TestReplaceModuleOverrides:
    def put(self, api: Api, path: str, as_: Person, *overrides: Json, **options: object) -> Answer:
        return api.put(path, as_=as_, json={"overrides": [*overrides]}, **options)

    def test_the_set_is_replaced(self, api: Api, overrides: str, ada: Person) -> None:
        self.put(api, overrides, ada, {"moduleId": "feed", "enabled": False}, {"moduleId": "events"})
        answer = self.put(api, overrides, ada, {"moduleId": "jobs"}, {"moduleId": "events", "settings": {"a": 1}})
        assert answer.status == 200
        assert answer.json == api.get(overrides, as_=ada).json
        assert list_overrides(api, overrides, ada) == [
            {"moduleId": "events", "enabled": True, "settings": {"a": 1}},
            {"moduleId": "jobs", "enabled": True, "settings": {}},
        ]
        assert [item["version"] for item in answer.json["items"]] == [2, 1]
        assert self.put(api, overrides, ada).json == {"items": [], "nextCursor": None}

    def test_new_overrides_are_listed_in_the_given_order(self, api: Api, overrides: str, ada: Person) -> None:
        names = [f"own-{n}" for n in (7, 3, 9, 1, 5)]
        self.put(api, overrides, ada, *({"moduleId": name} for name in names))
        assert [override["moduleId"] for override in list_overrides(api, overrides, ada)] == names

    def test_replacing_the_set_with_itself_changes_nothing(
        self, api: Api, organization: Founded, looms: Room, overrides: str, ada: Person
    ) -> None:
        first = self.put(api, overrides, ada, {"moduleId": "feed"}, {"moduleId": "events"})
        log, space = log_of(api, organization), api.get(looms.path, as_=ada).json
        repeated = self.put(api, overrides, ada, {"moduleId": "events"}, {"moduleId": "feed"})
        assert repeated.json == first.json
        assert log_of(api, organization) == log
        assert api.get(looms.path, as_=ada).json == space

    def test_repeated_modules_and_more_than_forty_are_rejected(self, api: Api, overrides: str, ada: Person) -> None:
        response = self.put(api, overrides, ada, {"moduleId": "feed"}, {"moduleId": "jobs"}, {"moduleId": "feed"})
        assert response.faults == {"/overrides/2/moduleId": "repeated"}
        response = self.put(api, overrides, ada, *({"moduleId": f"own-{n}"} for n in range(41)))
        assert response.faults == {"/overrides": "too_many"}
        assert list_overrides(api, overrides, ada) == []

    def test_forty_overrides_replace_forty_others(self, api: Api, overrides: str, ada: Person) -> None:
        for prefix in ("one", "other"):
            answer = self.put(api, overrides, ada, *({"moduleId": f"{prefix}-{n}"} for n in range(40)))
            assert answer.status == 200
            assert [item["moduleId"] for item in answer.json["items"]] == [f"{prefix}-{n}" for n in range(40)]

    def test_if_match_takes_the_etag_of_the_space(self, api: Api, looms: Room, overrides: str, ada: Person) -> None:
        etag = api.get(looms.path, as_=ada).etag
        api.post(overrides, as_=ada, json={"moduleId": "feed"})
        response = self.put(api, overrides, ada, {"moduleId": "jobs"}, headers={"If-Match": etag})
        assert response.code == "412 precondition_failed"
        etag = api.get(looms.path, as_=ada).etag
        assert self.put(api, overrides, ada, {"moduleId": "jobs"}, headers={"If-Match": etag}).status == 200

    def test_the_target_of_the_entry_is_the_set(
        self, api: Api, organization: Founded, looms: Room, overrides: str, ada: Person
    ) -> None:
        answer = self.put(api, overrides, ada, {"moduleId": "feed"})
        entry = log_of(api, organization)[0]
        assert entry["type"] == "space.module_overrides.replaced"
        assert entry["target"] == {"type": "space.module_overrides", "id": looms.id, "name": "Looms"}
        assert entry["changes"] == [
            {"field": "items", "from": [], "to": ["feed"]},
            {"field": "items.feed", "from": None, "to": answer.json["items"][0]},
        ]


class TestRemoveModuleOverride:
    def test_the_space_inherits_the_module_again(
        self, api: Api, organization: Founded, overrides: str, ada: Person
    ) -> None:
        api.post(overrides, as_=ada, json={"moduleId": "feed", "enabled": False})
        assert api.delete(f"{overrides}/feed", as_=ada).status == 204
        assert list_overrides(api, overrides, ada) == []
        assert log_of(api, organization)[0]["type"] == "space.module_override.removed"

    @pytest.mark.parametrize("module", ["feed", "Feed", "-", "%23", "a%2Fb"])
    def test_an_unknown_override_is_not_found(self, api: Api, overrides: str, ada: Person, module: str) -> None:
        assert api.delete(f"{overrides}/{module}", as_=ada).code == "404 not_found"

    def test_an_override_of_another_space_is_not_found(
        self, api: Api, looms: Room, overrides: str, ada: Person
    ) -> None:
        api.post(overrides, as_=ada, json={"moduleId": "feed"})
        other = make_space(api, looms.platform, name="Mills")
        assert api.delete(f"{other.path}/module-overrides/feed", as_=ada).code == "404 not_found"


class TestListModuleOverrides:
    def test_overrides_are_visible_to_everyone_who_sees_the_space(
        self, api: Api, looms: Room, overrides: str, ada: Person, mary: Person, stranger: Person
    ) -> None:
        api.post(overrides, as_=ada, json={"moduleId": "feed"})
        assert [override["moduleId"] for override in list_overrides(api, overrides, mary)] == ["feed"]
        assert api.get(overrides, as_=stranger).code == "404 not_found"
        api.patch(looms.path, as_=ada, json={"visibility": "private"})
        for path in (overrides, f"{overrides}/feed", f"{looms.path}/effective-modules"):
            assert api.get(path, as_=mary).code == "404 not_found"
