"""Spaces, their members, and their capabilities and module overrides."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.callers import Caller, Person
from tests.harness.organizations import create_api_key
from tests.harness.platforms import PlatformClient, SpaceClient, add_platform_member, add_space_member

INSUFFICIENT_ROLE, NOT_FOUND = "403 insufficient_role", "404 not_found"


def list_names(platform: PlatformClient, caller: Caller, limit: int = 100) -> list[str]:
    return [space["name"] for space in platform.get_items("/spaces", caller=caller, query={"limit": limit})]


class TestCreateSpace:
    def test_a_key_cannot_create_a_private_space_that_it_would_not_see(self, api, organization, platform):
        body = {"platformId": platform.id, "name": "Office", "visibility": "private"}
        forbidden = api.post("/spaces", caller=create_api_key(api, organization, "write"), json=body)
        assert forbidden.problem_and_pointers == ("403 insufficient_scope", ["/visibility"])
        key = create_api_key(api, organization, "spaces:write")
        creation = api.post("/spaces", caller=key, json=body)
        assert api.get(creation.location, caller=key).json == creation.json

    def test_a_platform_is_required_in_which_the_slug_is_unique(self, api, platform, other_platform, new_space):
        assert api.post("/spaces", caller=platform.owner, json={"name": "X"}).errors == {"/platformId": "required"}
        new_space(platform, slug="looms")
        body = {"platformId": platform.id, "name": "Looms", "slug": "looms"}
        assert api.post("/spaces", caller=platform.owner, json=body).status_and_code == "409 slug_taken"
        assert new_space(platform, name="Looms").record["slug"].startswith("looms-")
        assert new_space(other_platform, slug="looms").record["slug"] == "looms"


class TestListPlatformSpaces:
    def test_spaces_are_ordered_by_position_of_which_null_is_the_last(self, platform, new_space, mary):
        for name, position in (("C", 5), ("A", 1), ("B", 1)):
            space = new_space(platform, name=name, position=position)
        for caller in (platform.owner, mary):
            for limit in (1, 2, 100):
                assert list_names(platform, caller, limit) == ["A", "B", "C"]
        assert space.update(position=None)["position"] == 6
        assert list_names(platform, mary) == ["A", "C", "B"]

    def test_private_spaces_are_listed_for_their_members_and_for_admins(
        self, api, organization, platform, new_space, grace, mary, edith
    ):
        for n in range(6):
            space = new_space(platform, name=str(n), visibility="private" if n % 2 else "open")
            if n in (2, 3):
                add_space_member(space, mary)
        keys = {scope: create_api_key(api, organization, scope) for scope in ("read", "spaces:read")}
        names = {grace: "012345", keys["spaces:read"]: "012345", mary: "0234", edith: "024", keys["read"]: "024"}
        for limit in (1, 2, 100):
            assert {caller: "".join(list_names(platform, caller, limit)) for caller in names} == names

    def test_a_cursor_continues_after_a_change_of_role(self, platform, new_space, mary, grace):
        for n in range(4):
            new_space(platform, name=str(n), visibility="private" if n % 2 else "open")
        for person, role, names in ((mary, "member", ["2"]), (grace, "editor", ["1", "2", "3"])):
            add_platform_member(platform, person, "admin")
            cursor = platform.get("/spaces", caller=person, query={"limit": 1}).json["nextCursor"]
            platform.patch(f"/members/{person.id}", {"role": role})
            items = platform.get("/spaces", caller=person, query={"cursor": cursor}).json["items"]
            assert [item["name"] for item in items] == names


class TestOneSpace:
    def test_a_private_space_is_invisible_to_others(self, api, organization, platform, new_space, edith, mary, grace):
        space = new_space(platform, visibility="private")
        add_space_member(space, mary)
        add_platform_member(platform, edith, "editor")
        keys = {scope: create_api_key(api, organization, scope) for scope in ("admin", "spaces:read", "write")}
        for caller in (mary, grace, keys["admin"], keys["spaces:read"]):
            assert space.get(caller=caller).status == 200
        for caller in (edith, keys["write"]):
            for method, body in (("GET", None), ("PATCH", {"name": "X"}), ("DELETE", None)):
                answer = space.request(method, "", body, caller=caller)
                missing_space_answer = api.request(method, f"/spaces/{platform.id}", caller=caller, json=body)
                assert answer.comparable_problem == missing_space_answer.comparable_problem
                assert answer.status_and_code == NOT_FOUND

    def test_editors_create_spaces_as_their_admins_but_only_admins_of_the_platform_delete_them(
        self, platform, new_space, edith, mary
    ):
        add_platform_member(platform, edith, "editor")
        space = new_space(platform, caller=edith, visibility="private")
        assert space.patch("", {"name": "Edith's"}).status == 200
        assert space.delete(caller=edith).status_and_code == INSUFFICIENT_ROLE
        add_platform_member(platform, mary, "admin")
        assert space.delete(caller=mary).status == 204
        assert space.get(caller=mary).status_and_code == NOT_FOUND
        assert new_space(platform, slug=space.record["slug"]).id != space.id


@pytest.fixture
def platform_of_sophie(platform, stranger):
    """The platform, of which Sophie is only a platform member."""
    add_platform_member(platform, stranger)
    return platform


@pytest.fixture
def private_space(platform_of_sophie, new_space):
    return new_space(platform_of_sophie, name="Cell", visibility="private")


def set_role(space: SpaceClient, person: Person, role: str, caller: Caller | None = None) -> ApiResponse:
    return space.patch(f"/members/{person.id}", {"role": role}, caller=caller or space.platform.owner)


def join(space: SpaceClient, person: Person) -> Json:
    return space.post("/join", caller=person).expect(200).json


@pytest.mark.usefixtures("platform_of_sophie")
class TestSpaceMembers:
    def test_members_of_the_platform_join_an_open_space_once(self, entries, space, mary, stranger):
        for person in (stranger, mary):
            first = join(space, person)
            assert (first["role"], first["email"]) == ("member", person.email)
            log_before = entries()
            assert (log_before[0]["type"], log_before[0]["data"]) == ("space.member.added", first)
            assert join(space, person) == first
            assert entries() == log_before
            answer = space.get(f"/members/{person.id}", caller=mary)
            assert (answer.json | {"email": person.email}, bool(answer.etag)) == (first, True)

    def test_only_members_and_admins_join_a_private_space(self, platform, private_space, grace, mary, stranger):
        for person in (mary, stranger):
            assert private_space.post("/join", caller=person).status_and_code == NOT_FOUND
        assert join(private_space, grace)["role"] == "member"
        add_space_member(private_space, mary, "editor")
        assert join(private_space, mary)["role"] == "editor"
        assert platform.patch(f"/members/{stranger.id}", {"role": "admin"}, caller=grace).status == 200
        assert join(private_space, stranger)["role"] == "member"

    def test_members_are_listed_in_order_of_joining_with_email_addresses_for_admins(self, space, grace, mary, stranger):
        for person in (stranger, mary):
            join(space, person)
        for limit in (1, 100):
            listed = space.get_items("/members", caller=mary, query={"limit": limit})
            assert [member["username"] for member in listed] == ["ada", "stranger", "mary"]
            assert [member["email"] for member in listed] == [None, None, mary.email]
        assert None not in [member["email"] for member in space.get_items("/members", caller=grace)]

    def test_members_of_a_private_space_are_listed_for_callers_with_access_to_it(
        self, api, organization, private_space, grace, mary
    ):
        expected = {mary: 404, grace: 200}
        scopes = {("admin",): 200, ("read",): 404, ("members:read",): 404, ("members:read", "spaces:read"): 200}
        expected |= {create_api_key(api, organization, *each): status for each, status in scopes.items()}
        assert {caller: private_space.get("/members", caller=caller).status for caller in expected} == expected

    def test_setting_a_role_changes_it_and_adds_members_of_the_platform(
        self, entries, private_space, grace, mary, stranger, operator
    ):
        for person in (mary, stranger):
            addition = set_role(private_space, person, "member", caller=grace)
            assert (addition.status, addition.json["version"], addition.json["name"]) == (200, 1, person.name)
            assert entries()[0]["type"] == "space.member.added"
            assert private_space.patch("", {}, caller=person).status_and_code == INSUFFICIENT_ROLE
            assert set_role(private_space, person, "admin").json["version"] == 2
            assert entries()[0]["type"] == "space.member.updated"
            assert private_space.patch("", {}, caller=person).status == 200
        assert set_role(private_space, operator, "member").status_and_code == NOT_FOUND

    def test_admins_and_keys_set_roles_up_to_their_own(self, api, organization, space, mary, edith, stranger):
        assert set_role(space, mary, "member", caller=edith).status_and_code == INSUFFICIENT_ROLE
        add_space_member(space, stranger, "admin")
        assert set_role(space, mary, "admin", caller=stranger).status == 200
        assert set_role(space, mary, "owner", caller=stranger).errors == {"/role": "not_one_of"}
        members_key = create_api_key(api, organization, "members:write")
        assert set_role(space, edith, "editor", caller=members_key).status == 200
        assert set_role(space, edith, "admin", caller=members_key).status_and_code == INSUFFICIENT_ROLE

    def test_removing_a_member_revokes_only_the_access_of_the_membership(self, space, private_space, stranger):
        for each, status in ((space, 200), (private_space, 404)):
            set_role(each, stranger, "admin")
            assert each.delete(f"/members/{stranger.id}").status == 204
            assert each.get(caller=stranger).status == status
            assert each.delete(f"/members/{stranger.id}").status_and_code == NOT_FOUND

    def test_leaving_a_space_ends_the_membership(self, private_space, ada, mary, stranger):
        add_space_member(private_space, stranger)
        assert private_space.post("/leave", caller=stranger).status == 204
        assert private_space.get(caller=stranger).status_and_code == NOT_FOUND
        statuses = [private_space.post("/leave", caller=person).status for person in (stranger, mary, ada, ada)]
        assert statuses == [404, 404, 204, 404]


@dataclass(frozen=True)
class RecordSet:
    """A kind of record set of a space: its path, the name of its list in requests, and the key of its items."""

    path: str
    list_name: str
    key_name: str
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


CAPABILITIES = RecordSet("/capabilities", "capabilities", "capabilityKey", {"settings": {}})
OVERRIDES = RecordSet("/module-overrides", "overrides", "moduleId", {"enabled": True, "settings": {}})

of_both = pytest.mark.parametrize("records", [CAPABILITIES, OVERRIDES], ids=lambda each: each.list_name)


@of_both
class TestBoth:
    def test_a_new_record_is_listed_last(self, space, records):
        first = records.post(space, "video-calls", settings={"most": 3})
        assert space.get(f"{records.path}/video-calls").text == first.text
        second = records.post(space, "chat").json
        assert second | records.default_fields == second
        assert records.list_keys(space) == ["video-calls", "chat"]

    def test_the_set_is_replaced_and_unchanged_records_stay(self, entries, space, records):
        first = records.put(space, "chat", "polls").json["items"]
        answer = records.put(space, "maps", "polls", "archive")
        assert answer.json == space.get(records.path).json
        assert records.list_keys(space) == ["polls", "maps", "archive"]
        assert answer.json["items"][0] == first[1]
        log, record = entries(), space.read()
        assert records.put(space, "archive", "polls", "maps").json == answer.json
        assert (entries(), space.read()) == (log, record)
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

    def test_a_removed_record_is_not_found(self, space, platform, new_space, records):
        records.put(space, "chat", "polls")
        path = f"{records.path}/chat"
        assert new_space(platform, name="Mills").delete(path).status_and_code == "404 not_found"
        assert space.delete(path).status == 204
        assert records.list_keys(space) == ["polls"]
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
    assert duplicate.problem_and_errors == ("409 already_exists", {"/capabilityKey": "already_exists"})
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
