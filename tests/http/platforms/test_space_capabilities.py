"""The capabilities of a space: list, add, replace, get and remove."""

import pytest

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.organizations import create_api_key
from tests.harness.platforms import CreatedSpace, create_space


@pytest.fixture
def capabilities_path(space: CreatedSpace) -> str:
    """The path of the capabilities of a space."""
    return f"{space.path}/capabilities"


def capability_keys(api: ApiClient, path: str, caller: Person) -> list[str]:
    """Return the keys of the listed capabilities."""
    listed = api.get(path, caller=caller).json
    assert listed["nextCursor"] is None
    return [item["capabilityKey"] for item in listed["items"]]


def put_capabilities(api: ApiClient, path: str, caller: Person, *keys: str, **options: object) -> ApiResponse:
    return api.put(path, caller=caller, json={"capabilities": [{"capabilityKey": key} for key in keys]}, **options)


class TestAddSpaceCapability:
    def test_a_new_capability_is_listed_last(self, api, space, capabilities_path, ada):
        response = api.post(
            capabilities_path, caller=ada, json={"capabilityKey": "video-calls", "settings": {"most": 3}}
        )
        assert (response.status, response.location) == (201, f"{capabilities_path}/video-calls")
        shown = {n: v for n, v in response.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert shown == {
            "version": 1,
            "spaceId": space.id,
            "capabilityKey": "video-calls",
            "settings": {"most": 3},
        }
        assert api.get(response.location, caller=ada).text == response.text
        assert api.post(capabilities_path, caller=ada, json={"capabilityKey": "chat"}).json["settings"] == {}
        assert capability_keys(api, capabilities_path, ada) == ["video-calls", "chat"]

    def test_a_duplicate_key_is_rejected(self, api, capabilities_path, ada):
        api.post(capabilities_path, caller=ada, json={"capabilityKey": "chat"})
        duplicate = api.post(capabilities_path, caller=ada, json={"capabilityKey": "chat", "settings": {"a": 1}})
        assert (duplicate.status_and_code, duplicate.errors) == (
            "409 already_exists",
            {"/capabilityKey": "already_exists"},
        )
        assert api.post(capabilities_path, caller=ada, json={"capabilityKey": "Chat"}).status == 201

    def test_a_space_has_at_most_forty_capabilities(self, api, capabilities_path, ada):
        put_capabilities(api, capabilities_path, ada, *(f"own-{n}" for n in range(40)))
        assert (
            api.post(capabilities_path, caller=ada, json={"capabilityKey": "more"}).status_and_code
            == "409 limit_exceeded"
        )
        assert len(capability_keys(api, capabilities_path, ada)) == 40

    def test_the_entry_is_about_the_capability(self, api, organization, capabilities_path, ada):
        response = api.post(capabilities_path, caller=ada, json={"capabilityKey": "chat"})
        entry = list_entries(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.capability.added", response.json)
        assert entry["target"] == {"type": "space.capability", "id": response.json["id"], "name": "chat"}

    def test_only_admins_and_keys_with_the_scope_may_add(self, api, organization, capabilities_path, edith):
        body = {"capabilityKey": "chat"}
        assert api.post(capabilities_path, caller=edith, json=body).status_and_code == "403 insufficient_role"
        assert (
            api.post(capabilities_path, caller=create_api_key(api, organization, "spaces:write"), json=body).status
            == 201
        )


class TestReplaceSpaceCapabilities:
    def test_the_set_is_replaced_and_unchanged_capabilities_stay(self, api, capabilities_path, ada):
        put_capabilities(api, capabilities_path, ada, "chat", "polls")
        first = {item["capabilityKey"]: item for item in api.get(capabilities_path, caller=ada).json["items"]}
        response = put_capabilities(api, capabilities_path, ada, "maps", "polls")
        assert response.json == api.get(capabilities_path, caller=ada).json
        assert capability_keys(api, capabilities_path, ada) == ["polls", "maps"]
        assert response.json["items"][0] == first["polls"]

    def test_the_same_set_changes_and_logs_nothing(self, api, organization, space, capabilities_path, ada):
        put_capabilities(api, capabilities_path, ada, "chat", "polls")
        log, record = list_entries(api, organization), api.get(space.path, caller=ada).json
        assert put_capabilities(api, capabilities_path, ada, "polls", "chat").status == 200
        assert list_entries(api, organization) == log
        assert api.get(space.path, caller=ada).json == record

    def test_a_repeated_key_or_too_many_keys_are_rejected(self, api, capabilities_path, ada):
        assert put_capabilities(api, capabilities_path, ada, "a", "b", "a").errors == {
            "/capabilities/2/capabilityKey": "repeated"
        }
        assert put_capabilities(api, capabilities_path, ada, *(f"own-{n}" for n in range(41))).errors == {
            "/capabilities": "too_many"
        }
        assert api.put(capabilities_path, caller=ada, json={}).errors == {"/capabilities": "required"}

    def test_if_match_compares_the_etag_of_the_space(self, api, space, capabilities_path, ada):
        etag = api.get(space.path, caller=ada).etag
        assert put_capabilities(api, capabilities_path, ada, "chat", headers={"If-Match": etag}).status == 200
        assert (
            put_capabilities(api, capabilities_path, ada, "polls", headers={"If-Match": etag}).status_and_code
            == "412 precondition_failed"
        )
        assert capability_keys(api, capabilities_path, ada) == ["chat"]


class TestRemoveSpaceCapability:
    def test_a_removed_capability_is_not_found(self, api, organization, capabilities_path, ada):
        put_capabilities(api, capabilities_path, ada, "chat", "polls")
        assert api.delete(f"{capabilities_path}/chat", caller=ada).status == 204
        assert capability_keys(api, capabilities_path, ada) == ["polls"]
        assert list_entries(api, organization)[0]["type"] == "space.capability.removed"
        assert api.delete(f"{capabilities_path}/chat", caller=ada).status_and_code == "404 not_found"

    def test_if_match_compares_the_etag_of_the_capability(self, api, capabilities_path, ada):
        etag = api.post(capabilities_path, caller=ada, json={"capabilityKey": "chat"}).etag
        api.put(capabilities_path, caller=ada, json={"capabilities": [{"capabilityKey": "chat", "settings": {"a": 1}}]})
        path = f"{capabilities_path}/chat"
        assert api.delete(path, caller=ada, headers={"If-Match": etag}).status_and_code == "412 precondition_failed"
        etag = api.get(path, caller=ada).etag
        assert api.delete(path, caller=ada, headers={"If-Match": etag}).status == 204


class TestListSpaceCapabilities:
    def test_the_capabilities_of_a_space_are_visible_with_the_space(
        self, api, space, capabilities_path, ada, mary, stranger
    ):
        put_capabilities(api, capabilities_path, ada, "chat")
        private_space = create_space(api, space.platform, name="Mills", visibility="private")
        put_capabilities(api, f"{private_space.path}/capabilities", ada, "polls")
        assert capability_keys(api, capabilities_path, mary) == ["chat"]
        assert api.get(capabilities_path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(f"{private_space.path}/capabilities", caller=mary).status_and_code == "404 not_found"
        assert api.get(f"{private_space.path}/capabilities/polls", caller=mary).status_and_code == "404 not_found"
