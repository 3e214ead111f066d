"""The capabilities of a space: list, add, replace, get and remove."""

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, make_space


@pytest.fixture
def capabilities_path(looms: Room) -> str:
    """The path of the capabilities of a space."""
    return f"{looms.path}/capabilities"


def capability_keys(api: Api, path: str, as_: Person) -> list[str]:
    """Return the keys of the listed capabilities."""
    listed = api.get(path, as_=as_).json
    assert listed["nextCursor"] is None
    return [item["capabilityKey"] for item in listed["items"]]


def put_capabilities(api: Api, path: str, as_: Person, *keys: str, **options: object) -> Answer:
    return api.put(path, as_=as_, json={"capabilities": [{"capabilityKey": key} for key in keys]}, **options)


class TestAddSpaceCapability:
    def test_a_new_capability_is_listed_last(self, api: Api, looms: Room, capabilities_path: str, ada: Person) -> None:
        response = api.post(capabilities_path, as_=ada, json={"capabilityKey": "video-calls", "settings": {"most": 3}})
        assert (response.status, response.location) == (201, f"{capabilities_path}/video-calls")
        shown = {n: v for n, v in response.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert shown == {
            "version": 1,
            "spaceId": looms.id,
            "capabilityKey": "video-calls",
            "settings": {"most": 3},
        }
        assert api.get(response.location, as_=ada).text == response.text
        assert api.post(capabilities_path, as_=ada, json={"capabilityKey": "chat"}).json["settings"] == {}
        assert capability_keys(api, capabilities_path, ada) == ["video-calls", "chat"]

    def test_a_duplicate_key_is_rejected(self, api: Api, capabilities_path: str, ada: Person) -> None:
        api.post(capabilities_path, as_=ada, json={"capabilityKey": "chat"})
        duplicate = api.post(capabilities_path, as_=ada, json={"capabilityKey": "chat", "settings": {"a": 1}})
        assert (duplicate.code, duplicate.faults) == ("409 already_exists", {"/capabilityKey": "already_exists"})
        assert api.post(capabilities_path, as_=ada, json={"capabilityKey": "Chat"}).status == 201

    def test_a_space_has_at_most_forty_capabilities(self, api: Api, capabilities_path: str, ada: Person) -> None:
        put_capabilities(api, capabilities_path, ada, *(f"own-{n}" for n in range(40)))
        assert api.post(capabilities_path, as_=ada, json={"capabilityKey": "more"}).code == "409 limit_exceeded"
        assert len(capability_keys(api, capabilities_path, ada)) == 40

    def test_the_entry_is_about_the_capability(
        self, api: Api, organization: Founded, capabilities_path: str, ada: Person
    ) -> None:
        response = api.post(capabilities_path, as_=ada, json={"capabilityKey": "chat"})
        entry = log_of(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.capability.added", response.json)
        assert entry["target"] == {"type": "space.capability", "id": response.json["id"], "name": "chat"}

    def test_only_admins_and_keys_with_the_scope_may_add(
        self, api: Api, organization: Founded, capabilities_path: str, edith: Person
    ) -> None:
        body = {"capabilityKey": "chat"}
        assert api.post(capabilities_path, as_=edith, json=body).code == "403 insufficient_role"
        assert api.post(capabilities_path, as_=make_key(api, organization, "spaces:write"), json=body).status == 201


class TestReplaceSpaceCapabilities:
    def test_the_set_is_replaced_and_unchanged_capabilities_stay(
        self, api: Api, capabilities_path: str, ada: Person
    ) -> None:
        put_capabilities(api, capabilities_path, ada, "chat", "polls")
        first = {item["capabilityKey"]: item for item in api.get(capabilities_path, as_=ada).json["items"]}
        response = put_capabilities(api, capabilities_path, ada, "maps", "polls")
        assert response.json == api.get(capabilities_path, as_=ada).json
        assert capability_keys(api, capabilities_path, ada) == ["polls", "maps"]
        assert response.json["items"][0] == first["polls"]

    def test_the_same_set_changes_and_logs_nothing(
        self, api: Api, organization: Founded, looms: Room, capabilities_path: str, ada: Person
    ) -> None:
        put_capabilities(api, capabilities_path, ada, "chat", "polls")
        log, space = log_of(api, organization), api.get(looms.path, as_=ada).json
        assert put_capabilities(api, capabilities_path, ada, "polls", "chat").status == 200
        assert log_of(api, organization) == log
        assert api.get(looms.path, as_=ada).json == space

    def test_a_repeated_key_or_too_many_keys_are_rejected(self, api: Api, capabilities_path: str, ada: Person) -> None:
        assert put_capabilities(api, capabilities_path, ada, "a", "b", "a").faults == {
            "/capabilities/2/capabilityKey": "repeated"
        }
        assert put_capabilities(api, capabilities_path, ada, *(f"own-{n}" for n in range(41))).faults == {
            "/capabilities": "too_many"
        }
        assert api.put(capabilities_path, as_=ada, json={}).faults == {"/capabilities": "required"}

    def test_if_match_compares_the_etag_of_the_space(
        self, api: Api, looms: Room, capabilities_path: str, ada: Person
    ) -> None:
        etag = api.get(looms.path, as_=ada).etag
        assert put_capabilities(api, capabilities_path, ada, "chat", headers={"If-Match": etag}).status == 200
        assert (
            put_capabilities(api, capabilities_path, ada, "polls", headers={"If-Match": etag}).code
            == "412 precondition_failed"
        )
        assert capability_keys(api, capabilities_path, ada) == ["chat"]


class TestRemoveSpaceCapability:
    def test_a_removed_capability_is_not_found(
        self, api: Api, organization: Founded, capabilities_path: str, ada: Person
    ) -> None:
        put_capabilities(api, capabilities_path, ada, "chat", "polls")
        assert api.delete(f"{capabilities_path}/chat", as_=ada).status == 204
        assert capability_keys(api, capabilities_path, ada) == ["polls"]
        assert log_of(api, organization)[0]["type"] == "space.capability.removed"
        assert api.delete(f"{capabilities_path}/chat", as_=ada).code == "404 not_found"

    def test_if_match_compares_the_etag_of_the_capability(self, api: Api, capabilities_path: str, ada: Person) -> None:
        etag = api.post(capabilities_path, as_=ada, json={"capabilityKey": "chat"}).etag
        api.put(capabilities_path, as_=ada, json={"capabilities": [{"capabilityKey": "chat", "settings": {"a": 1}}]})
        path = f"{capabilities_path}/chat"
        assert api.delete(path, as_=ada, headers={"If-Match": etag}).code == "412 precondition_failed"
        etag = api.get(path, as_=ada).etag
        assert api.delete(path, as_=ada, headers={"If-Match": etag}).status == 204


class TestListSpaceCapabilities:
    def test_the_capabilities_of_a_space_are_visible_with_the_space(
        self, api: Api, looms: Room, capabilities_path: str, ada: Person, mary: Person, stranger: Person
    ) -> None:
        put_capabilities(api, capabilities_path, ada, "chat")
        private_space = make_space(api, looms.platform, name="Mills", visibility="private")
        put_capabilities(api, f"{private_space.path}/capabilities", ada, "polls")
        assert capability_keys(api, capabilities_path, mary) == ["chat"]
        assert api.get(capabilities_path, as_=stranger).code == "404 not_found"
        assert api.get(f"{private_space.path}/capabilities", as_=mary).code == "404 not_found"
        assert api.get(f"{private_space.path}/capabilities/polls", as_=mary).code == "404 not_found"
