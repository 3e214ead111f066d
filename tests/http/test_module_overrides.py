"""What a space says of modules: list, set, replace, get, remove."""

import pytest

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, comes_in, make_space


@pytest.fixture
def overrides(looms: Room) -> str:
    """Where the overrides of the space are found."""
    return f"{looms.path}/module-overrides"


def said(api: Api, path: str, as_: Person) -> list[Json]:
    """What a space says of modules."""
    listed = api.get(path, as_=as_).json
    assert listed["nextCursor"] is None
    return [{name: item[name] for name in ("moduleId", "enabled", "settings")} for item in listed["items"]]


class TestSetModuleOverride:
    def test_what_is_new_is_created(self, api: Api, overrides: str, looms: Room, ada: Person) -> None:
        answer = api.post(overrides, as_=ada, json={"moduleId": "events"})
        assert answer.status == 201
        assert answer.location == f"{overrides}/events"
        shown = {n: v for n, v in answer.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert shown == {
            "version": 1,
            "spaceId": looms.id,
            "moduleId": "events",
            "enabled": True,
            "settings": {},
        }
        assert api.get(answer.location, as_=ada).text == answer.text

    def test_what_was_set_before_is_changed(self, api: Api, overrides: str, ada: Person) -> None:
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
        assert len(said(api, overrides, ada)) == 1

    def test_what_is_so_already_tells_nothing(
        self, api: Api, organization: Founded, looms: Room, overrides: str, ada: Person
    ) -> None:
        body = {"moduleId": "events", "enabled": False, "settings": {"a": [1]}}
        first, log = api.post(overrides, as_=ada, json=body), log_of(api, organization)
        again = api.post(overrides, as_=ada, json=body)
        assert (again.status, again.json) == (200, first.json)
        assert log_of(api, organization) == log
        assert api.get(looms.path, as_=ada).json["version"] == 2

    def test_what_is_wrong_is_told(self, api: Api, overrides: str, ada: Person) -> None:
        answer = api.post(overrides, as_=ada, json={"moduleId": "-", "enabled": "yes", "settings": {"": 1}})
        assert answer.faults == {"/moduleId": "malformed", "/enabled": "wrong_type", "/settings": "malformed"}
        assert api.post(overrides, as_=ada, json={}).faults == {"/moduleId": "required"}

    def test_the_space_has_forty_at_most(self, api: Api, overrides: str, ada: Person) -> None:
        api.put(overrides, as_=ada, json={"overrides": [{"moduleId": f"own-{n}"} for n in range(40)]})
        assert api.post(overrides, as_=ada, json={"moduleId": "more"}).code == "409 limit_exceeded"
        assert api.post(overrides, as_=ada, json={"moduleId": "own-7", "enabled": False}).status == 200

    def test_the_entry_is_about_the_override(
        self, api: Api, organization: Founded, overrides: str, ada: Person
    ) -> None:
        answer = api.post(overrides, as_=ada, json={"moduleId": "events"})
        entry = log_of(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.module_override.set", answer.json)
        assert entry["target"] == {"type": "space.module_override", "id": answer.json["id"], "name": "events"}

    def test_only_admins_of_the_space_may(
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
    def put(self, api: Api, path: str, as_: Person, *overrides: Json, **words: object) -> Answer:
        return api.put(path, as_=as_, json={"overrides": [*overrides]}, **words)

    def test_the_set_is_what_was_put(self, api: Api, overrides: str, ada: Person) -> None:
        self.put(api, overrides, ada, {"moduleId": "feed", "enabled": False}, {"moduleId": "events"})
        answer = self.put(api, overrides, ada, {"moduleId": "jobs"}, {"moduleId": "events", "settings": {"a": 1}})
        assert answer.status == 200
        assert answer.json == api.get(overrides, as_=ada).json
        assert said(api, overrides, ada) == [
            {"moduleId": "events", "enabled": True, "settings": {"a": 1}},
            {"moduleId": "jobs", "enabled": True, "settings": {}},
        ]
        assert [item["version"] for item in answer.json["items"]] == [2, 1]
        assert self.put(api, overrides, ada).json == {"items": [], "nextCursor": None}

    def test_new_ones_are_listed_as_they_were_put(self, api: Api, overrides: str, ada: Person) -> None:
        names = [f"own-{n}" for n in (7, 3, 9, 1, 5)]
        self.put(api, overrides, ada, *({"moduleId": name} for name in names))
        assert [each["moduleId"] for each in said(api, overrides, ada)] == names

    def test_the_same_again_changes_and_tells_nothing(
        self, api: Api, organization: Founded, looms: Room, overrides: str, ada: Person
    ) -> None:
        first = self.put(api, overrides, ada, {"moduleId": "feed"}, {"moduleId": "events"})
        log, space = log_of(api, organization), api.get(looms.path, as_=ada).json
        again = self.put(api, overrides, ada, {"moduleId": "events"}, {"moduleId": "feed"})
        assert again.json == first.json
        assert log_of(api, organization) == log
        assert api.get(looms.path, as_=ada).json == space

    def test_one_named_twice_or_one_too_many_is_refused(self, api: Api, overrides: str, ada: Person) -> None:
        twice = self.put(api, overrides, ada, {"moduleId": "feed"}, {"moduleId": "jobs"}, {"moduleId": "feed"})
        assert twice.faults == {"/overrides/2/moduleId": "repeated"}
        many = self.put(api, overrides, ada, *({"moduleId": f"own-{n}"} for n in range(41)))
        assert many.faults == {"/overrides": "too_many"}
        assert said(api, overrides, ada) == []

    def test_forty_others_take_the_place_of_forty(self, api: Api, overrides: str, ada: Person) -> None:
        for prefix in ("one", "other"):
            answer = self.put(api, overrides, ada, *({"moduleId": f"{prefix}-{n}"} for n in range(40)))
            assert answer.status == 200
            assert [item["moduleId"] for item in answer.json["items"]] == [f"{prefix}-{n}" for n in range(40)]

    def test_if_match_takes_the_spaces_tag(self, api: Api, looms: Room, overrides: str, ada: Person) -> None:
        seen = api.get(looms.path, as_=ada).etag
        api.post(overrides, as_=ada, json={"moduleId": "feed"})
        stale = self.put(api, overrides, ada, {"moduleId": "jobs"}, headers={"If-Match": seen})
        assert stale.code == "412 precondition_failed"
        seen = api.get(looms.path, as_=ada).etag
        assert self.put(api, overrides, ada, {"moduleId": "jobs"}, headers={"If-Match": seen}).status == 200

    def test_the_entry_is_about_all_of_them(
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
    def test_the_space_inherits_again(self, api: Api, organization: Founded, overrides: str, ada: Person) -> None:
        api.post(overrides, as_=ada, json={"moduleId": "feed", "enabled": False})
        assert api.delete(f"{overrides}/feed", as_=ada).status == 204
        assert said(api, overrides, ada) == []
        assert log_of(api, organization)[0]["type"] == "space.module_override.removed"

    @pytest.mark.parametrize("module", ["feed", "Feed", "-", "%23", "a%2Fb"])
    def test_what_is_not_there_is_not_found(self, api: Api, overrides: str, ada: Person, module: str) -> None:
        assert api.delete(f"{overrides}/{module}", as_=ada).code == "404 not_found"

    def test_another_spaces_is_not_found(self, api: Api, looms: Room, overrides: str, ada: Person) -> None:
        api.post(overrides, as_=ada, json={"moduleId": "feed"})
        other = make_space(api, looms.platform, name="Mills")
        assert api.delete(f"{other.path}/module-overrides/feed", as_=ada).code == "404 not_found"


class TestListModuleOverrides:
    def test_members_see_them_and_whoever_sees_no_space_sees_none(
        self, api: Api, looms: Room, overrides: str, ada: Person, mary: Person, stranger: Person
    ) -> None:
        api.post(overrides, as_=ada, json={"moduleId": "feed"})
        assert [each["moduleId"] for each in said(api, overrides, mary)] == ["feed"]
        assert api.get(overrides, as_=stranger).code == "404 not_found"
        api.patch(looms.path, as_=ada, json={"visibility": "private"})
        for path in (overrides, f"{overrides}/feed", f"{looms.path}/effective-modules"):
            assert api.get(path, as_=mary).code == "404 not_found"
