"""Test the members of a space: listing, adding, updating and removing them, joining and leaving."""

import pytest

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller, Person
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.platforms import (
    CreatedPlatform,
    CreatedSpace,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization, stranger: Person) -> CreatedPlatform:
    """Return a platform of Ada's organization, of which Sophie is only a platform member."""
    platform = create_platform(api, organization)
    add_platform_member(platform, stranger)
    return platform


@pytest.fixture
def space(api: ApiClient, platform: CreatedPlatform) -> CreatedSpace:
    """Return an open space."""
    return create_space(api, platform)


@pytest.fixture
def private_space(api: ApiClient, platform: CreatedPlatform) -> CreatedSpace:
    """Return a private space."""
    return create_space(api, platform, name="Cell", visibility="private")


def member_path(space: CreatedSpace, person: Person) -> str:
    return f"{space.path}/members/{person.id}"


def set_role(
    api: ApiClient, space: CreatedSpace, person: Person, role: str, caller: Caller | None = None
) -> ApiResponse:
    return api.patch(member_path(space, person), caller=caller or space.platform.owner, json={"role": role})


def join(api: ApiClient, space: CreatedSpace, person: Person) -> Json:
    answer = api.post(f"{space.path}/join", caller=person)
    assert answer.status == 200, answer.text
    return answer.json


class TestJoinSpace:
    def test_members_of_the_platform_join_an_open_space_once(self, api, organization, space, mary, stranger):
        for person in (stranger, mary):
            first = join(api, space, person)
            assert (first["role"], first["email"]) == ("member", person.email)
            (entry, *_) = log_before = list_entries(api, organization)
            assert (entry["type"], entry["data"]) == ("space.member.added", first)
            assert join(api, space, person) == first
            assert list_entries(api, organization) == log_before

    def test_others_cannot_join(self, api, organization, space, operator):
        assert api.post(f"{space.path}/join", caller=operator).status_and_code == "404 not_found"
        key = create_api_key(api, organization, "admin")
        assert api.post(f"{space.path}/join", caller=key).status_and_code == "403 forbidden"

    def test_only_members_and_admins_join_a_private_space(self, api, platform, private_space, grace, mary, stranger):
        for person in (mary, stranger):
            assert api.post(f"{private_space.path}/join", caller=person).status_and_code == "404 not_found"
        assert join(api, private_space, grace)["role"] == "member"
        add_space_member(private_space, mary, "editor")
        assert join(api, private_space, mary)["role"] == "editor"
        assert api.patch(f"{platform.path}/members/{stranger.id}", caller=grace, json={"role": "admin"}).status == 200
        assert join(api, private_space, stranger)["role"] == "member"


class TestListSpaceMembers:
    def test_is_in_order_of_joining_with_email_addresses_for_admins(self, api, space, grace, mary, stranger):
        for person in (stranger, mary):
            join(api, space, person)
        path = f"{space.path}/members"
        assert [member["username"] for member in api.get_items(path, caller=mary, query={"limit": 1})] == [
            "ada",
            "stranger",
            "mary",
        ]
        assert [member["email"] for member in api.get_items(path, caller=mary)] == [None, None, mary.email]
        assert None not in [member["email"] for member in api.get_items(path, caller=grace)]

    def test_of_a_private_space_requires_access_to_it(self, api, organization, private_space, grace, mary):
        path = f"{private_space.path}/members"
        assert api.get(path, caller=mary).status_and_code == "404 not_found"
        assert api.get(path, caller=grace).status == 200
        statuses_by_scope = {"admin": 200, "read": 404, "members:read": 404}
        assert {
            scope: api.get(path, caller=create_api_key(api, organization, scope)).status for scope in statuses_by_scope
        } == statuses_by_scope
        assert api.get(path, caller=create_api_key(api, organization, "members:read", "spaces:read")).status == 200


class TestGetSpaceMember:
    def test_returns_the_member_with_an_etag(self, api, space, mary, stranger):
        member = join(api, space, mary)
        answer = api.get(member_path(space, mary), caller=mary)
        assert (answer.json, bool(answer.etag)) == (member, True)
        assert api.get(member_path(space, stranger), caller=mary).status_and_code == "404 not_found"


class TestUpdateSpaceMember:
    def test_changes_a_role_and_adds_members_of_the_platform(
        self, api, organization, private_space, grace, mary, stranger
    ):
        for person in (mary, stranger):
            addition = set_role(api, private_space, person, "member", caller=grace)
            assert (addition.status, addition.json["version"], addition.json["name"]) == (200, 1, person.name)
            assert list_entries(api, organization)[0]["type"] == "space.member.added"
            assert api.patch(private_space.path, caller=person, json={}).status_and_code == "403 insufficient_role"
            assert set_role(api, private_space, person, "admin").json["version"] == 2
            assert list_entries(api, organization)[0]["type"] == "space.member.updated"
            assert api.patch(private_space.path, caller=person, json={}).status == 200

    def test_does_not_add_others(self, api, space, operator):
        assert set_role(api, space, operator, "member").status_and_code == "404 not_found"

    def test_requires_an_admin(self, api, organization, space, mary, edith, stranger):
        assert set_role(api, space, mary, "member", caller=edith).status_and_code == "403 insufficient_role"
        add_space_member(space, stranger, "admin")
        assert set_role(api, space, mary, "admin", caller=stranger).status == 200
        assert set_role(api, space, mary, "owner", caller=stranger).errors == {"/role": "not_one_of"}
        members_key = create_api_key(api, organization, "members:write")
        assert set_role(api, space, edith, "editor", caller=members_key).status == 200
        assert set_role(api, space, edith, "admin", caller=members_key).status_and_code == "403 insufficient_role"


class TestRemoveSpaceMember:
    def test_revokes_only_the_access_of_the_membership(self, api, organization, space, private_space, stranger):
        for each_space, status in ((space, 200), (private_space, 404)):
            set_role(api, each_space, stranger, "admin")
            assert api.delete(member_path(each_space, stranger), caller=each_space.platform.owner).status == 204
            assert api.get(each_space.path, caller=stranger).status == status
            assert list_entries(api, organization)[0]["type"] == "space.member.removed"
            assert (
                api.delete(member_path(each_space, stranger), caller=each_space.platform.owner).status_and_code
                == "404 not_found"
            )


class TestLeaveSpace:
    def test_ends_the_membership(self, api, organization, private_space, mary, stranger):
        add_space_member(private_space, stranger)
        assert api.post(f"{private_space.path}/leave", caller=stranger).status == 204
        assert api.get(private_space.path, caller=stranger).status_and_code == "404 not_found"
        (entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["data"]["userId"]) == ("space.member.removed", stranger.id)
        for person in (stranger, mary, organization.owner, organization.owner):
            status = api.post(f"{private_space.path}/leave", caller=person).status
        assert status == 404
