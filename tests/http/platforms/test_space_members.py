"""Test the members of a space: listing, adding, updating and removing them, joining and leaving."""

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller, Person
from tests.harness.organizations import create_api_key
from tests.harness.platforms import SpaceClient, add_platform_member, add_space_member


@pytest.fixture
def platform(new_platform, stranger):
    """A platform of Ada's organization, of which Sophie is only a platform member."""
    platform = new_platform()
    add_platform_member(platform, stranger)
    return platform


@pytest.fixture
def private_space(platform, new_space):
    """A private space."""
    return new_space(platform, name="Cell", visibility="private")


def set_role(space: SpaceClient, person: Person, role: str, caller: Caller | None = None) -> ApiResponse:
    return space.patch(f"/members/{person.id}", {"role": role}, caller=caller or space.platform.owner)


def join(space: SpaceClient, person: Person) -> Json:
    answer = space.post("/join", caller=person)
    assert answer.status == 200, answer.text
    return answer.json


class TestJoinSpace:
    def test_members_of_the_platform_join_an_open_space_once(self, api, organization, space, mary, stranger):
        for person in (stranger, mary):
            first = join(space, person)
            assert (first["role"], first["email"]) == ("member", person.email)
            (entry, *_) = log_before = list_entries(api, organization)
            assert (entry["type"], entry["data"]) == ("space.member.added", first)
            assert join(space, person) == first
            assert list_entries(api, organization) == log_before
            answer = space.get(f"/members/{person.id}", caller=mary)
            assert (answer.json | {"email": person.email}, bool(answer.etag)) == (first, True)

    def test_only_members_and_admins_join_a_private_space(self, platform, private_space, grace, mary, stranger):
        for person in (mary, stranger):
            assert private_space.post("/join", caller=person).status_and_code == "404 not_found"
        assert join(private_space, grace)["role"] == "member"
        add_space_member(private_space, mary, "editor")
        assert join(private_space, mary)["role"] == "editor"
        assert platform.patch(f"/members/{stranger.id}", {"role": "admin"}, caller=grace).status == 200
        assert join(private_space, stranger)["role"] == "member"


class TestListSpaceMembers:
    def test_is_in_order_of_joining_with_email_addresses_for_admins(self, space, grace, mary, stranger):
        for person in (stranger, mary):
            join(space, person)
        for limit in (1, 100):
            listed = space.get_items("/members", caller=mary, query={"limit": limit})
            assert [member["username"] for member in listed] == ["ada", "stranger", "mary"]
            assert [member["email"] for member in listed] == [None, None, mary.email]
        assert None not in [member["email"] for member in space.get_items("/members", caller=grace)]

    def test_of_a_private_space_requires_access_to_it(self, api, organization, private_space, grace, mary):
        assert private_space.get("/members", caller=mary).status_and_code == "404 not_found"
        assert private_space.get("/members", caller=grace).status == 200
        for scopes, status in (
            (["admin"], 200),
            (["read"], 404),
            (["members:read"], 404),
            (["members:read", "spaces:read"], 200),
        ):
            key = create_api_key(api, organization, *scopes)
            assert private_space.get("/members", caller=key).status == status, scopes


class TestUpdateSpaceMember:
    def test_changes_a_role_and_adds_members_of_the_platform(
        self, api, organization, private_space, grace, mary, stranger, operator
    ):
        for person in (mary, stranger):
            addition = set_role(private_space, person, "member", caller=grace)
            assert (addition.status, addition.json["version"], addition.json["name"]) == (200, 1, person.name)
            assert list_entries(api, organization)[0]["type"] == "space.member.added"
            assert private_space.patch("", {}, caller=person).status_and_code == "403 insufficient_role"
            assert set_role(private_space, person, "admin").json["version"] == 2
            assert list_entries(api, organization)[0]["type"] == "space.member.updated"
            assert private_space.patch("", {}, caller=person).status == 200
        assert set_role(private_space, operator, "member").status_and_code == "404 not_found"

    def test_requires_an_admin(self, api, organization, space, mary, edith, stranger):
        assert set_role(space, mary, "member", caller=edith).status_and_code == "403 insufficient_role"
        add_space_member(space, stranger, "admin")
        assert set_role(space, mary, "admin", caller=stranger).status == 200
        assert set_role(space, mary, "owner", caller=stranger).errors == {"/role": "not_one_of"}
        members_key = create_api_key(api, organization, "members:write")
        assert set_role(space, edith, "editor", caller=members_key).status == 200
        assert set_role(space, edith, "admin", caller=members_key).status_and_code == "403 insufficient_role"


def test_removing_a_member_revokes_only_the_access_of_the_membership(api, organization, space, private_space, stranger):
    for each, status in ((space, 200), (private_space, 404)):
        set_role(each, stranger, "admin")
        assert each.delete(f"/members/{stranger.id}").status == 204
        assert each.get(caller=stranger).status == status
        assert list_entries(api, organization)[0]["type"] == "space.member.removed"
        assert each.delete(f"/members/{stranger.id}").status_and_code == "404 not_found"


def test_leaving_a_space_ends_the_membership(api, organization, private_space, ada, mary, stranger):
    add_space_member(private_space, stranger)
    assert private_space.post("/leave", caller=stranger).status == 204
    assert private_space.get(caller=stranger).status_and_code == "404 not_found"
    (entry, *_) = list_entries(api, organization)
    assert (entry["type"], entry["data"]["userId"]) == ("space.member.removed", stranger.id)
    statuses = [private_space.post("/leave", caller=person).status for person in (stranger, mary, ada, ada)]
    assert statuses == [404, 404, 204, 404]
