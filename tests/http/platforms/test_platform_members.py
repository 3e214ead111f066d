"""Members of a platform: listing, changing, joining and leaving."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.callers import Caller, Person
from tests.harness.invitations import ACCEPTANCE_PATH, create_invitation
from tests.harness.organizations import add_organization_member, create_api_key
from tests.harness.platforms import PlatformClient, add_platform_member

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


@pytest.fixture
def platform(new_platform):
    """A platform of Ada's organization that everyone can join."""
    return new_platform(publish=True, joinPolicy="open")


@pytest.fixture
def namesake(issuer):
    """Another person with the username of mary, except for the case."""
    return issuer.create_person("MARY", "Mary Cartwright")


def set_role(platform: PlatformClient, person: Person, role: str, caller: Caller | None = None) -> ApiResponse:
    return platform.patch(f"/members/{person.id}", {"role": role}, caller=caller or platform.owner)


def join(platform: PlatformClient, *people: Person) -> Json:
    """Let people join, and return the membership of the last one."""
    *_, last = [platform.post("/join", caller=person).expect(200).json for person in people]
    return last


def get_by_username(platform: PlatformClient, username: str) -> ApiResponse:
    return platform.get(f"/members/by-username/{username}")


def test_members_with_an_own_membership_are_listed_in_the_order_they_joined_with_visible_addresses(
    platform, grace, mary, edith, stranger
):
    assert platform.get_items("/members", caller=mary) == []
    join(platform, stranger, mary, edith)
    addresses = [stranger.email, mary.email, edith.email]
    for caller, emails in ((grace, addresses), (mary, [None, mary.email, None])):
        listed = platform.get_items("/members", caller=caller)
        assert [member["username"] for member in listed] == ["stranger", "mary", "edith"]
        assert [member["email"] for member in listed] == emails
    set_role(platform, stranger, "admin")
    assert [member["email"] for member in platform.get_items("/members", caller=stranger)] == addresses


def test_only_a_member_is_found_by_id_and_by_username_in_any_case(platform, new_platform, ada, mary):
    membership = join(platform, mary)
    for path in (mary.id, f"by-user/{mary.id}", "by-username/mary", "by-username/MaRy"):
        assert platform.get(f"/members/{path}").json == membership
    assert get_by_username(new_platform(), "mary").status_and_code == "404 not_found"
    unknown = (UNKNOWN_ID, f"by-user/{UNKNOWN_ID}", "by-username/nobody", "by-username/%20", "x", "by-user/x")
    overlong_or_invalid = (f"by-username/{'x' * 3000}", "by-username/%EF%B7%BA")
    not_joined = (ada.id, f"by-user/{ada.id}", "by-username/ada")
    for path in (*unknown, *overlong_or_invalid, *not_joined):
        assert platform.get(f"/members/{path}").status_and_code == "404 not_found", path


class TestUsernames:
    def test_a_username_is_unique_in_a_platform_and_the_next_member_gets_a_suffix(
        self, entries, platform, new_platform, issuer, mary, namesake
    ):
        for name in ("n1", "n2"):
            assert join(platform, issuer.create_person(name, "X", preferred_username=""))["username"] is None
        join(platform, mary)
        second = join(platform, namesake)
        assert re.fullmatch("MARY-[0-9a-f]{4}", second["username"])
        (added, *_) = entries(type="platform.member.added")
        assert (added["target"]["id"], added["data"]["username"]) == (second["id"], second["username"])
        for username, person in (("mary", mary), (second["username"].lower(), namesake)):
            assert get_by_username(platform, username).json["userId"] == person.id
        assert join(new_platform(publish=True, joinPolicy="open"), namesake)["username"] == "MARY"
        for person in (mary, namesake):
            assert platform.post("/leave", caller=person).status == 204
        assert join(platform, namesake)["username"] == "MARY"

    @pytest.mark.parametrize("case", ["promoted", "invited", "accepts", "has a long name"])
    def test_a_taken_username_prevents_no_membership(self, api, organization, platform, issuer, case):
        name = "m" * 255 if case == "has a long name" else "mary"
        first, second = (issuer.create_person(f"{n}{case}", "Mary", preferred_username=name) for n in (1, 2))
        join(platform, first)
        if case == "promoted":
            add_organization_member(organization, replace(second, username=name), "member")
            answer = set_role(platform, second, "editor")
        elif case == "accepts":
            invited = create_invitation(api, platform, second)
            answer = api.post(ACCEPTANCE_PATH, caller=second, json={"token": invited.token})
        else:
            if case == "invited":
                create_invitation(api, platform, second)
            answer = platform.post("/join", caller=second)
        member = answer.expect(200).json.get("membership") or answer.json
        assert re.fullmatch("m[^-]+-[0-9a-f]{4}", member["username"])
        assert len(member["username"]) <= 255
        assert platform.get(f"/members/{second.id}", caller=second).json["username"] == member["username"]

    def test_platform_admins_change_a_username_with_an_entry(self, entries, platform, mary, namesake):
        join(platform, mary)
        suffixed_username, path = join(platform, namesake)["username"], f"/members/{namesake.id}"
        conflict = platform.patch(path, {"username": "Mary"})
        assert conflict.problem_and_errors == ("409 already_exists", {"/username": "already_exists"})
        assert platform.patch(f"/members/{mary.id}", {"username": "squatter"}).json["username"] == "squatter"
        response = platform.patch(path, {"username": "Mary", "role": "editor"})
        assert (response.json["username"], response.json["role"]) == ("Mary", "editor")
        (entry, *_) = entries(type="platform.member.updated")
        assert {"field": "username", "from": suffixed_username, "to": "Mary"} in entry["changes"]
        for username, person in (("MARY", namesake), ("squatter", mary)):
            assert get_by_username(platform, username).json["userId"] == person.id
        assert get_by_username(platform, suffixed_username).status_and_code == "404 not_found"
        assert platform.patch(path, {"username": "Mary"}).json == response.json

    def test_only_admins_change_a_username_and_only_to_a_valid_one(self, platform, mary):
        join(platform, mary)
        path = f"/members/{mary.id}"
        assert platform.patch(path, {"username": "owner"}, caller=mary).status_and_code == "403 insufficient_role"
        for username in ("", " ", "x" * 256, 3, ["x"]):
            assert set(platform.patch(path, {"username": username}).errors) == {"/username"}
        assert platform.patch(path, {"role": "editor"}).json["username"] == "mary"
        assert platform.patch(path, {"username": None}).json["username"] is None


class TestUpdatePlatformMember:
    def test_a_new_role_applies_to_the_next_request(self, platform, stranger):
        membership = join(platform, stranger)
        for role, status in (("admin", 200), ("member", 403), ("editor", 403)):
            changed = set_role(platform, stranger, role).json
            versions = {name: changed[name] for name in ("version", "updatedAt")}
            assert changed == {**membership, "role": role, **versions}
            assert platform.patch("", {}, caller=stranger).status == status

    def test_only_a_member_of_the_organization_is_added_with_a_role(self, entries, platform, grace, mary, stranger):
        path = f"/members/{mary.id}"
        assert platform.patch(path, {}).errors == {"/role": "required"}
        for tag in ("*", '"anything"'):
            answer = platform.patch(path, {"role": "member"}, headers={"If-Match": tag})
            assert answer.status_and_code == "412 precondition_failed"
        for body in ({"role": "member"}, {}, {"role": "king"}):
            for user_id in (stranger.id, UNKNOWN_ID):
                assert platform.patch(f"/members/{user_id}", body).status_and_code == "404 not_found"
        assert platform.get_items("/members") == []
        answer = set_role(platform, mary, "editor", caller=grace)
        assert (answer.status, answer.json["version"], answer.json["username"]) == (200, 1, "mary")
        (entry, *_) = entries()
        assert (entry["type"], entry["changes"], entry["data"]) == ("platform.member.added", [], answer.json)
        assert entry["target"] == {"type": "platform.member", "id": answer.json["id"], "name": mary.name}
        assert platform.patch("/theme", {"mode": "dark"}, caller=mary).status == 200
        assert platform.patch(path, {}).json["role"] == "editor"

    def test_roles_are_granted_up_to_the_callers_own(self, api, organization, platform, mary, stranger):
        join(platform, stranger)
        assert set_role(platform, stranger, "owner").errors == {"/role": "not_one_of"}
        assert set_role(platform, mary, "editor", caller=stranger).status_and_code == "403 insufficient_role"
        set_role(platform, stranger, "admin")
        assert set_role(platform, mary, "admin", caller=stranger).status == 200
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        assert set_role(platform, mary, "member", caller=limited_key).status == 200
        assert set_role(platform, mary, "admin", caller=limited_key).errors == {"/role": "insufficient_role"}
        assert set_role(platform, mary, "admin", caller=admin_key).status == 200


class TestJoinPlatform:
    def test_everyone_joins_an_open_platform_once(self, entries, platform, stranger):
        with ThreadPoolExecutor(4) as threads:
            first, *others = threads.map(lambda _: join(platform, stranger), range(4))
        assert others == [first] * 3
        assert (first["role"], first["email"], first["userId"]) == ("member", stranger.email, stranger.id)
        log = entries()
        assert (log[0]["type"], log[0]["data"]) == ("platform.member.added", first)
        assert [entry["type"] for entry in log].count("platform.member.added") == 1
        assert join(platform, stranger) == first
        assert entries() == log
        assert platform.get(caller=stranger).status == 200

    def test_members_of_the_organization_get_a_membership_of_the_platform(self, platform, ada, mary):
        for person in (ada, mary):
            assert join(platform, person)["role"] == "member"
        assert platform.patch("", {"name": "Still Ada's"}).status == 200

    def test_a_platform_by_invitation_is_forbidden_if_published_and_otherwise_not_found(
        self, api, organization, platform, new_platform, mary, stranger
    ):
        closed, draft = new_platform(publish=True), new_platform(joinPolicy="open")
        for person in (mary, stranger):
            assert closed.post("/join", caller=person).status_and_code == "403 forbidden"
            assert draft.post("/join", caller=person).status_and_code == "404 not_found"
        assert api.post(f"/platforms/{UNKNOWN_ID}/join", caller=stranger).status_and_code == "404 not_found"
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert platform.post("/join", caller=stranger).status_and_code == "404 not_found"


class TestEndOfAMembership:
    def test_removing_a_member_revokes_only_that_membership(self, platform, mary, stranger):
        for person in (mary, stranger):
            join(platform, person)
            set_role(platform, person, "editor")
            assert platform.delete(f"/members/{person.id}").status == 204
        assert platform.get(caller=stranger).status_and_code == "404 not_found"
        assert platform.get(caller=mary).status == 200
        assert platform.patch("/theme", {"mode": "dark"}, caller=mary).status_and_code == "403 insufficient_role"
        assert platform.delete(f"/members/{mary.id}").status_and_code == "404 not_found"

    def test_who_leaves_loses_access_and_can_join_again_as_a_new_member(self, platform, new_space, ada, mary, stranger):
        ids = set()
        for _ in range(2):
            ids.add(join(platform, stranger)["id"])
            assert platform.post("/leave", caller=stranger).status == 204
            assert platform.get(caller=stranger).status_and_code == "404 not_found"
        assert len(ids) == 2
        for person in (ada, mary, stranger):
            assert platform.post("/leave", caller=person).status_and_code == "404 not_found"
        add_platform_member(platform, stranger, "editor")
        assert new_space(platform, caller=stranger).record["name"] == "Looms"
