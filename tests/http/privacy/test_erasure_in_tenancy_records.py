from dataclasses import replace
from typing import Final

import pytest

from tests.harness import memory_aws, snapshots
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.erasures import (
    PersonEraser,
    complete_erasure,
    create_erasure,
    finish_erasures,
    get_erasure,
    keys_of_items_containing,
)
from tests.harness.exports import create_export
from tests.harness.invitations import (
    CreatedInvitation,
    accept_invitation,
    create_invitation,
    decline_invitation,
    open_invitation,
    post_invitation,
)
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.workers import Workers

SOPHIE: Final = "sophie@example.org"


@pytest.fixture
def erase(api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> PersonEraser:
    """A function that completes the erasure of a person in the organization."""
    return PersonEraser(api, organization, workers, clock)


@pytest.fixture
def members_with_same_address(
    api: ApiClient, organization: CreatedOrganization, ada: Person, issuer: Issuer
) -> tuple[Person, Person]:
    """Emmy, a former member, and Lise, a current member who has Emmy's former email address."""
    former_member, current_member = (
        issuer.create_person(name, name.title(), email="press@example.org") for name in ("emmy", "lise")
    )
    accept_invitation(api, create_invitation(api, organization, former_member), former_member)
    api.delete(f"{organization.path}/members/{former_member.id}", caller=ada)
    accept_invitation(api, create_invitation(api, organization, current_member), current_member)
    return former_member, current_member


def member_usernames(api: ApiClient, organization: CreatedOrganization) -> list[str]:
    return [m["username"] for m in api.get_items(f"{organization.path}/members", caller=organization.owner)]


def list_invitations(api: ApiClient, organization: CreatedOrganization) -> list[Json]:
    return api.get_items(f"{organization.path}/invitations", caller=organization.owner)


class TestMember:
    """Grace has used the rights of an admin: she invited, and changed the organization and another member."""

    @pytest.fixture
    def invitation(
        self, api: ApiClient, organization: CreatedOrganization, grace: Person, mary: Person
    ) -> CreatedInvitation:
        invitation = create_invitation(api, organization, SOPHIE, caller=grace)
        api.patch(organization.path, caller=grace, json={"companyAddress": "Arlington"})
        api.patch(f"{organization.path}/members/{mary.id}", caller=grace, json={"role": "editor"})
        return invitation

    @pytest.mark.usefixtures("invitation")
    @pytest.mark.parametrize("identified_by", ["email", "userId", "both"])
    def test_the_member_is_removed_by_any_identification(self, api, organization, grace, erase, identified_by):
        key = create_api_key(api, organization, "admin", caller=grace)
        identity = {"email": grace.email.upper(), "userId": grace.id.upper()}
        assert keys_of_items_containing(grace.id, grace.email)
        assert erase(**(identity if identified_by == "both" else {identified_by: identity[identified_by]})) == (3, 5)
        assert keys_of_items_containing(grace.id, grace.email, grace.username) == []
        assert member_usernames(api, organization) == ["ada", "edith", "mary"]
        assert api.get(organization.path, caller=grace).status_and_code == "404 not_found"
        assert api.get(organization.path, caller=key).status_and_code == "401 api_key_revoked"

    def test_keys_and_invitations_of_the_member_are_revoked(self, api, organization, invitation, ada, grace, erase):
        key = create_api_key(api, organization, "admin", caller=grace)
        erase(userId=grace.id)
        key_record = api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).json
        assert (key_record["createdBy"], key_record["status"], key_record["version"]) == (None, "revoked", 2)
        record = api.get(invitation.path, caller=ada).json
        assert (record["invitedBy"], record["status"], record["email"]) == (None, "revoked", SOPHIE)
        assert open_invitation(api, invitation).status_and_code == "410 invitation_revoked"
        assert post_invitation(api, organization, SOPHIE).status == 201

    def test_an_erased_member_can_be_invited_again(self, api, organization, grace, workers, clock):
        path = create_erasure(api, organization, userId=grace.id)
        workers.deliver()
        assert get_erasure(api, organization, path)["status"] == "completed"
        clock.shift(seconds=1)
        accept_invitation(api, create_invitation(api, organization, grace, role="admin"), grace)
        key, invitation = (
            create_api_key(api, organization, caller=grace),
            create_invitation(api, organization, SOPHIE, caller=grace),
        )
        finish_erasures(workers, clock)
        assert get_erasure(api, organization, path)["erasedEntries"] == 1
        assert member_usernames(api, organization) == ["ada", "edith", "mary", "grace"]
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

    def test_a_member_whose_invitations_are_not_all_revoked_yet_is_removed(self, api, organization, ada, grace, erase):
        for n in range(41):
            create_invitation(api, organization, f"{n}@example.org", caller=grace)
        api.delete(f"{organization.path}/members/{grace.id}", caller=ada)
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
        assert expired.status_and_code == "410 export_expired"
        assert "its filters named a person whose data was erased" in expired.json["detail"]


class TestFormerMember:
    @pytest.mark.parametrize("identified_by", ["email", "userId"])
    def test_a_former_member_is_found_by_the_log(
        self, api, organization, mary, stranger, erase, workers, clock, identified_by
    ):
        create_invitation(api, organization, stranger)
        api.post(f"{organization.path}/leave", caller=mary)
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert erase(**{identified_by: {"email": mary.email, "userId": mary.id}[identified_by]}) == (0, 2)
        assert keys_of_items_containing(mary.id, mary.email) == []
        assert keys_of_items_containing(stranger.email)

    @pytest.mark.parametrize("identified_by", ["first", "second", "third", "id"])
    def test_a_member_who_rejoined_with_other_addresses_is_found_by_each(
        self, api, organization, ada, issuer, erase, workers, identified_by
    ):
        emmys = [issuer.create_person("emmy", "Emmy Noether", email=f"emmy@{n}.example.org") for n in range(3)]
        for emmy in emmys:
            accept_invitation(api, create_invitation(api, organization, emmy), emmy)
            workers.deliver()
            if emmy is not emmys[-1]:
                api.delete(f"{organization.path}/members/{emmy.id}", caller=ada)
        identities = {
            name: {"email": emmy.email} for name, emmy in zip(("first", "second", "third"), emmys, strict=True)
        }
        erase(**({"userId": emmys[0].id} if identified_by == "id" else identities[identified_by]))
        assert keys_of_items_containing(emmys[0].id, *(emmy.email for emmy in emmys)) == []

    @pytest.mark.parametrize("has_left", [False, True])
    def test_the_creator_is_found_although_no_entry_holds_their_address(
        self, api, organization, ada, grace, workers, clock, *, has_left
    ):
        api.patch(organization.path, caller=ada, json={"name": "Engines"})
        api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": grace.id})
        if has_left:
            api.post(f"{organization.path}/leave", caller=ada)
        complete_erasure(api, workers, clock, replace(organization, owner=grace), email=ada.email)
        assert keys_of_items_containing(ada.id, ada.email) == []
        assert verify_integrity(api, replace(organization, owner=grace))["valid"]


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

    def test_removed_invitations_do_not_count(self, api, organization, erase):
        create_invitation(api, organization, SOPHIE)
        (counter,) = [item for item in memory_aws.all_items() if item["sk"] == "COUNT#pending invitations"]
        assert counter["n"] == 1
        erase(email=SOPHIE)
        (counter,) = [item for item in memory_aws.all_items() if item["sk"] == "COUNT#pending invitations"]
        assert counter["n"] == 0

    def test_unsent_mail_is_not_sent(self, api, organization, mailbox, erase):
        create_invitation(api, organization, SOPHIE)
        memory_aws.discard_queued_messages()  # so that the sweep finds the mail later
        erase(email=SOPHIE)
        assert mailbox.emails == []
        assert not [item for item in memory_aws.all_items() if item.get("kind") == "organization.invitation_mail"]


class TestOtherPeople:
    @pytest.mark.usefixtures("organization")
    def test_the_erasure_of_an_unknown_person_changes_nothing(self, erase, workers):
        workers.run_until_idle()
        before = {key: item for key, item in snapshots.items_by_key().items() if item.get("kind")}
        assert erase(email="nobody@example.org", userId="01939d3c-0000-4000-8000-00000000000a") == (0, 0)
        after = snapshots.items_by_key()
        assert {key: after[key] for key in before} == before

    @pytest.mark.parametrize(
        "other_address",
        [
            "nada@example.com",
            "x.ada@example.com",
            "x+ada@example.com",
            "o'ada@example.com",
            "éada@example.com",
            "ada@example.com.au",
            "ada@example.community",
            "ada@example.com-x.org",
            "ada@my.example.com",
        ],
    )
    def test_a_longer_address_that_contains_the_erased_address_stays(
        self, api, organization, grace, clock, workers, other_address
    ):
        owned_by_grace = replace(organization, owner=grace)
        api.post(f"{organization.path}/transfer-ownership", caller=organization.owner, json={"newOwnerId": grace.id})
        invitation = create_invitation(api, owned_by_grace, other_address)
        changes = {"supportEmail": other_address, "companyAddress": f"Write to {other_address}."}
        api.patch(organization.path, caller=grace, json=changes)
        workers.run_until_idle()
        before = keys_of_items_containing(other_address)
        complete_erasure(api, workers, clock, owned_by_grace, email="ada@example.com")
        assert keys_of_items_containing(other_address) == before
        assert api.get(invitation.path, caller=grace).json["status"] == "pending"
        assert api.get(organization.path, caller=grace).json["supportEmail"] == other_address

    def test_an_address_with_a_prefix_of_special_characters_is_another_address(self, api, organization, erase):
        other_addresses = ["to=sophie@example.org", "x/sophie@example.org", "!sophie@example.org"]
        for other_address in other_addresses:
            create_invitation(api, organization, other_address)
        assert erase(email=SOPHIE) == (0, 0)
        assert [i["email"] for i in list_invitations(api, organization)] == other_addresses

    def test_a_later_holder_of_the_address_stays_a_member_if_only_the_id_is_given(
        self, api, organization, ada, members_with_same_address, erase
    ):
        former_member, current_member = members_with_same_address
        erase(userId=former_member.id)
        assert keys_of_items_containing(former_member.id, former_member.email) == []
        record = api.get(f"{organization.path}/members/{current_member.id}", caller=ada).json
        assert (record["name"], record["role"], record["email"]) == ("Lise", "member", None)

    def test_an_address_erases_all_its_holders(self, api, organization, members_with_same_address, erase):
        former_member, current_member = members_with_same_address
        erase(email="press@example.org")
        assert keys_of_items_containing(former_member.id, current_member.id, former_member.email) == []
        assert member_usernames(api, organization) == ["ada", "grace", "edith", "mary"]
