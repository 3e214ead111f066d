from dataclasses import replace

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
)
from tests.harness.platforms import create_platform

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


def member_path(organization: CreatedOrganization, person: Person) -> str:
    return f"{organization.path}/members/{person.id}"


def list_roles(api: ApiClient, organization: CreatedOrganization, caller: Person) -> dict[str, str]:
    return {m["username"]: m["role"] for m in api.get_items(f"{organization.path}/members", caller=caller)}


def get_last_entry(api: ApiClient, organization: CreatedOrganization, caller: Person) -> Json:
    page = api.get(f"{organization.path}/audit-log", caller=caller, query={"limit": 1}).json
    entry: Json = page["items"][0]
    return entry


class TestListOrganizationMembers:
    def test_members_are_listed_in_the_order_they_joined(self, api, organization, mary):
        assert list(list_roles(api, organization, mary).items()) == [
            ("ada", "owner"),
            ("grace", "admin"),
            ("edith", "editor"),
            ("mary", "member"),
        ]

    def test_a_member_is_listed_with_every_field(self, api, organization, ada):
        (member, *_) = api.get_items(f"{organization.path}/members", caller=ada)
        created = organization.record["createdAt"]
        assert member == {
            "id": member["id"],
            "createdAt": created,
            "updatedAt": created,
            "version": 1,
            "userId": ada.id,
            "username": "ada",
            "name": "Ada Lovelace",
            "email": "ada@example.com",
            "role": "owner",
            "joinedAt": created,
            "revokedKeys": None,
        }

    def test_admins_see_all_email_addresses(self, api, organization, ada, grace):
        for person in (ada, grace):
            members = api.get_items(f"{organization.path}/members", caller=person)
            assert [m["email"] for m in members] == [f"{m['username']}@example.com" for m in members]

    def test_other_members_see_only_their_own_email_address(self, api, organization, edith, mary):
        for person in (edith, mary):
            emails = {m["username"]: m["email"] for m in api.get_items(f"{organization.path}/members", caller=person)}
            assert {name for name, email in emails.items() if email} == {person.username}
            assert emails[person.username] == person.email

    def test_keys_see_email_addresses_only_with_the_admin_scope(self, api, organization):
        for scope, visible in (("admin", 4), ("write", 0), ("members:write", 0), ("read", 0)):
            key = create_api_key(api, organization, scope)
            members = api.get_items(f"{organization.path}/members", caller=key)
            assert sum(m["email"] is not None for m in members) == visible

    def test_changing_a_role_shows_no_more_fields_than_reading(self, api, organization, mary):
        path = f"{organization.path}/members/{mary.id}"
        for scopes, visible in ((["members:write"], None), (["admin"], mary.email)):
            key = create_api_key(api, organization, *scopes)
            assert api.patch(path, caller=key, json={"role": "member"}).json["email"] == visible

    def test_strangers_and_operators_do_not_find_the_list(self, api, organization, stranger, operator):
        for person in (stranger, operator):
            assert api.get(f"{organization.path}/members", caller=person).status_and_code == "404 not_found"


class TestGetOrganizationMember:
    def test_every_member_reads_a_member_with_an_etag(self, api, organization, grace, mary):
        answer = api.get(member_path(organization, grace), caller=mary)
        assert (answer.json["role"], answer.json["email"]) == ("admin", None)
        repeated = api.get(member_path(organization, grace), caller=mary, headers={"If-None-Match": answer.etag})
        assert repeated.status == 304

    @pytest.mark.parametrize("user", [UNKNOWN_ID, "x", "%20", "ada", "me"])
    def test_an_unknown_user_is_not_found(self, api, organization, ada, user):
        assert api.get(f"{organization.path}/members/{user}", caller=ada).status_and_code == "404 not_found"

    def test_a_member_of_another_organization_is_not_found(self, api, organization, ada, stranger):
        create_organization(api, stranger)
        assert api.get(member_path(organization, stranger), caller=ada).status_and_code == "404 not_found"

    def test_a_user_whose_subject_is_no_uuid_has_a_derived_id(self, api, organization, issuer, ada):
        pseudonym = issuer.create_person("x", "X", sub="auth0|12345")
        own_organization = create_organization(api, pseudonym)
        (member,) = api.get_items(f"{own_organization.path}/members", caller=pseudonym)
        assert api.get(f"{own_organization.path}/members/{member['userId']}", caller=pseudonym).json == member
        assert organization.owner is ada


class TestUpdateOrganizationMember:
    def test_an_admin_changes_a_role(self, api, organization, grace, mary):
        answer = api.patch(member_path(organization, mary), caller=grace, json={"role": "editor"})
        assert (answer.status, answer.json["role"], answer.json["version"]) == (200, "editor", 2)
        assert list_roles(api, organization, grace)["mary"] == "editor"

    def test_a_new_role_applies_to_the_next_request(self, api, organization, ada, mary):
        keys = f"{organization.path}/api-keys"
        for role, status in (("admin", 200), ("member", 403), ("admin", 200), ("editor", 403)):
            api.patch(member_path(organization, mary), caller=ada, json={"role": role})
            assert api.get(keys, caller=mary).status == status

    @pytest.mark.parametrize("role", ["member", "editor", "admin"])
    def test_an_admin_grants_roles_up_to_their_own(self, api, organization, grace, mary, role):
        assert api.patch(member_path(organization, mary), caller=grace, json={"role": role}).json["role"] == role

    def test_the_role_of_owner_cannot_be_granted(self, api, organization, ada, grace, mary):
        assert api.patch(member_path(organization, mary), caller=grace, json={"role": "owner"}).status in (403, 409)
        assert (
            api.patch(member_path(organization, mary), caller=ada, json={"role": "owner"}).status_and_code
            == "409 owner_must_transfer"
        )
        assert list_roles(api, organization, ada)["mary"] == "member"

    @pytest.mark.parametrize("role", ["member", "editor", "admin"])
    def test_the_owners_role_cannot_be_changed(self, api, organization, ada, grace, role):
        for person in (ada, grace):
            answer = api.patch(member_path(organization, ada), caller=person, json={"role": role})
            assert answer.status_and_code == "409 owner_must_transfer"
        assert list_roles(api, organization, ada)["ada"] == "owner"

    def test_the_current_role_adds_no_entry(self, api, organization, ada, mary):
        before = get_last_entry(api, organization, ada)
        for body in ({"role": "member"}, {}):
            assert api.patch(member_path(organization, mary), caller=ada, json=body).status == 200
        assert get_last_entry(api, organization, ada) == before

    @pytest.mark.parametrize("role", [None, "", "Admin", "superuser", 3, ["admin"]])
    def test_an_invalid_role_is_rejected(self, api, organization, ada, mary, role):
        answer = api.patch(member_path(organization, mary), caller=ada, json={"role": role})
        assert answer.status_and_code == "422 validation_failed"
        assert set(answer.errors) == {"/role"}

    def test_fields_from_the_token_are_read_only(self, api, organization, ada, mary):
        body = {"role": "editor", "name": "M", "email": "m@example.com", "username": "mary"}
        answer = api.patch(member_path(organization, mary), caller=ada, json=body)
        assert answer.errors == {"/name": "read_only", "/email": "read_only"}

    def test_editors_members_and_strangers_cannot_change_roles(self, api, organization, edith, mary, stranger):
        for person in (edith, mary):
            answer = api.patch(member_path(organization, mary), caller=person, json={"role": "admin"})
            assert answer.status_and_code == "403 insufficient_role"
        assert (
            api.patch(member_path(organization, mary), caller=stranger, json={"role": "admin"}).status_and_code
            == "404 not_found"
        )

    def test_an_admin_can_step_down_but_not_up_again(self, api, organization, grace):
        assert api.patch(member_path(organization, grace), caller=grace, json={"role": "member"}).status == 200
        assert (
            api.patch(member_path(organization, grace), caller=grace, json={"role": "admin"}).status_and_code
            == "403 insufficient_role"
        )

    def test_a_key_without_admin_grants_no_role_above_editor(self, api, organization, mary):
        limited_key, admin_key = (
            create_api_key(api, organization, "members:write"),
            create_api_key(api, organization, "admin"),
        )
        assert api.patch(member_path(organization, mary), caller=limited_key, json={"role": "admin"}).status == 403
        assert api.patch(member_path(organization, mary), caller=limited_key, json={"role": "editor"}).status == 200
        assert api.patch(member_path(organization, mary), caller=admin_key, json={"role": "admin"}).status == 200

    def test_the_entry_shows_the_actor_and_the_change(self, api, organization, grace, mary):
        answer = api.patch(member_path(organization, mary), caller=grace, json={"role": "editor"})
        entry = get_last_entry(api, organization, grace)
        assert entry["type"] == "organization.member.updated"
        assert entry["actor"] == {"type": "user", "id": grace.id, "name": "Grace Hopper"}
        assert entry["target"]["type"] == "organization.member"
        assert entry["target"]["name"] == "Mary Somerville"
        assert entry["changes"] == [{"field": "role", "from": "member", "to": "editor"}]
        assert entry["data"] == answer.json


class TestRemoveOrganizationMember:
    def test_a_removed_member_loses_access_at_once(self, api, organization, grace, mary):
        answer = api.delete(member_path(organization, mary), caller=grace)
        assert (answer.status, answer.text) == (204, "")
        assert api.get(organization.path, caller=mary).status_and_code == "404 not_found"
        assert api.get(member_path(organization, mary), caller=grace).status_and_code == "404 not_found"
        assert "mary" not in list_roles(api, organization, grace)

    def test_removing_a_member_twice_is_not_found(self, api, organization, ada, mary):
        api.delete(member_path(organization, mary), caller=ada)
        assert api.delete(member_path(organization, mary), caller=ada).status_and_code == "404 not_found"

    def test_the_owner_cannot_be_removed(self, api, organization, ada, grace):
        for person in (ada, grace):
            assert (
                api.delete(member_path(organization, ada), caller=person).status_and_code == "409 owner_must_transfer"
            )
        key = create_api_key(api, organization, "admin")
        assert api.delete(member_path(organization, ada), caller=key).status_and_code == "409 owner_must_transfer"

    def test_lower_roles_and_strangers_cannot_remove_a_member(self, api, organization, edith, mary, stranger):
        for person in (edith, mary):
            assert api.delete(member_path(organization, mary), caller=person).status_and_code == "403 insufficient_role"
        assert api.delete(member_path(organization, mary), caller=stranger).status_and_code == "404 not_found"

    def test_a_removed_member_can_join_again_as_a_new_member(self, api, organization, ada, edith):
        former_membership = api.get(member_path(organization, edith), caller=ada).json
        api.delete(member_path(organization, edith), caller=ada)
        add_organization_member(organization, edith, "member")
        new_membership = api.get(member_path(organization, edith), caller=ada).json
        assert (new_membership["role"], new_membership["version"]) == ("member", 1)
        assert new_membership["id"] != former_membership["id"]
        assert list(list_roles(api, organization, ada))[-1] == "edith"

    def test_the_entry_shows_the_removed_member(self, api, organization, ada, mary):
        member = api.get(member_path(organization, mary), caller=ada).json
        api.delete(member_path(organization, mary), caller=ada)
        entry = get_last_entry(api, organization, ada)
        assert (entry["type"], entry["data"], entry["changes"]) == ("organization.member.removed", member, [])

    def test_what_a_removed_member_created_stays(self, api, organization, ada, grace):
        platform = create_platform(api, replace(organization, owner=grace))
        api.delete(member_path(organization, grace), caller=ada)
        assert api.get(platform.path, caller=ada).status == 200


class TestLeaveOrganization:
    def test_a_member_who_leaves_loses_access_at_once(self, api, organization, ada, mary):
        answer = api.post(f"{organization.path}/leave", caller=mary)
        assert (answer.status, answer.text) == (204, "")
        assert api.get(organization.path, caller=mary).status_and_code == "404 not_found"
        entry = get_last_entry(api, organization, ada)
        assert (entry["type"], entry["actor"]["id"], entry["context"]["operationId"]) == (
            "organization.member.removed",
            mary.id,
            "leave_organization",
        )

    def test_the_owner_must_transfer_ownership_before_leaving(self, api, organization, ada, grace):
        assert api.post(f"{organization.path}/leave", caller=ada).status_and_code == "409 owner_must_transfer"
        api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": grace.id})
        assert api.post(f"{organization.path}/leave", caller=ada).status == 204
        assert api.post(f"{organization.path}/leave", caller=grace).status_and_code == "409 owner_must_transfer"

    def test_leaving_twice_is_not_found(self, api, organization, mary):
        api.post(f"{organization.path}/leave", caller=mary)
        assert api.post(f"{organization.path}/leave", caller=mary).status_and_code == "404 not_found"

    def test_a_nonempty_body_is_rejected(self, api, organization, mary, edith):
        assert api.post(f"{organization.path}/leave", caller=mary, json={"why": "x"}).errors == {
            "/why": "unknown_field"
        }
        assert api.post(f"{organization.path}/leave", caller=mary, json={}).status == 204
        assert api.post(f"{organization.path}/leave", caller=edith).status == 204

    def test_keys_cannot_leave(self, api, organization):
        key = create_api_key(api, organization, "admin")
        assert api.post(f"{organization.path}/leave", caller=key).status_and_code == "403 forbidden"
