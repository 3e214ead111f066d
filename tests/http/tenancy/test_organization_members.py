from dataclasses import replace

import pytest

from tests.harness.audit_logs import get_last_entry
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
    leave_organization,
    remove_member,
    roles_by_username,
    set_role,
    transfer_ownership,
)
from tests.harness.platforms import create_platform

MUST_TRANSFER = "409 owner_must_transfer"


@pytest.fixture
def visible_emails(api, organization):
    """A function that returns the e-mail addresses of members that a caller sees, by username."""
    path = f"{organization.path}/members"
    return lambda caller: {m["username"]: m["email"] for m in api.get_items(path, caller=caller) if m["email"]}


class TestListOrganizationMembers:
    def test_members_are_listed_in_the_order_they_joined_with_every_field(self, api, organization, ada):
        member, *_ = api.get_items(f"{organization.path}/members", caller=ada)
        times = dict.fromkeys(("createdAt", "updatedAt", "joinedAt"), organization.record["createdAt"])
        identity = {"userId": ada.id, "username": "ada", "name": "Ada Lovelace", "email": "ada@example.com"}
        fields = {"id": member["id"], "version": 1, "role": "owner", "revokedKeys": None}
        assert member == {**fields, **identity, **times}
        roles = [("ada", "owner"), ("grace", "admin"), ("edith", "editor"), ("mary", "member")]
        assert [*roles_by_username(api, organization).items()] == roles

    def test_only_admins_see_email_addresses(self, api, organization, ada, grace, edith, mary, visible_emails):
        all_emails = {person.username: person.email for person in (ada, grace, edith, mary)}
        scopes = ("admin", "write", "members:write", "read")
        keys = {scope: create_api_key(api, organization, scope) for scope in scopes}
        for caller in (ada, grace, keys["admin"]):
            assert visible_emails(caller) == all_emails
        for person in (edith, mary):
            assert visible_emails(person) == {person.username: person.email}
        for scope in scopes[1:]:
            assert visible_emails(keys[scope]) == {}
        for scope, email in (("members:write", None), ("admin", mary.email)):
            assert set_role(api, organization, mary, "member", caller=keys[scope]).json["email"] == email
        assert api.get(organization.member_path(grace), caller=mary).json["email"] is None

    def test_a_user_whose_subject_is_no_uuid_has_a_derived_id(self, api, issuer):
        pseudonym = issuer.create_person("x", "X", sub="auth0|12345")
        path = f"{create_organization(api, pseudonym).path}/members"
        (member,) = api.get_items(path, caller=pseudonym)
        assert api.get(f"{path}/{member['userId']}", caller=pseudonym).json == member


class TestUpdateOrganizationMember:
    def test_an_admin_grants_roles_up_to_their_own(self, api, organization, grace, mary):
        for version, role in enumerate(("editor", "admin", "member"), start=2):
            before = api.get(organization.member_path(mary), caller=grace).json["role"]
            answer = set_role(api, organization, mary, role, caller=grace)
            assert (answer.status, answer.json["role"], answer.json["version"]) == (200, role, version)
            assert roles_by_username(api, organization)["mary"] == role
            entry = get_last_entry(api, organization)
            assert (entry["type"], entry["target"]["name"]) == ("organization.member.updated", "Mary Somerville")
            assert entry["changes"] == [{"field": "role", "from": before, "to": role}]

    def test_a_new_role_applies_to_the_next_request(self, api, organization, mary):
        for role, status in (("admin", 200), ("member", 403), ("admin", 200), ("editor", 403)):
            set_role(api, organization, mary, role)
            assert api.get(organization.api_keys_path, caller=mary).status == status

    def test_the_role_of_owner_cannot_be_granted_or_changed(self, api, organization, ada, grace, mary):
        assert set_role(api, organization, mary, "owner", caller=grace).status in (403, 409)
        assert set_role(api, organization, mary, "owner").status_and_code == MUST_TRANSFER
        for role in ("member", "editor", "admin"):
            for person in (ada, grace):
                assert set_role(api, organization, ada, role, caller=person).status_and_code == MUST_TRANSFER
        roles = roles_by_username(api, organization)
        assert (roles["ada"], roles["mary"]) == ("owner", "member")

    def test_invalid_roles_and_fields_from_the_token_are_rejected(self, api, organization, ada, mary):
        for role in (None, "", "Admin", "superuser", 3, ["admin"]):
            answer = set_role(api, organization, mary, role)
            assert (answer.status_and_code, [*answer.errors]) == ("422 validation_failed", ["/role"]), role
        body = {"role": "editor", "name": "M", "email": "m@example.com", "username": "mary"}
        answer = api.patch(organization.member_path(mary), caller=ada, json=body)
        assert answer.errors == {"/name": "read_only", "/email": "read_only"}

    def test_an_admin_can_step_down_but_not_up_again(self, api, organization, grace):
        assert set_role(api, organization, grace, "member", caller=grace).status == 200
        assert set_role(api, organization, grace, "admin", caller=grace).status_and_code == "403 insufficient_role"

    def test_a_key_without_admin_grants_no_role_above_editor(self, api, organization, mary):
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        for key, role, status in ((limited_key, "admin", 403), (limited_key, "editor", 200), (admin_key, "admin", 200)):
            assert set_role(api, organization, mary, role, caller=key).status == status


class TestRemoveOrganizationMember:
    def test_a_removed_member_loses_access_at_once_and_what_they_created_stays(self, api, organization, ada, grace):
        platform = create_platform(api, replace(organization, owner=grace))
        member = api.get(organization.member_path(grace), caller=ada).json
        answer = remove_member(api, organization, grace)
        assert (answer.status, answer.text) == (204, "")
        assert api.get(organization.path, caller=grace).status_and_code == "404 not_found"
        assert api.get(organization.member_path(grace), caller=ada).status_and_code == "404 not_found"
        assert remove_member(api, organization, grace).status_and_code == "404 not_found"
        assert "grace" not in roles_by_username(api, organization)
        entry = get_last_entry(api, organization)
        assert (entry["type"], entry["data"], entry["changes"]) == ("organization.member.removed", member, [])
        assert api.get(platform.path, caller=ada).status == 200

    def test_the_owner_cannot_be_removed(self, api, organization, ada, grace):
        for caller in (ada, grace, create_api_key(api, organization, "admin")):
            assert remove_member(api, organization, ada, caller=caller).status_and_code == MUST_TRANSFER

    def test_a_removed_member_can_join_again_as_a_new_member(self, api, organization, ada, edith):
        former_membership = api.get(organization.member_path(edith), caller=ada).json
        remove_member(api, organization, edith)
        add_organization_member(organization, edith, "member")
        new_membership = api.get(organization.member_path(edith), caller=ada).json
        assert (new_membership["role"], new_membership["version"]) == ("member", 1)
        assert new_membership["id"] != former_membership["id"]
        assert [*roles_by_username(api, organization)][-1] == "edith"


def test_a_member_who_leaves_loses_access_at_once(api, organization, mary):
    answer = leave_organization(api, organization, mary)
    assert (answer.status, answer.text) == (204, "")
    assert api.get(organization.path, caller=mary).status_and_code == "404 not_found"
    assert leave_organization(api, organization, mary).status_and_code == "404 not_found"
    assert get_last_entry(api, organization)["actor"]["id"] == mary.id


def test_the_owner_must_transfer_ownership_before_leaving(api, organization, ada, grace):
    assert leave_organization(api, organization, ada).status_and_code == MUST_TRANSFER
    transfer_ownership(api, organization, ada, grace.id)
    assert leave_organization(api, organization, ada).status == 204
    assert leave_organization(api, organization, grace).status_and_code == MUST_TRANSFER
