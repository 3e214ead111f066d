"""Members and the owner of an organization, and whose e-mail addresses and usernames identify whom."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.entities.organizations import Organization
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import accept_invitation, create_invitation, decide_on_invitation, post_invitation
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

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"
LOOKALIKES = ["\u212aevin", "kev\u0131n", "kev\u0130n", "\uff4bevin"]
INSUFFICIENT_ROLE, NOT_FOUND = "403 insufficient_role", "404 not_found"
LIMIT_EXCEEDED, MUST_TRANSFER = "409 limit_exceeded", "409 owner_must_transfer"


def list_owners(api, organization):
    return [username for username, role in roles_by_username(api, organization).items() if role == "owner"]


class TestListOrganizationMembers:
    def test_members_are_listed_in_the_order_they_joined(self, api, organization):
        roles = [("ada", "owner"), ("grace", "admin"), ("edith", "editor"), ("mary", "member")]
        assert [*roles_by_username(api, organization).items()] == roles

    def test_only_admins_see_email_addresses(self, api, organization, ada, grace, edith, mary):
        members = {person.username: person.email for person in (ada, grace, edith, mary)}
        scopes = ("admin", "write", "members:write", "read")
        keys = {scope: create_api_key(api, organization, scope) for scope in scopes}
        expected = {ada: members, grace: members, keys["admin"]: members}
        expected |= {person: {person.username: person.email} for person in (edith, mary)}
        for caller, emails in (expected | {keys[scope]: {} for scope in scopes[1:]}).items():
            listed = api.get_items(f"{organization.path}/members", caller=caller)
            assert {member["username"]: member["email"] for member in listed if member["email"]} == emails
        for scope, email in (("members:write", None), ("admin", mary.email)):
            assert set_role(api, organization, mary, "member", caller=keys[scope]).json["email"] == email
        assert api.get(organization.member_path(grace), caller=mary).json["email"] is None

    def test_a_user_whose_subject_is_no_uuid_has_a_derived_id(self, api, issuer):
        pseudonym = issuer.create_person("x", "X", sub="auth0|12345")
        path = f"{create_organization(api, pseudonym).path}/members"
        (member,) = api.get_items(path, caller=pseudonym)
        assert api.get(f"{path}/{member['userId']}", caller=pseudonym).json == member


class TestUpdateOrganizationMember:
    def test_a_role_up_to_the_admins_own_applies_to_the_next_request(self, api, organization, grace, mary):
        for version, (role, status) in enumerate((("editor", 403), ("admin", 200), ("member", 403)), start=2):
            answer = set_role(api, organization, mary, role, caller=grace)
            assert (answer.status, answer.json["role"], answer.json["version"]) == (200, role, version)
            assert roles_by_username(api, organization)["mary"] == role
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
            assert [*set_role(api, organization, mary, role).validation_errors] == ["/role"], role
        body = {"role": "editor", "name": "M", "email": "m@example.com", "username": "mary"}
        answer = api.patch(organization.member_path(mary), caller=ada, json=body)
        assert answer.errors == {"/name": "read_only", "/email": "read_only"}

    def test_an_admin_can_step_down_but_not_up_and_a_key_without_admin_grants_up_to_editor(
        self, api, organization, grace, mary
    ):
        assert set_role(api, organization, grace, "member", caller=grace).status == 200
        assert set_role(api, organization, grace, "admin", caller=grace).status_and_code == INSUFFICIENT_ROLE
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        for key, role, status in ((limited_key, "admin", 403), (limited_key, "editor", 200), (admin_key, "admin", 200)):
            assert set_role(api, organization, mary, role, caller=key).status == status


class TestRemoveOrganizationMember:
    def test_a_removed_member_loses_access_at_once_and_what_they_created_stays(self, api, organization, ada, grace):
        platform = create_platform(api, replace(organization, owner=grace))
        answer = remove_member(api, organization, grace)
        assert (answer.status, answer.text) == (204, "")
        assert api.get(organization.path, caller=grace).status_and_code == NOT_FOUND
        assert api.get(organization.member_path(grace), caller=ada).status_and_code == NOT_FOUND
        assert remove_member(api, organization, grace).status_and_code == NOT_FOUND
        assert "grace" not in roles_by_username(api, organization)
        assert api.get(platform.path, caller=ada).status == 200

    def test_a_removed_member_can_join_again_as_a_new_member(self, api, organization, ada, edith):
        former_membership = api.get(organization.member_path(edith), caller=ada).json
        remove_member(api, organization, edith)
        add_organization_member(organization, edith, "member")
        new_membership = api.get(organization.member_path(edith), caller=ada).json
        assert (new_membership["role"], new_membership["version"]) == ("member", 1)
        assert new_membership["id"] != former_membership["id"]
        assert [*roles_by_username(api, organization)][-1] == "edith"

    def test_a_member_who_leaves_loses_access_at_once(self, api, organization, mary):
        answer = leave_organization(api, organization, mary)
        assert (answer.status, answer.text) == (204, "")
        assert api.get(organization.path, caller=mary).status_and_code == NOT_FOUND
        assert api.get_items("/organizations", caller=mary) == []
        assert leave_organization(api, organization, mary).status_and_code == NOT_FOUND

    def test_the_owner_cannot_be_removed_and_leaves_only_after_a_transfer(self, api, organization, ada, grace):
        for caller in (ada, grace, create_api_key(api, organization, "admin")):
            assert remove_member(api, organization, ada, caller=caller).status_and_code == MUST_TRANSFER
        assert leave_organization(api, organization, ada).status_and_code == MUST_TRANSFER
        transfer_ownership(api, organization, ada, grace.id)
        assert leave_organization(api, organization, ada).status == 204
        assert leave_organization(api, organization, grace).status_and_code == MUST_TRANSFER


class TestTransferOwnership:
    def test_the_new_owner_gets_the_owners_rights_and_the_former_owner_an_admins(self, api, organization, ada, mary):
        answer = transfer_ownership(api, organization, ada, mary.id)
        assert (answer.status, answer.json["ownerId"], answer.json["version"]) == (200, mary.id, 2)
        assert api.get(organization.path, caller=ada).json == answer.json
        roles = {"ada": "admin", "grace": "admin", "edith": "editor", "mary": "owner"}
        assert roles_by_username(api, organization) == roles
        assert api.delete(organization.path, caller=ada).status_and_code == INSUFFICIENT_ROLE
        assert transfer_ownership(api, organization, ada, ada.id).status_and_code == INSUFFICIENT_ROLE
        assert api.get(organization.api_keys_path, caller=ada).status == 200
        assert set_role(api, organization, mary, "member", caller=ada).status_and_code == MUST_TRANSFER
        assert transfer_ownership(api, organization, mary, ada.id).status == 200
        assert list_owners(api, organization) == ["ada"]
        assert remove_member(api, organization, mary).status == 204

    def test_the_new_owner_must_be_a_member_and_the_owner_changes_nothing(self, api, organization, ada, stranger):
        before = list_entries(api, organization)
        for user_id in (stranger.id, UNKNOWN_ID, "", "x", None, 7, ["a"], UNKNOWN_ID + "0"):
            assert [*transfer_ownership(api, organization, ada, user_id).validation_errors] == ["/newOwnerId"], user_id
        assert transfer_ownership(api, organization, ada, ada.id.upper()).status == 200
        assert list_owners(api, organization) == ["ada"]
        assert api.get(organization.path, caller=ada).json == organization.record
        assert list_entries(api, organization) == before

    def test_one_of_several_concurrent_transfers_succeeds(self, api, organization, ada, grace, edith, mary):
        people = {person.username: person for person in (grace, edith, mary)}
        with ThreadPoolExecutor(3) as threads:
            answers = [*threads.map(lambda p: transfer_ownership(api, organization, ada, p.id), people.values())]
        assert sorted(answer.status for answer in answers) == [200, 403, 403]
        assert {a.status_and_code for a in answers if a.status == 403} == {INSUFFICIENT_ROLE}
        (owner,) = list_owners(api, organization)
        assert api.get(organization.path, caller=ada).json["ownerId"] == people[owner].id

    def test_there_is_one_owner_when_the_new_owner_leaves_concurrently(self, api, organization, ada, mary):
        with ThreadPoolExecutor(2) as threads:
            leaving = threads.submit(leave_organization, api, organization, mary)
            transfer = threads.submit(transfer_ownership, api, organization, ada, mary.id)
        assert (leaving.result().status, transfer.result().status) in ((204, 422), (409, 200))
        assert len(list_owners(api, organization)) == 1


class TestOwnedOrganizationsLimit:
    @pytest.fixture
    def create(self, api):
        return lambda person: api.post("/organizations", caller=person, json={"name": "Guild"})

    def test_the_default_limit_is_100(self):
        assert Organization.quota is not None
        assert Organization.quota.maximum == 100

    def test_deleted_organizations_do_not_count(self, api, configure, ada, create):
        configure(max_owned_organizations="2")
        create(ada)
        deleted_path = create(ada).location
        assert create(ada).status_and_code == LIMIT_EXCEEDED
        assert api.delete(deleted_path, caller=ada).status == 204
        other_path = create(ada).location
        assert api.patch(deleted_path, caller=ada, json={"status": "active"}).status_and_code == LIMIT_EXCEEDED
        assert api.get(deleted_path, caller=ada).status_and_code == NOT_FOUND
        assert api.delete(other_path, caller=ada).status == 204
        assert api.patch(deleted_path, caller=ada, json={"status": "active"}).status == 200

    def test_concurrent_creations_do_not_exceed_the_limit(self, configure, ada, create):
        configure(max_owned_organizations="3")
        with ThreadPoolExecutor(4) as threads:
            answers = [*threads.map(lambda _: create(ada), range(8))]
        rejections = [answer.status_and_code for answer in answers if answer.status != 201]
        assert rejections == [LIMIT_EXCEEDED] * 5

    def test_a_transfer_cannot_exceed_the_limit(self, api, configure, organization, ada, mary, create):
        configure(max_owned_organizations="1")
        own_path = create(mary).location
        assert transfer_ownership(api, organization, ada, mary.id).status_and_code == LIMIT_EXCEEDED
        assert list_owners(api, organization) == ["ada"]
        assert api.delete(own_path, caller=mary).status == 204
        assert transfer_ownership(api, organization, ada, mary.id).status == 200
        assert [create(person).status for person in (ada, mary)] == [201, 409]

    def test_an_uncounted_organization_counts_after_its_transfer(self, api, configure, ada, mary, create):
        configure(max_owned_organizations="1")
        uncounted = create_organization(api, ada, name="Before")
        # Restore the items of an organization that was stored before organizations were counted.
        for item in memory_aws.all_items():
            if item["pk"] == f"O#{uncounted.id}" and item["sk"] == "#":
                memory_aws.put_item({name: value for name, value in item.items() if name != "counted"})
            if item["sk"].startswith("COUNT#organizations"):
                memory_aws.delete_item(item)
        add_organization_member(uncounted, mary, "member")
        assert api.patch(uncounted.path, caller=ada, json={"name": "Still"}).status == 200
        assert [create(ada).status for _ in range(2)] == [201, 409]
        assert transfer_ownership(api, uncounted, ada, mary.id).status == 200
        assert [create(person).status_and_code for person in (mary, ada)] == [LIMIT_EXCEEDED] * 2


class TestLookalikes:
    def test_a_lookalike_cannot_accept_an_invitation(self, api, organization, platform, issuer):
        kevin = issuer.create_person("kevin", "Kevin", email="Kevin@Example.com")
        invited = create_invitation(api, organization, "KEVIN@example.com")
        assert invited.record["email"] == "kevin@example.com"
        create_invitation(api, platform, "kevin@example.com")
        for name in LOOKALIKES:
            person = issuer.create_person(name, "Another", email=f"{name}@example.com")
            assert decide_on_invitation(api, invited, person).status_and_code == "403 email_mismatch"
            assert api.post(f"{platform.path}/join", caller=person).status_and_code == NOT_FOUND
            path = f"{platform.path}/members/by-username/{person.username}"
            assert api.get(path, caller=platform.owner).status_and_code == NOT_FOUND
        assert accept_invitation(api, invited, kevin)["status"] == "accepted"
        assert api.post(f"{platform.path}/join", caller=kevin).status == 200
        assert api.get("/reference/countries/\u212aE").status_and_code == NOT_FOUND

    @pytest.mark.parametrize("name", [*LOOKALIKES, "KÉVIN", "kevi\u0301n"])
    def test_an_address_with_lookalike_letters_is_rejected_everywhere(self, api, organization, ada, name):
        email = f"{name}@example.com"
        assert post_invitation(api, organization, email).errors == {"/email": "malformed"}
        erasure = api.post(f"{organization.path}/erasures", caller=ada, json={"email": email})
        assert erasure.errors == {"/email": "malformed"}
        update = api.patch(organization.path, caller=ada, json={"supportEmail": email})
        assert update.errors == {"/supportEmail": "malformed"}
        lead = api.post("/public/leads", json={"contactName": "Kevin", "contactEmail": email})
        assert lead.errors == {"/contactEmail": "malformed"}

    def test_a_members_internationalized_domain_is_recognized_in_each_form(self, api, organization, issuer, workers):
        grace = issuer.create_person("grace-hopper", "Grace", email="grace@Bücher.example")
        # Older items are stored in this form.
        add_organization_member(organization, replace(grace, email="grace@bücher.example"), "member")
        for email in ("grace@bücher.example", "Grace@XN--BCHER-KVA.example"):
            assert post_invitation(api, organization, email).status_and_code == "409 already_member"
        body = {"email": "grace@bücher.example"}
        assert api.post(f"{organization.path}/erasures", caller=organization.owner, json=body).status == 202
        workers.run_until_idle()
        assert "cher" not in api.get(f"{organization.path}/members", caller=organization.owner).text
