"""The capabilities of a space: list, add, replace, get and remove."""

from typing import Any

from tests.harness.api import ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import SpaceClient

PATH = "/capabilities"


def post_capability(space: SpaceClient, key: str, **fields: Any) -> ApiResponse:
    return space.post(PATH, {"capabilityKey": key, **fields})


def put_capabilities(space: SpaceClient, *keys: str, **options: Any) -> ApiResponse:
    return space.put(PATH, {"capabilities": [{"capabilityKey": key} for key in keys]}, **options)


def list_keys(space: SpaceClient) -> list[str]:
    listed = space.get(PATH).json
    assert listed["nextCursor"] is None
    return [item["capabilityKey"] for item in listed["items"]]


class TestAddSpaceCapability:
    def test_a_new_capability_is_listed_last(self, api, organization, space):
        response = post_capability(space, "video-calls", settings={"most": 3})
        assert (response.status, response.location) == (201, f"{space.path}{PATH}/video-calls")
        shown = {n: v for n, v in response.json.items() if n not in ("id", "createdAt", "updatedAt")}
        expected = {"version": 1, "spaceId": space.id, "capabilityKey": "video-calls", "settings": {"most": 3}}
        assert shown == expected
        assert space.get(f"{PATH}/video-calls").text == response.text
        entry = list_entries(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.capability.added", response.json)
        assert entry["target"] == {"type": "space.capability", "id": response.json["id"], "name": "video-calls"}
        assert post_capability(space, "chat").json["settings"] == {}
        assert list_keys(space) == ["video-calls", "chat"]

    def test_a_duplicate_key_is_rejected(self, space):
        post_capability(space, "chat")
        duplicate, errors = post_capability(space, "chat", settings={"a": 1}), {"/capabilityKey": "already_exists"}
        assert (duplicate.status_and_code, duplicate.errors) == ("409 already_exists", errors)
        assert post_capability(space, "Chat").status == 201

    def test_a_space_has_at_most_forty_capabilities(self, space):
        put_capabilities(space, *(f"own-{n}" for n in range(40)))
        assert post_capability(space, "more").status_and_code == "409 limit_exceeded"
        assert len(list_keys(space)) == 40


class TestReplaceSpaceCapabilities:
    def test_the_set_is_replaced_and_unchanged_capabilities_stay(self, space):
        first = put_capabilities(space, "chat", "polls").json["items"]
        response = put_capabilities(space, "maps", "polls")
        assert response.json == space.get(PATH).json
        assert list_keys(space) == ["polls", "maps"]
        assert response.json["items"][0] == first[1]

    def test_the_same_set_changes_and_logs_nothing(self, api, organization, space):
        put_capabilities(space, "chat", "polls")
        log, record = list_entries(api, organization), space.read()
        assert put_capabilities(space, "polls", "chat").status == 200
        assert list_entries(api, organization) == log
        assert space.read() == record

    def test_a_repeated_key_or_too_many_keys_are_rejected(self, space):
        assert put_capabilities(space, "a", "b", "a").errors == {"/capabilities/2/capabilityKey": "repeated"}
        assert put_capabilities(space, *(f"own-{n}" for n in range(41))).errors == {"/capabilities": "too_many"}
        assert space.put(PATH, {}).errors == {"/capabilities": "required"}

    def test_if_match_compares_the_etag_of_the_space(self, space):
        headers = {"If-Match": space.get().etag}
        assert put_capabilities(space, "chat", headers=headers).status == 200
        assert put_capabilities(space, "polls", headers=headers).status_and_code == "412 precondition_failed"
        assert list_keys(space) == ["chat"]


class TestRemoveSpaceCapability:
    def test_a_removed_capability_is_not_found(self, api, organization, space):
        put_capabilities(space, "chat", "polls")
        assert space.delete(f"{PATH}/chat").status == 204
        assert list_keys(space) == ["polls"]
        assert list_entries(api, organization)[0]["type"] == "space.capability.removed"
        assert space.delete(f"{PATH}/chat").status_and_code == "404 not_found"

    def test_if_match_compares_the_etag_of_the_capability(self, space):
        outdated, path = {"If-Match": post_capability(space, "chat").etag}, f"{PATH}/chat"
        space.put(PATH, {"capabilities": [{"capabilityKey": "chat", "settings": {"a": 1}}]})
        assert space.delete(path, headers=outdated).status_and_code == "412 precondition_failed"
        assert space.delete(path, headers={"If-Match": space.get(path).etag}).status == 204


def test_the_capabilities_of_a_space_are_visible_with_the_space(platform, space, new_space, mary):
    private_space = new_space(platform, name="Mills", visibility="private")
    for each, status in ((space, 200), (private_space, 404)):
        put_capabilities(each, "chat")
        assert [each.get(path, caller=mary).status for path in (PATH, f"{PATH}/chat")] == [status] * 2
