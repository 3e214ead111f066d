"""The members of a space: who is listed, who may change what of whom, who joins and leaves."""

import pytest

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, Running, comes_in, make_space, run_platform, takes_part


@pytest.fixture
def platform(api: Api, organization: Founded, stranger: Person) -> Running:
    """A platform of Ada's organization, of which Sophie is a member and nothing more."""
    platform = run_platform(api, organization)
    takes_part(platform, stranger)
    return platform


@pytest.fixture
def space(api: Api, platform: Running) -> Room:
    """An open space."""
    return make_space(api, platform)


@pytest.fixture
def cell(api: Api, platform: Running) -> Room:
    """A private space."""
    return make_space(api, platform, name="Cell", visibility="private")


def of(space: Room, person: Person) -> str:
    return f"{space.path}/members/{person.id}"


def gives(api: Api, space: Room, person: Person, role: str, as_: Caller | None = None) -> Answer:
    return api.patch(of(space, person), as_=as_ or space.platform.owner, json={"role": role})


def join(api: Api, space: Room, person: Person) -> Json:
    answer = api.post(f"{space.path}/join", as_=person)
    assert answer.status == 200, answer.text
    return answer.json


class TestJoinSpace:
    def test_whoever_takes_part_in_the_platform_joins_an_open_one_once(
        self, api: Api, organization: Founded, space: Room, mary: Person, stranger: Person
    ) -> None:
        for person in (stranger, mary):
            first = join(api, space, person)
            assert (first["role"], first["email"]) == ("member", person.email)
            (entry, *_) = before = log_of(api, organization)
            assert (entry["type"], entry["data"]) == ("space.member.added", first)
            assert join(api, space, person) == first
            assert log_of(api, organization) == before

    def test_others_do_not(self, api: Api, organization: Founded, space: Room, operator: Person) -> None:
        assert api.post(f"{space.path}/join", as_=operator).code == "404 not_found"
        key = make_key(api, organization, "admin")
        assert api.post(f"{space.path}/join", as_=key).code == "403 forbidden"

    def test_a_private_one_is_there_for_its_members_and_for_admins(
        self, api: Api, platform: Running, cell: Room, grace: Person, mary: Person, stranger: Person
    ) -> None:
        for person in (mary, stranger):
            assert api.post(f"{cell.path}/join", as_=person).code == "404 not_found"
        assert join(api, cell, grace)["role"] == "member"
        comes_in(cell, mary, "editor")
        assert join(api, cell, mary)["role"] == "editor"
        assert api.patch(f"{platform.path}/members/{stranger.id}", as_=grace, json={"role": "admin"}).status == 200
        assert join(api, cell, stranger)["role"] == "member"


class TestListSpaceMembers:
    def test_is_in_the_order_they_joined_with_addresses_for_admins(
        self, api: Api, space: Room, grace: Person, mary: Person, stranger: Person
    ) -> None:
        for person in (stranger, mary):
            join(api, space, person)
        path = f"{space.path}/members"
        assert [m["username"] for m in api.items(path, as_=mary, query={"limit": 1})] == ["ada", "stranger", "mary"]
        assert [m["email"] for m in api.items(path, as_=mary)] == [None, None, mary.email]
        assert None not in [m["email"] for m in api.items(path, as_=grace)]

    def test_of_a_private_one_is_for_those_who_see_it(
        self, api: Api, organization: Founded, cell: Room, grace: Person, mary: Person
    ) -> None:
        path = f"{cell.path}/members"
        assert api.get(path, as_=mary).code == "404 not_found"
        assert api.get(path, as_=grace).status == 200
        seeing = {"admin": 200, "read": 404, "members:read": 404}
        assert {s: api.get(path, as_=make_key(api, organization, s)).status for s in seeing} == seeing
        assert api.get(path, as_=make_key(api, organization, "members:read", "spaces:read")).status == 200


class TestGetSpaceMember:
    def test_is_found_with_an_etag(self, api: Api, space: Room, mary: Person, stranger: Person) -> None:
        joined = join(api, space, mary)
        answer = api.get(of(space, mary), as_=mary)
        assert (answer.json, bool(answer.etag)) == (joined, True)
        assert api.get(of(space, stranger), as_=mary).code == "404 not_found"


class TestUpdateSpaceMember:
    def test_changes_a_role_and_adds_whoever_takes_part_in_the_platform(
        self, api: Api, organization: Founded, cell: Room, grace: Person, mary: Person, stranger: Person
    ) -> None:
        for person in (mary, stranger):
            added = gives(api, cell, person, "member", as_=grace)
            assert (added.status, added.json["version"], added.json["name"]) == (200, 1, person.name)
            assert log_of(api, organization)[0]["type"] == "space.member.added"
            assert api.patch(cell.path, as_=person, json={}).code == "403 insufficient_role"
            assert gives(api, cell, person, "admin").json["version"] == 2
            assert log_of(api, organization)[0]["type"] == "space.member.updated"
            assert api.patch(cell.path, as_=person, json={}).status == 200

    def test_adds_nobody_else(self, api: Api, space: Room, operator: Person) -> None:
        assert gives(api, space, operator, "member").code == "404 not_found"

    def test_is_for_its_admins(
        self, api: Api, organization: Founded, space: Room, mary: Person, edith: Person, stranger: Person
    ) -> None:
        assert gives(api, space, mary, "member", as_=edith).code == "403 insufficient_role"
        comes_in(space, stranger, "admin")
        assert gives(api, space, mary, "admin", as_=stranger).status == 200
        assert gives(api, space, mary, "owner", as_=stranger).faults == {"/role": "not_one_of"}
        area = make_key(api, organization, "members:write")
        assert gives(api, space, edith, "editor", as_=area).status == 200
        assert gives(api, space, edith, "admin", as_=area).code == "403 insufficient_role"


class TestRemoveSpaceMember:
    def test_takes_what_the_membership_gave_and_no_more(
        self, api: Api, organization: Founded, space: Room, cell: Room, stranger: Person
    ) -> None:
        for room, status in ((space, 200), (cell, 404)):
            gives(api, room, stranger, "admin")
            assert api.delete(of(room, stranger), as_=room.platform.owner).status == 204
            assert api.get(room.path, as_=stranger).status == status
            assert log_of(api, organization)[0]["type"] == "space.member.removed"
            assert api.delete(of(room, stranger), as_=room.platform.owner).code == "404 not_found"


class TestLeaveSpace:
    def test_takes_the_membership(
        self, api: Api, organization: Founded, cell: Room, mary: Person, stranger: Person
    ) -> None:
        comes_in(cell, stranger)
        assert api.post(f"{cell.path}/leave", as_=stranger).status == 204
        assert api.get(cell.path, as_=stranger).code == "404 not_found"
        (entry, *_) = log_of(api, organization)
        assert (entry["type"], entry["data"]["userId"]) == ("space.member.removed", stranger.id)
        for person in (stranger, mary, organization.owner, organization.owner):
            status = api.post(f"{cell.path}/leave", as_=person).status
        assert status == 404
