"""Test the members of a space: listing, adding, updating and removing them, joining and leaving."""

import pytest

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, Running, comes_in, make_space, run_platform, takes_part


@pytest.fixture
def platform(api: Api, organization: Founded, stranger: Person) -> Running:
    """Return a platform of Ada's organization, of which Sophie is only a platform member."""
    platform = run_platform(api, organization)
    takes_part(platform, stranger)
    return platform


@pytest.fixture
def space(api: Api, platform: Running) -> Room:
    """Return an open space."""
    return make_space(api, platform)


@pytest.fixture
def private_space(api: Api, platform: Running) -> Room:
    """Return a private space."""
    return make_space(api, platform, name="Cell", visibility="private")


def member_path(space: Room, person: Person) -> str:
    return f"{space.path}/members/{person.id}"


def set_role(api: Api, space: Room, person: Person, role: str, as_: Caller | None = None) -> Answer:
    return api.patch(member_path(space, person), as_=as_ or space.platform.owner, json={"role": role})


def join(api: Api, space: Room, person: Person) -> Json:
    answer = api.post(f"{space.path}/join", as_=person)
    assert answer.status == 200, answer.text
    return answer.json


class TestJoinSpace:
    def test_members_of_the_platform_join_an_open_space_once(
        self, api: Api, organization: Founded, space: Room, mary: Person, stranger: Person
    ) -> None:
        for person in (stranger, mary):
            first = join(api, space, person)
            assert (first["role"], first["email"]) == ("member", person.email)
            (entry, *_) = log_before = log_of(api, organization)
            assert (entry["type"], entry["data"]) == ("space.member.added", first)
            assert join(api, space, person) == first
            assert log_of(api, organization) == log_before

    def test_others_cannot_join(self, api: Api, organization: Founded, space: Room, operator: Person) -> None:
        assert api.post(f"{space.path}/join", as_=operator).code == "404 not_found"
        key = make_key(api, organization, "admin")
        assert api.post(f"{space.path}/join", as_=key).code == "403 forbidden"

    def test_only_members_and_admins_join_a_private_space(
        self, api: Api, platform: Running, private_space: Room, grace: Person, mary: Person, stranger: Person
    ) -> None:
        for person in (mary, stranger):
            assert api.post(f"{private_space.path}/join", as_=person).code == "404 not_found"
        assert join(api, private_space, grace)["role"] == "member"
        comes_in(private_space, mary, "editor")
        assert join(api, private_space, mary)["role"] == "editor"
        assert api.patch(f"{platform.path}/members/{stranger.id}", as_=grace, json={"role": "admin"}).status == 200
        assert join(api, private_space, stranger)["role"] == "member"


class TestListSpaceMembers:
    def test_is_in_order_of_joining_with_email_addresses_for_admins(
        self, api: Api, space: Room, grace: Person, mary: Person, stranger: Person
    ) -> None:
        for person in (stranger, mary):
            join(api, space, person)
        path = f"{space.path}/members"
        assert [member["username"] for member in api.items(path, as_=mary, query={"limit": 1})] == [
            "ada",
            "stranger",
            "mary",
        ]
        assert [member["email"] for member in api.items(path, as_=mary)] == [None, None, mary.email]
        assert None not in [member["email"] for member in api.items(path, as_=grace)]

    def test_of_a_private_space_requires_access_to_it(
        self, api: Api, organization: Founded, private_space: Room, grace: Person, mary: Person
    ) -> None:
        path = f"{private_space.path}/members"
        assert api.get(path, as_=mary).code == "404 not_found"
        assert api.get(path, as_=grace).status == 200
        statuses_by_scope = {"admin": 200, "read": 404, "members:read": 404}
        assert {
            scope: api.get(path, as_=make_key(api, organization, scope)).status for scope in statuses_by_scope
        } == statuses_by_scope
        assert api.get(path, as_=make_key(api, organization, "members:read", "spaces:read")).status == 200


class TestGetSpaceMember:
    def test_returns_the_member_with_an_etag(self, api: Api, space: Room, mary: Person, stranger: Person) -> None:
        member = join(api, space, mary)
        answer = api.get(member_path(space, mary), as_=mary)
        assert (answer.json, bool(answer.etag)) == (member, True)
        assert api.get(member_path(space, stranger), as_=mary).code == "404 not_found"


class TestUpdateSpaceMember:
    def test_changes_a_role_and_adds_members_of_the_platform(
        self, api: Api, organization: Founded, private_space: Room, grace: Person, mary: Person, stranger: Person
    ) -> None:
        for person in (mary, stranger):
            addition = set_role(api, private_space, person, "member", as_=grace)
            assert (addition.status, addition.json["version"], addition.json["name"]) == (200, 1, person.name)
            assert log_of(api, organization)[0]["type"] == "space.member.added"
            assert api.patch(private_space.path, as_=person, json={}).code == "403 insufficient_role"
            assert set_role(api, private_space, person, "admin").json["version"] == 2
            assert log_of(api, organization)[0]["type"] == "space.member.updated"
            assert api.patch(private_space.path, as_=person, json={}).status == 200

    def test_does_not_add_others(self, api: Api, space: Room, operator: Person) -> None:
        assert set_role(api, space, operator, "member").code == "404 not_found"

    def test_requires_an_admin(
        self, api: Api, organization: Founded, space: Room, mary: Person, edith: Person, stranger: Person
    ) -> None:
        assert set_role(api, space, mary, "member", as_=edith).code == "403 insufficient_role"
        comes_in(space, stranger, "admin")
        assert set_role(api, space, mary, "admin", as_=stranger).status == 200
        assert set_role(api, space, mary, "owner", as_=stranger).faults == {"/role": "not_one_of"}
        members_key = make_key(api, organization, "members:write")
        assert set_role(api, space, edith, "editor", as_=members_key).status == 200
        assert set_role(api, space, edith, "admin", as_=members_key).code == "403 insufficient_role"


class TestRemoveSpaceMember:
    def test_revokes_only_the_access_of_the_membership(
        self, api: Api, organization: Founded, space: Room, private_space: Room, stranger: Person
    ) -> None:
        for each_space, status in ((space, 200), (private_space, 404)):
            set_role(api, each_space, stranger, "admin")
            assert api.delete(member_path(each_space, stranger), as_=each_space.platform.owner).status == 204
            assert api.get(each_space.path, as_=stranger).status == status
            assert log_of(api, organization)[0]["type"] == "space.member.removed"
            assert api.delete(member_path(each_space, stranger), as_=each_space.platform.owner).code == "404 not_found"


class TestLeaveSpace:
    def test_ends_the_membership(
        self, api: Api, organization: Founded, private_space: Room, mary: Person, stranger: Person
    ) -> None:
        comes_in(private_space, stranger)
        assert api.post(f"{private_space.path}/leave", as_=stranger).status == 204
        assert api.get(private_space.path, as_=stranger).code == "404 not_found"
        (entry, *_) = log_of(api, organization)
        assert (entry["type"], entry["data"]["userId"]) == ("space.member.removed", stranger.id)
        for person in (stranger, mary, organization.owner, organization.owner):
            status = api.post(f"{private_space.path}/leave", as_=person).status
        assert status == 404
