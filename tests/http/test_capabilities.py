"""The capabilities of a space: list, add, replace, get, remove."""

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, make_space


@pytest.fixture
def capabilities(looms: Room) -> str:
    """Where the capabilities of the space are found."""
    return f"{looms.path}/capabilities"


def keys(api: Api, path: str, as_: Person) -> list[str]:
    """The keys of the capabilities that are listed."""
    listed = api.get(path, as_=as_).json
    assert listed["nextCursor"] is None
    return [item["capabilityKey"] for item in listed["items"]]


def put(api: Api, path: str, as_: Person, *wanted: str, **words: object) -> Answer:
    return api.put(path, as_=as_, json={"capabilities": [{"capabilityKey": key} for key in wanted]}, **words)


class TestAddSpaceCapability:
    def test_it_is_listed_after_those_before_it(self, api: Api, looms: Room, capabilities: str, ada: Person) -> None:
        answer = api.post(capabilities, as_=ada, json={"capabilityKey": "video-calls", "settings": {"most": 3}})
        assert (answer.status, answer.location) == (201, f"{capabilities}/video-calls")
        shown = {n: v for n, v in answer.json.items() if n not in ("id", "createdAt", "updatedAt")}
        assert shown == {
            "version": 1,
            "spaceId": looms.id,
            "capabilityKey": "video-calls",
            "settings": {"most": 3},
        }
        assert api.get(answer.location, as_=ada).text == answer.text
        assert api.post(capabilities, as_=ada, json={"capabilityKey": "chat"}).json["settings"] == {}
        assert keys(api, capabilities, ada) == ["video-calls", "chat"]

    def test_one_that_is_there_is_refused(self, api: Api, capabilities: str, ada: Person) -> None:
        api.post(capabilities, as_=ada, json={"capabilityKey": "chat"})
        again = api.post(capabilities, as_=ada, json={"capabilityKey": "chat", "settings": {"a": 1}})
        assert (again.code, again.faults) == ("409 already_exists", {"/capabilityKey": "already_exists"})
        assert api.post(capabilities, as_=ada, json={"capabilityKey": "Chat"}).status == 201

    def test_the_space_has_forty_at_most(self, api: Api, capabilities: str, ada: Person) -> None:
        put(api, capabilities, ada, *(f"own-{n}" for n in range(40)))
        assert api.post(capabilities, as_=ada, json={"capabilityKey": "more"}).code == "409 limit_exceeded"
        assert len(keys(api, capabilities, ada)) == 40

    def test_the_entry_is_about_the_capability(
        self, api: Api, organization: Founded, capabilities: str, ada: Person
    ) -> None:
        answer = api.post(capabilities, as_=ada, json={"capabilityKey": "chat"})
        entry = log_of(api, organization)[0]
        assert (entry["type"], entry["data"]) == ("space.capability.added", answer.json)
        assert entry["target"] == {"type": "space.capability", "id": answer.json["id"], "name": "chat"}

    def test_only_admins_may(self, api: Api, organization: Founded, capabilities: str, edith: Person) -> None:
        body = {"capabilityKey": "chat"}
        assert api.post(capabilities, as_=edith, json=body).code == "403 insufficient_role"
        assert api.post(capabilities, as_=make_key(api, organization, "spaces:write"), json=body).status == 201


class TestReplaceSpaceCapabilities:
    def test_the_set_is_what_was_put(self, api: Api, capabilities: str, ada: Person) -> None:
        put(api, capabilities, ada, "chat", "polls")
        first = {item["capabilityKey"]: item for item in api.get(capabilities, as_=ada).json["items"]}
        answer = put(api, capabilities, ada, "maps", "polls")
        assert answer.json == api.get(capabilities, as_=ada).json
        assert keys(api, capabilities, ada) == ["polls", "maps"]
        assert answer.json["items"][0] == first["polls"]

    def test_the_same_again_changes_and_tells_nothing(
        self, api: Api, organization: Founded, looms: Room, capabilities: str, ada: Person
    ) -> None:
        put(api, capabilities, ada, "chat", "polls")
        log, space = log_of(api, organization), api.get(looms.path, as_=ada).json
        assert put(api, capabilities, ada, "polls", "chat").status == 200
        assert log_of(api, organization) == log
        assert api.get(looms.path, as_=ada).json == space

    def test_one_named_twice_or_one_too_many_is_refused(self, api: Api, capabilities: str, ada: Person) -> None:
        assert put(api, capabilities, ada, "a", "b", "a").faults == {"/capabilities/2/capabilityKey": "repeated"}
        assert put(api, capabilities, ada, *(f"own-{n}" for n in range(41))).faults == {"/capabilities": "too_many"}
        assert api.put(capabilities, as_=ada, json={}).faults == {"/capabilities": "required"}

    def test_if_match_takes_the_spaces_tag(self, api: Api, looms: Room, capabilities: str, ada: Person) -> None:
        seen = api.get(looms.path, as_=ada).etag
        assert put(api, capabilities, ada, "chat", headers={"If-Match": seen}).status == 200
        assert put(api, capabilities, ada, "polls", headers={"If-Match": seen}).code == "412 precondition_failed"
        assert keys(api, capabilities, ada) == ["chat"]


class TestRemoveSpaceCapability:
    def test_it_is_gone(self, api: Api, organization: Founded, capabilities: str, ada: Person) -> None:
        put(api, capabilities, ada, "chat", "polls")
        assert api.delete(f"{capabilities}/chat", as_=ada).status == 204
        assert keys(api, capabilities, ada) == ["polls"]
        assert log_of(api, organization)[0]["type"] == "space.capability.removed"
        assert api.delete(f"{capabilities}/chat", as_=ada).code == "404 not_found"

    def test_if_match_takes_its_own_tag(self, api: Api, capabilities: str, ada: Person) -> None:
        seen = api.post(capabilities, as_=ada, json={"capabilityKey": "chat"}).etag
        api.put(capabilities, as_=ada, json={"capabilities": [{"capabilityKey": "chat", "settings": {"a": 1}}]})
        path = f"{capabilities}/chat"
        assert api.delete(path, as_=ada, headers={"If-Match": seen}).code == "412 precondition_failed"
        seen = api.get(path, as_=ada).etag
        assert api.delete(path, as_=ada, headers={"If-Match": seen}).status == 204


class TestListSpaceCapabilities:
    def test_each_space_has_its_own_and_shows_them_to_whoever_sees_it(
        self, api: Api, looms: Room, capabilities: str, ada: Person, mary: Person, stranger: Person
    ) -> None:
        put(api, capabilities, ada, "chat")
        other = make_space(api, looms.platform, name="Mills", visibility="private")
        put(api, f"{other.path}/capabilities", ada, "polls")
        assert keys(api, capabilities, mary) == ["chat"]
        assert api.get(capabilities, as_=stranger).code == "404 not_found"
        assert api.get(f"{other.path}/capabilities", as_=mary).code == "404 not_found"
        assert api.get(f"{other.path}/capabilities/polls", as_=mary).code == "404 not_found"
