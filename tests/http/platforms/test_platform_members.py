"""Members of a platform: listing, changing, joining and leaving."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller, Issuer, Person
from tests.harness.invitations import ACCEPTANCE_PATH, create_invitation
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_api_key
from tests.harness.platforms import CreatedPlatform, add_platform_member, create_platform, create_space

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """A platform of Ada's organization that everyone can join."""
    return create_platform(api, organization, publish=True, joinPolicy="open")


def member_path(platform: CreatedPlatform, person: Person) -> str:
    return f"{platform.path}/members/{person.id}"


def set_role(
    api: ApiClient, platform: CreatedPlatform, person: Person, role: str, caller: Caller | None = None
) -> ApiResponse:
    return api.patch(member_path(platform, person), caller=caller or platform.owner, json={"role": role})


def join(api: ApiClient, platform: CreatedPlatform, person: Person) -> Json:
    answer = api.post(f"{platform.path}/join", caller=person)
    assert answer.status == 200, answer.text
    return answer.json


def list_usernames(api: ApiClient, platform: CreatedPlatform, caller: Caller, limit: int = 100) -> list[str]:
    listed = api.get_items(f"{platform.path}/members", caller=caller, query={"limit": limit})
    return [member["username"] for member in listed]


class TestListPlatformMembers:
    def test_members_with_an_own_membership_are_listed_in_the_order_they_joined(
        self, api, platform, ada, mary, edith, stranger
    ):
        assert list_usernames(api, platform, mary) == []
        for person in (stranger, mary, edith):
            join(api, platform, person)
        for limit in (1, 100):
            assert list_usernames(api, platform, mary, limit) == ["stranger", "mary", "edith"]
        assert ada.username not in list_usernames(api, platform, ada)

    def test_email_addresses_are_visible_to_admins_and_their_owners(self, api, platform, grace, mary, stranger):
        for person in (mary, stranger):
            join(api, platform, person)
        for caller, emails in ((grace, [mary.email, stranger.email]), (mary, [mary.email, None])):
            assert [m["email"] for m in api.get_items(f"{platform.path}/members", caller=caller)] == emails
        set_role(api, platform, stranger, "admin")
        assert [m["email"] for m in api.get_items(f"{platform.path}/members", caller=stranger)] == [
            mary.email,
            stranger.email,
        ]

    def test_strangers_do_not_find_the_list(self, api, platform, stranger, operator):
        for person in (stranger, operator):
            assert api.get(f"{platform.path}/members", caller=person).status_and_code == "404 not_found"


class TestGetPlatformMember:
    @pytest.fixture
    def membership(self, api: ApiClient, platform: CreatedPlatform, mary: Person) -> Json:
        return join(api, platform, mary)

    def test_a_member_is_found_by_id_and_by_username_in_any_case(self, api, platform, ada, mary, membership):
        paths = [mary.id, f"by-user/{mary.id}", "by-username/mary", "by-username/MaRy"]
        for path in paths:
            assert api.get(f"{platform.path}/members/{path}", caller=ada).json == membership

    @pytest.mark.usefixtures("membership")
    @pytest.mark.parametrize(
        "path",
        [
            UNKNOWN_ID,
            f"by-user/{UNKNOWN_ID}",
            "by-username/nobody",
            "by-username/%20",
            "x",
            "by-user/x",
            f"by-username/{'x' * 3000}",
            "by-username/%EF%B7%BA",
        ],
    )
    def test_an_unknown_member_is_not_found(self, api, platform, ada, path):
        assert api.get(f"{platform.path}/members/{path}", caller=ada).status_and_code == "404 not_found"

    def test_members_of_the_organization_are_not_found_until_they_join(self, api, platform, ada):
        for path in (ada.id, f"by-user/{ada.id}", "by-username/ada"):
            assert api.get(f"{platform.path}/members/{path}", caller=ada).status_and_code == "404 not_found"

    def test_a_username_of_another_platform_is_not_found(self, api, organization, ada, membership):
        other = create_platform(api, organization)
        assert (
            api.get(f"{other.path}/members/by-username/{membership['username']}", caller=ada).status_and_code
            == "404 not_found"
        )


class TestUsernames:
    @pytest.fixture
    def namesake(self, issuer: Issuer) -> Person:
        """Another person with the username of mary, except for the case."""
        return issuer.create_person("MARY", "Mary Cartwright")

    def test_a_username_is_unique_in_a_platform_and_the_next_member_gets_a_suffix(
        self, api, organization, platform, mary, namesake
    ):
        join(api, platform, mary)
        second = join(api, platform, namesake)
        assert re.fullmatch("MARY-[0-9a-f]{4}", second["username"])
        (added, *_) = list_entries(api, organization, type="platform.member.added")
        assert (added["target"]["id"], added["data"]["username"]) == (second["id"], second["username"])
        for username, person in (("mary", mary), (second["username"].lower(), namesake)):
            response = api.get(f"{platform.path}/members/by-username/{username}", caller=organization.owner)
            assert response.json["userId"] == person.id
        other = create_platform(api, organization, publish=True, joinPolicy="open")
        assert join(api, other, namesake)["username"] == "MARY"

    @pytest.mark.parametrize("case", ["promoted", "invited", "accepts", "has a long name"])
    def test_a_taken_username_prevents_no_membership(self, api, organization, platform, issuer, case):
        name = "m" * 255 if case == "has a long name" else "mary"
        first, second = (issuer.create_person(f"{n}{case}", "Mary", preferred_username=name) for n in (1, 2))
        join(api, platform, first)
        if case == "promoted":
            add_organization_member(organization, replace(second, username=name), "member")
            answer = set_role(api, platform, second, "editor")
        elif case == "accepts":
            invited = create_invitation(api, platform, second)
            answer = api.post(ACCEPTANCE_PATH, caller=second, json={"token": invited.token})
        else:
            if case == "invited":
                create_invitation(api, platform, second)
            answer = api.post(f"{platform.path}/join", caller=second)
        assert answer.status == 200, answer.text
        member = answer.json.get("membership") or answer.json
        assert re.fullmatch("m[^-]+-[0-9a-f]{4}", member["username"])
        assert len(member["username"]) <= 255
        assert api.get(f"{platform.path}/members/{second.id}", caller=second).json["username"] == member["username"]

    def test_platform_admins_change_a_username_with_an_entry(self, api, organization, platform, mary, namesake, ada):
        join(api, platform, mary)
        suffixed_username, path = join(api, platform, namesake)["username"], f"{platform.path}/members"
        conflict = api.patch(f"{path}/{namesake.id}", caller=ada, json={"username": "Mary"})
        assert (conflict.status_and_code, conflict.errors) == ("409 already_exists", {"/username": "already_exists"})
        assert api.patch(f"{path}/{mary.id}", caller=ada, json={"username": "squatter"}).json["username"] == "squatter"
        response = api.patch(f"{path}/{namesake.id}", caller=ada, json={"username": "Mary", "role": "editor"})
        assert (response.json["username"], response.json["role"]) == ("Mary", "editor")
        (entry, *_) = list_entries(api, organization, type="platform.member.updated")
        assert {"field": "username", "from": suffixed_username, "to": "Mary"} in entry["changes"]
        for username, person in (("MARY", namesake), ("squatter", mary)):
            assert api.get(f"{path}/by-username/{username}", caller=ada).json["userId"] == person.id
        assert api.get(f"{path}/by-username/{suffixed_username}", caller=ada).status_and_code == "404 not_found"
        assert api.patch(f"{path}/{namesake.id}", caller=ada, json={"username": "Mary"}).json == response.json

    def test_only_admins_change_a_username_and_only_to_a_valid_one(self, api, platform, mary, ada):
        join(api, platform, mary)
        path = f"{platform.path}/members/{mary.id}"
        assert api.patch(path, caller=mary, json={"username": "owner"}).status_and_code == "403 insufficient_role"
        for username in ("", " ", "x" * 256, 3, ["x"]):
            assert set(api.patch(path, caller=ada, json={"username": username}).errors) == {"/username"}
        assert api.patch(path, caller=ada, json={"role": "editor"}).json["username"] == "mary"
        assert api.patch(path, caller=ada, json={"username": None}).json["username"] is None

    def test_a_username_is_free_when_its_member_has_left(self, api, platform, mary, namesake):
        join(api, platform, mary)
        assert api.post(f"{platform.path}/leave", caller=mary).status == 204
        join(api, platform, namesake)
        assert api.get(f"{platform.path}/members/by-username/mary", caller=mary).json["userId"] == namesake.id

    def test_a_person_without_a_username_can_join(self, api, platform, issuer):
        people = [issuer.create_person(name, "X", preferred_username="") for name in ("n1", "n2")]
        for person in people:
            assert join(api, platform, person)["username"] is None


class TestUpdatePlatformMember:
    def test_a_new_role_applies_to_the_next_request(self, api, organization, platform, stranger):
        membership = join(api, platform, stranger)
        for role, status in (("admin", 200), ("member", 403), ("editor", 403)):
            answer = set_role(api, platform, stranger, role)
            assert answer.json == {
                **membership,
                "role": role,
                "version": answer.json["version"],
                "updatedAt": answer.json["updatedAt"],
            }
            assert api.patch(platform.path, caller=stranger, json={}).status == status
        (entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["changes"]) == (
            "platform.member.updated",
            [{"field": "role", "from": "member", "to": "editor"}],
        )

    def test_a_member_of_the_organization_is_added(self, api, organization, platform, grace, mary):
        answer = set_role(api, platform, mary, "editor", caller=grace)
        assert (answer.status, answer.json["version"], answer.json["username"]) == (200, 1, "mary")
        assert api.patch(f"{platform.path}/theme", caller=mary, json={"mode": "dark"}).status == 200
        (_, entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["changes"], entry["data"]) == ("platform.member.added", [], answer.json)
        assert entry["target"] == {"type": "platform.member", "id": answer.json["id"], "name": mary.name}

    def test_strangers_cannot_be_added(self, api, platform, ada, stranger):
        for body in ({"role": "member"}, {}, {"role": "king"}):
            assert api.patch(member_path(platform, stranger), caller=ada, json=body).status_and_code == "404 not_found"
        assert (
            api.patch(f"{platform.path}/members/{UNKNOWN_ID}", caller=ada, json={"role": "member"}).status_and_code
            == "404 not_found"
        )

    def test_adding_a_member_needs_a_role(self, api, platform, ada, mary):
        assert api.patch(member_path(platform, mary), caller=ada, json={}).errors == {"/role": "required"}
        join(api, platform, mary)
        assert api.patch(member_path(platform, mary), caller=ada, json={}).json["role"] == "member"

    def test_a_precondition_on_a_missing_membership_fails(self, api, platform, ada, mary):
        for tag in ("*", '"anything"'):
            headers = {"If-Match": tag}
            answer = api.patch(member_path(platform, mary), caller=ada, json={"role": "member"}, headers=headers)
            assert answer.status_and_code == "412 precondition_failed"
        assert list_usernames(api, platform, ada) == []

    def test_roles_are_granted_up_to_the_callers_own(self, api, organization, platform, mary, stranger):
        join(api, platform, stranger)
        assert set_role(api, platform, stranger, "owner").errors == {"/role": "not_one_of"}
        assert set_role(api, platform, mary, "editor", caller=stranger).status_and_code == "403 insufficient_role"
        set_role(api, platform, stranger, "admin")
        assert set_role(api, platform, mary, "admin", caller=stranger).status == 200
        limited_key, admin_key = (
            create_api_key(api, organization, "members:write"),
            create_api_key(api, organization, "admin"),
        )
        assert set_role(api, platform, mary, "member", caller=limited_key).status == 200
        assert set_role(api, platform, mary, "admin", caller=limited_key).errors == {"/role": "insufficient_role"}
        assert set_role(api, platform, mary, "admin", caller=admin_key).status == 200


class TestRemovePlatformMember:
    def test_removing_a_member_revokes_only_that_membership(self, api, organization, platform, mary, stranger):
        for person in (mary, stranger):
            join(api, platform, person)
            set_role(api, platform, person, "editor")
            assert api.delete(member_path(platform, person), caller=platform.owner).status == 204
        assert api.get(platform.path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(platform.path, caller=mary).status == 200
        assert (
            api.patch(f"{platform.path}/theme", caller=mary, json={"mode": "dark"}).status_and_code
            == "403 insufficient_role"
        )
        (entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["data"]["userId"]) == ("platform.member.removed", stranger.id)
        assert api.delete(member_path(platform, mary), caller=platform.owner).status_and_code == "404 not_found"


class TestJoinPlatform:
    def test_everyone_joins_an_open_platform_once(self, api, organization, platform, stranger):
        first = join(api, platform, stranger)
        assert (first["role"], first["email"], first["userId"]) == ("member", stranger.email, stranger.id)
        before = list_entries(api, organization)
        assert (before[0]["type"], before[0]["data"]) == ("platform.member.added", first)
        assert join(api, platform, stranger) == first
        assert list_entries(api, organization) == before
        assert api.get(platform.path, caller=stranger).status == 200

    def test_members_of_the_organization_get_a_membership_of_the_platform(self, api, platform, ada, mary):
        for person in (ada, mary):
            assert join(api, platform, person)["role"] == "member"
        assert api.patch(platform.path, caller=ada, json={"name": "Still Ada's"}).status == 200

    def test_a_platform_by_invitation_is_forbidden_if_published_and_otherwise_not_found(
        self, api, organization, mary, stranger
    ):
        closed = create_platform(api, organization, publish=True)
        draft = create_platform(api, organization, joinPolicy="open")
        for person in (mary, stranger):
            assert api.post(f"{closed.path}/join", caller=person).status_and_code == "403 forbidden"
            assert api.post(f"{draft.path}/join", caller=person).status_and_code == "404 not_found"
        assert api.post(f"/platforms/{UNKNOWN_ID}/join", caller=stranger).status_and_code == "404 not_found"

    def test_a_platform_of_a_deleted_organization_cannot_be_joined(self, api, organization, platform, stranger):
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert api.post(f"{platform.path}/join", caller=stranger).status_and_code == "404 not_found"

    def test_keys_can_neither_join_nor_leave(self, api, organization, platform):
        key = create_api_key(api, organization, "admin")
        for action in ("join", "leave"):
            assert api.post(f"{platform.path}/{action}", caller=key).status_and_code == "403 forbidden"

    def test_concurrent_requests_create_one_membership(self, api, organization, platform, stranger):
        with ThreadPoolExecutor(4) as threads:
            memberships = list(threads.map(lambda _: join(api, platform, stranger), range(4)))
        assert all(membership == memberships[0] for membership in memberships)
        assert [entry["type"] for entry in list_entries(api, organization)].count("platform.member.added") == 1


class TestLeavePlatform:
    def test_leaving_removes_the_membership_and_the_access(self, api, organization, platform, stranger):
        join(api, platform, stranger)
        assert api.post(f"{platform.path}/leave", caller=stranger).status == 204
        assert api.get(platform.path, caller=stranger).status_and_code == "404 not_found"
        (entry, *_) = list_entries(api, organization)
        assert (entry["type"], entry["actor"]["id"]) == ("platform.member.removed", stranger.id)

    def test_leaving_needs_an_own_membership(self, api, platform, ada, mary, stranger):
        for person in (ada, mary, stranger):
            assert api.post(f"{platform.path}/leave", caller=person).status_and_code == "404 not_found"

    def test_a_former_member_joins_again_as_a_new_member(self, api, platform, stranger):
        ids = set()
        for _ in range(3):
            ids.add(join(api, platform, stranger)["id"])
            assert api.post(f"{platform.path}/leave", caller=stranger).status == 204
        assert len(ids) == 3
        add_platform_member(platform, stranger, "editor")
        assert create_space(api, platform, caller=stranger).record["name"] == "Looms"
