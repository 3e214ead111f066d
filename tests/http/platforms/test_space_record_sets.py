"""The capabilities and the module overrides of a space: list, add or set, replace, get and remove."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import SpaceClient


@dataclass(frozen=True)
class RecordSet:
    """A kind of record set of a space: its path, the name of its list in requests, and the key of its items."""

    path: str
    list_name: str
    key_name: str
    event: str
    default_fields: Json

    def post(self, space: SpaceClient, key: str, **fields: Any) -> ApiResponse:
        return space.post(self.path, {self.key_name: key, **fields})

    def put(self, space: SpaceClient, *items: str | Json, **options: Any) -> ApiResponse:
        """Replace the set. A key stands for an item without other fields."""
        items = tuple({self.key_name: each} if isinstance(each, str) else each for each in items)
        return space.put(self.path, {self.list_name: [*items]}, **options)

    def list_keys(self, space: SpaceClient) -> list[str]:
        listed = space.get(self.path).json
        assert listed["nextCursor"] is None
        return [item[self.key_name] for item in listed["items"]]


CAPABILITIES = RecordSet("/capabilities", "capabilities", "capabilityKey", "space.capability", {"settings": {}})
OVERRIDES = RecordSet(
    "/module-overrides", "overrides", "moduleId", "space.module_override", {"enabled": True, "settings": {}}
)

of_both = pytest.mark.parametrize("records", [CAPABILITIES, OVERRIDES], ids=lambda each: each.list_name)


@of_both
class TestBoth:
    def test_a_new_record_is_listed_last(self, api, organization, space, records):
        answer = records.post(space, "video-calls", settings={"most": 3})
        assert (answer.status, answer.location) == (201, f"{space.path}{records.path}/video-calls")
        expected = {**records.default_fields, "version": 1, "spaceId": space.id, records.key_name: "video-calls"}
        shown = {name: value for name, value in answer.json.items() if name not in ("id", "createdAt", "updatedAt")}
        assert shown == {**expected, "settings": {"most": 3}}
        assert space.get(f"{records.path}/video-calls").text == answer.text
        target = {"type": records.event, "id": answer.json["id"], "name": "video-calls"}
        assert list_entries(api, organization)[0]["target"] == target
        second = records.post(space, "chat").json
        assert {name: second[name] for name in records.default_fields} == records.default_fields
        assert records.list_keys(space) == ["video-calls", "chat"]

    def test_the_set_is_replaced_and_unchanged_records_stay(self, api, organization, space, records):
        first = records.put(space, "chat", "polls").json["items"]
        answer = records.put(space, "maps", "polls", "archive")
        assert answer.json == space.get(records.path).json
        assert records.list_keys(space) == ["polls", "maps", "archive"]
        assert answer.json["items"][0] == first[1]
        log, record = list_entries(api, organization), space.read()
        assert records.put(space, "archive", "polls", "maps").json == answer.json
        assert (list_entries(api, organization), space.read()) == (log, record)
        assert (record["version"], log[0]["target"]["name"]) == (3, "Looms")
        assert records.put(space).json == {"items": [], "nextCursor": None}

    def test_a_set_has_at_most_forty_records_which_forty_others_replace(self, space, records):
        list_path = f"/{records.list_name}"
        assert records.put(space, "a", "b", "a").errors == {f"{list_path}/2/{records.key_name}": "repeated"}
        assert records.put(space, *(f"own-{n}" for n in range(41))).errors == {list_path: "too_many"}
        assert space.put(records.path, {}).errors == {list_path: "required"}
        assert records.list_keys(space) == []
        for prefix in ("one", "own"):
            keys = [f"{prefix}-{n}" for n in range(40)]
            answer = records.put(space, *keys)
            assert (answer.status, [item[records.key_name] for item in answer.json["items"]]) == (200, keys)
        assert records.post(space, "more").status_and_code == "409 limit_exceeded"
        assert len(records.list_keys(space)) == 40

    def test_a_removed_record_is_not_found(self, api, organization, space, platform, new_space, records):
        records.put(space, "chat", "polls")
        path = f"{records.path}/chat"
        assert new_space(platform, name="Mills").delete(path).status_and_code == "404 not_found"
        assert space.delete(path).status == 204
        assert records.list_keys(space) == ["polls"]
        assert list_entries(api, organization)[0]["type"] == f"{records.event}.removed"
        for key in ("chat", "Polls", "-", "%23", "a%2Fb"):
            assert space.delete(f"{records.path}/{key}").status_and_code == "404 not_found", key

    def test_the_set_is_visible_with_the_space(self, space, mary, records):
        records.post(space, "chat")
        paths = (records.path, f"{records.path}/chat", "/effective-modules")
        assert [space.get(path, caller=mary).status for path in paths] == [200] * 3
        space.update(visibility="private")
        assert [space.get(path, caller=mary).status_and_code for path in paths] == ["404 not_found"] * 3


def test_a_duplicate_capability_is_rejected(space):
    CAPABILITIES.post(space, "chat")
    duplicate = CAPABILITIES.post(space, "chat", settings={"a": 1})
    assert duplicate.status_and_code == "409 already_exists"
    assert duplicate.errors == {"/capabilityKey": "already_exists"}
    assert CAPABILITIES.post(space, "Chat").status == 201


def test_an_override_can_be_changed_even_if_there_are_forty(space):
    first = OVERRIDES.put(space, *(f"own-{n}" for n in range(40))).json["items"][7]
    changed = OVERRIDES.post(space, "own-7", enabled=False, settings={"b": 1})
    assert (changed.status, "Location" in changed.headers) == (200, False)
    changes = {"enabled": False, "settings": {"b": 1}, "version": 2, "updatedAt": changed.json["updatedAt"]}
    assert changed.json == {**first, **changes}


def test_invalid_fields_of_an_override_are_rejected(space):
    answer = OVERRIDES.post(space, "-", enabled="yes", settings={"": 1})
    assert answer.errors == {"/moduleId": "malformed", "/enabled": "wrong_type", "/settings": "malformed"}
    assert space.post(OVERRIDES.path, {}).errors == {"/moduleId": "required"}
