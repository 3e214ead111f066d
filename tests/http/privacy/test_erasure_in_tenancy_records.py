from dataclasses import replace
from itertools import count

import pytest

from chalicelib.features.tenancy.members.logic import leaving
from tests.harness import memory_aws, snapshots
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.erasures import complete_erasure, keys_of_items_containing
from tests.harness.exports import create_export
from tests.harness.faults import run_before_call
from tests.harness.invitations import SOPHIE_EMAIL as SOPHIE
from tests.harness.invitations import (
    accept_invitation,
    create_invitation,
    decline_invitation,
    open_invitation,
    post_invitation,
)
from tests.harness.organizations import (
    create_api_key,
    create_organization,
    leave_organization,
    roles_by_username,
    set_role,
    transfer_ownership,
)


def list_invitations(api, organization):
    return api.get_items(f"{organization.path}/invitations", caller=organization.owner)


class TestMember:
    @pytest.mark.parametrize("names", [("email",), ("userId",), ("email", "userId")])
    def test_the_member_is_removed_and_their_keys_and_invitations_are_revoked(
        self, api, organization, ada, grace, mary, erase, names
    ):
        invitation = create_invitation(api, organization, SOPHIE, caller=grace)
        api.patch(organization.path, caller=grace, json={"companyAddress": "Arlington"})
        set_role(api, organization, mary, "editor", caller=grace)
        key = create_api_key(api, organization, "admin", caller=grace)
        identity = {"email": grace.email.upper(), "userId": grace.id.upper()}
        assert keys_of_items_containing(grace.id, grace.email)
        assert erase(**{name: identity[name] for name in names}) == (3, 5)
        assert keys_of_items_containing(grace.id, grace.email, grace.username) == []
        assert [*roles_by_username(api, organization)] == ["ada", "edith", "mary"]
        assert api.get(organization.path, caller=grace).status_and_code == "404 not_found"
        assert api.get(organization.path, caller=key).status_and_code == "401 api_key_revoked"
        key_record = api.get(organization.api_key_path(key), caller=ada).json
        assert (key_record["createdBy"], key_record["status"], key_record["version"]) == (None, "revoked", 2)
        record = api.get(invitation.path, caller=ada).json
        assert (record["invitedBy"], record["status"], record["email"]) == (None, "revoked", SOPHIE)
        assert open_invitation(api, invitation).status_and_code == "410 invitation_revoked"
        assert post_invitation(api, organization, SOPHIE).status == 201

    def test_an_erased_member_can_be_invited_again(self, api, organization, grace, workers, clock, erase):
        path = erase.begin(userId=grace.id)
        workers.deliver()
        assert erase.get(path)["status"] == "completed"
        clock.shift(seconds=1)
        accept_invitation(api, create_invitation(api, organization, grace, role="admin"), grace)
        key = create_api_key(api, organization, caller=grace)
        invitation = create_invitation(api, organization, SOPHIE, caller=grace)
        erase.finish()
        assert erase.get(path)["erasedEntries"] == 1
        assert [*roles_by_username(api, organization)] == ["ada", "edith", "mary", "grace"]
        assert api.get(f"{organization.api_keys_path}/{key.id}", caller=grace).json["createdBy"] == grace.id
        assert api.get(invitation.path, caller=grace).json["status"] == "pending"
        assert [entry["sequence"] for entry in list_entries(api, organization) if "erased" in entry] == [2]

    def test_the_membership_of_another_organization_stays(self, api, grace, ada, erase):
        other_organization = create_organization(api, grace, name="Harvard")
        create_invitation(api, other_organization, ada)
        before = {key for key in keys_of_items_containing(grace.id, grace.email) if other_organization.id in str(key)}
        erase(userId=grace.id)
        assert {*keys_of_items_containing(grace.id, grace.email)} == before
        assert api.get(other_organization.path, caller=grace).status == 200

    def test_a_member_whose_invitations_are_not_all_revoked_yet_is_removed(
        self, api, organization, ada, grace, erase, monkeypatch
    ):
        monkeypatch.setattr(leaving, "_MAX_DEPENDENTS_PER_TRANSACTION", 2)
        for n in range(3):
            create_invitation(api, organization, f"{n}@example.org", caller=grace)
        api.delete(f"{organization.path}/members/{grace.id}", caller=ada)
        assert sorted(i["status"] for i in list_invitations(api, organization)) == ["pending", "revoked", "revoked"]
        erase(userId=grace.id)
        assert keys_of_items_containing(grace.id, grace.email) == []
        assert {i["status"] for i in list_invitations(api, organization)} == {"revoked"}

    def test_downloads_and_filters_of_audit_exports_are_removed(self, api, organization, grace, erase, workers):
        export = create_export(api, organization)
        export_about_grace = create_export(api, organization, filters={"actorId": grace.id})
        workers.run_until_idle()
        assert api.get(export.path, caller=grace).json["downloadUrl"]
        erase(email=grace.email)
        assert keys_of_items_containing(grace.id, grace.email) == []
        assert export.get(api)["status"] == "completed"
        expired = api.get(export_about_grace.path, caller=organization.owner)
        expired.expect_problem("410 export_expired", "its filters named a person whose data was erased")


class TestFormerMember:
    @pytest.mark.parametrize("name", ["email", "userId"])
    def test_a_former_member_is_found_by_the_log(self, api, organization, mary, stranger, erase, run_tasks_after, name):
        create_invitation(api, organization, stranger)
        api.post(f"{organization.path}/leave", caller=mary)
        run_tasks_after(minutes=1)
        assert erase(**{name: {"email": mary.email, "userId": mary.id}[name]}) == (0, 2)
        assert keys_of_items_containing(mary.id, mary.email) == []
        assert keys_of_items_containing(stranger.email)

    def test_a_member_who_rejoined_with_other_addresses_is_found_by_each(
        self, api, organization, ada, issuer, erase, workers
    ):
        emmys = [issuer.create_person("emmy", "Emmy Noether", email=f"emmy@{n}.example.org") for n in range(3)]
        for emmy in emmys:
            accept_invitation(api, create_invitation(api, organization, emmy), emmy)
            workers.deliver()
            if emmy is not emmys[-1]:
                api.delete(f"{organization.path}/members/{emmy.id}", caller=ada)
        before = snapshots.take_snapshot()
        for identity in ({"userId": emmys[0].id}, *({"email": emmy.email} for emmy in emmys)):
            snapshots.restore_snapshot(before)
            erase(**identity)
            assert keys_of_items_containing(emmys[0].id, *(emmy.email for emmy in emmys)) == [], identity

    @pytest.mark.parametrize("has_left", [False, True])
    def test_the_creator_is_found_although_no_entry_holds_their_address(
        self, api, organization, ada, grace, workers, clock, *, has_left
    ):
        api.patch(organization.path, caller=ada, json={"name": "Engines"})
        transfer_ownership(api, organization, ada, grace.id)
        if has_left:
            leave_organization(api, organization, ada)
        owned_by_grace = replace(organization, owner=grace)
        complete_erasure(api, workers, clock, owned_by_grace, email=ada.email)
        assert keys_of_items_containing(ada.id, ada.email) == []
        assert verify_integrity(api, owned_by_grace)["valid"]


class TestInvitedPerson:
    def test_invitations_in_every_status_are_removed(self, api, organization, ada, stranger, erase, clock):
        decline_invitation(api, create_invitation(api, organization, stranger), stranger)
        api.delete(create_invitation(api, organization, stranger).path, caller=ada)
        create_invitation(api, organization, stranger, expiresInDays=1)
        clock.shift(days=2)
        pending = create_invitation(api, organization, stranger)
        erase(email=stranger.email)
        assert list_invitations(api, organization) == []
        assert keys_of_items_containing(stranger.email, stranger.id) == []
        assert open_invitation(api, pending).status_and_code == "404 not_found"
        assert post_invitation(api, organization, stranger).status == 201

    @pytest.mark.parametrize("expiry_recorded", [False, True])
    def test_the_guard_of_an_expired_invitation_is_removed(
        self, api, organization, erase, clock, workers, *, expiry_recorded
    ):
        create_invitation(api, organization, SOPHIE, expiresInDays=1)
        workers.deliver()
        clock.shift(days=1, seconds=1)
        if expiry_recorded:
            workers.run_until_idle()
        erase(email=SOPHIE)
        assert keys_of_items_containing(SOPHIE) == []

    def test_removed_invitations_do_not_count_and_their_unsent_mail_is_not_sent(
        self, api, organization, mailbox, erase
    ):
        create_invitation(api, organization, SOPHIE)
        memory_aws.discard_queued_messages()  # so that the sweep finds the mail later
        for expected_count in (1, 0):
            (counter,) = [item for item in memory_aws.all_items() if item["sk"] == "COUNT#pending invitations"]
            assert counter["n"] == expected_count
            erase(email=SOPHIE)
        assert mailbox.emails == []
        assert not [item for item in memory_aws.all_items() if item.get("kind") == "organization.invitation_mail"]


class TestOtherPeople:
    def test_the_erasure_of_an_unknown_person_changes_nothing(self, erase, workers):
        workers.run_until_idle()
        before = {key: item for key, item in snapshots.items_by_key().items() if item.get("kind")}
        assert erase(email="nobody@example.org", userId="01939d3c-0000-4000-8000-00000000000a") == (0, 0)
        after = snapshots.items_by_key()
        assert {key: after[key] for key in before} == before

    def test_a_longer_address_that_contains_the_erased_address_stays(self, api, organization, grace, clock, workers):
        other_addresses = ["nada@example.com", "to=ada@example.com", "ada@example.com.au"]
        transfer_ownership(api, organization, organization.owner, grace.id).expect(200)
        owned_by_grace = replace(organization, owner=grace)
        paths = [create_invitation(api, owned_by_grace, address).path for address in other_addresses]
        changes = {"supportEmail": "ada@example.com.au", "companyAddress": "Write to nada@example.com."}
        api.patch(organization.path, caller=grace, json=changes).expect(200)
        workers.run_until_idle()
        before = {address: keys_of_items_containing(address) for address in other_addresses}
        complete_erasure(api, workers, clock, owned_by_grace, email="ada@example.com")
        assert {address: keys_of_items_containing(address) for address in other_addresses} == before
        records = [api.get(path, caller=grace).json for path in paths]
        assert [(record["email"], record["status"]) for record in records] == [(a, "pending") for a in other_addresses]
        record = api.get(organization.path, caller=grace).json
        assert record | changes == record

    @pytest.mark.parametrize("by_address", [False, True])
    def test_an_address_erases_all_its_holders_and_an_id_only_its_own_former_member(
        self, api, organization, ada, issuer, erase, *, by_address
    ):
        former, current = (
            issuer.create_person(name, name.title(), email="press@example.org") for name in ("emmy", "lise")
        )
        accept_invitation(api, create_invitation(api, organization, former), former)
        api.delete(f"{organization.path}/members/{former.id}", caller=ada)
        accept_invitation(api, create_invitation(api, organization, current), current)
        erase(**({"email": former.email} if by_address else {"userId": former.id}))
        assert keys_of_items_containing(former.id, former.email) == []
        if by_address:
            assert keys_of_items_containing(current.id) == []
            assert [*roles_by_username(api, organization)] == ["ada", "grace", "edith", "mary"]
        else:
            record = api.get(f"{organization.path}/members/{current.id}", caller=ada).json
            assert (record["name"], record["role"], record["email"]) == ("Lise", "member", None)


@pytest.mark.parametrize(
    ("request_line", "body"),
    [
        ("PATCH ", {"name": "Late"}),
        ("POST /api-keys", {"name": "Late"}),
        ("POST /invite", {"email": SOPHIE}),
        ("PATCH /members/{mary}", {"role": "editor"}),
        ("POST /leave", None),
    ],
)
def test_a_request_of_a_member_that_is_interrupted_by_their_erasure_leaves_nothing(
    api, organization, grace, mary, workers, request_line, body, erase
):
    method, suffix = request_line.split(" ")
    path = organization.path + suffix.format(mary=mary.id)
    workers.run_until_idle()
    before, statuses = snapshots.take_snapshot(), []
    for at in count(1):
        snapshots.restore_snapshot(before)
        erase.begin(userId=grace.id)
        with run_before_call(workers.run_until_idle, call_number=at) as overtaking:
            statuses.append(api.request(method, path, caller=grace, json=body).status)
        erase.finish()
        assert keys_of_items_containing(grace.id, grace.email) == [], f"before {overtaking.interrupted_call}, call {at}"
        assert verify_integrity(api, organization)["valid"]
        if not overtaking.interrupted_call:
            break
    assert statuses[0] == 404
    assert statuses[-1] < 300
    assert at > 2
