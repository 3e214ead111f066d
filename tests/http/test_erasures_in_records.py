import json
from dataclasses import replace
from typing import Final

import pytest

from tests.harness import cloud, snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.erasures import begin_erasure, erased, finish, found_at, left_of
from tests.harness.exports import begin_export
from tests.harness.invitations import Invited, accepts, asked_to_invite, declines, invite, opens
from tests.harness.logs import log_of, verify
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers

SOPHIE: Final = "sophie@example.org"


@pytest.fixture
def erase(api: Api, organization: Founded, workers: Workers, clock: Clock) -> "PersonEraser":
    """A function that completes the erasure of a person in the organization."""
    return PersonEraser(api, organization, workers, clock)


class PersonEraser:
    """Complete an erasure and return the counts of erased records and entries."""

    def __init__(self, api: Api, organization: Founded, workers: Workers, clock: Clock) -> None:
        self._api, self._organization, self._workers, self._clock = api, organization, workers, clock

    def __call__(self, **identity: object) -> tuple[int, int]:
        record = erased(self._api, self._workers, self._clock, self._organization, **identity)
        return record["erasedRecords"], record["erasedEntries"]


@pytest.fixture
def members_with_same_address(api: Api, organization: Founded, ada: Person, issuer: Issuer) -> tuple[Person, Person]:
    """Emmy, a former member, and Lise, a current member who has Emmy's former email address."""
    former_member, current_member = (
        issuer.person(name, name.title(), email="press@example.org") for name in ("emmy", "lise")
    )
    accepts(api, invite(api, organization, former_member), former_member)
    api.delete(f"{organization.path}/members/{former_member.id}", as_=ada)
    accepts(api, invite(api, organization, current_member), current_member)
    return former_member, current_member


def member_usernames(api: Api, organization: Founded) -> list[str]:
    return [m["username"] for m in api.items(f"{organization.path}/members", as_=organization.owner)]


def list_invitations(api: Api, organization: Founded) -> list[Json]:
    return api.items(f"{organization.path}/invitations", as_=organization.owner)


class TestMember:
    """Grace has used the rights of an admin: she invited, and changed the organization and another member."""

    @pytest.fixture
    def invitation(self, api: Api, organization: Founded, grace: Person, mary: Person) -> Invited:
        invitation = invite(api, organization, SOPHIE, as_=grace)
        api.patch(organization.path, as_=grace, json={"companyAddress": "Arlington"})
        api.patch(f"{organization.path}/members/{mary.id}", as_=grace, json={"role": "editor"})
        return invitation

    @pytest.mark.usefixtures("invitation")
    @pytest.mark.parametrize("identified_by", ["email", "userId", "both"])
    def test_the_member_is_removed_by_any_identification(
        self, api: Api, organization: Founded, grace: Person, erase: PersonEraser, identified_by: str
    ) -> None:
        key = make_key(api, organization, "admin", as_=grace)
        identity = {"email": grace.email.upper(), "userId": grace.id.upper()}
        assert left_of(grace.id, grace.email)
        assert erase(**(identity if identified_by == "both" else {identified_by: identity[identified_by]})) == (3, 5)
        assert left_of(grace.id, grace.email, grace.username) == []
        assert member_usernames(api, organization) == ["ada", "edith", "mary"]
        assert api.get(organization.path, as_=grace).code == "404 not_found"
        assert api.get(organization.path, as_=key).code == "401 api_key_revoked"

    def test_keys_and_invitations_of_the_member_are_revoked(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, grace: Person, erase: PersonEraser
    ) -> None:
        key = make_key(api, organization, "admin", as_=grace)
        erase(userId=grace.id)
        key_record = api.get(f"{organization.keys}/{key.id}", as_=ada).json
        assert (key_record["createdBy"], key_record["status"], key_record["version"]) == (None, "revoked", 2)
        record = api.get(invitation.path, as_=ada).json
        assert (record["invitedBy"], record["status"], record["email"]) == (None, "revoked", SOPHIE)
        assert opens(api, invitation).code == "410 invitation_revoked"
        assert asked_to_invite(api, organization, SOPHIE).status == 201

    def test_an_erased_member_can_be_invited_again(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        workers.deliver()
        assert found_at(api, organization, path)["status"] == "completed"
        clock.shift(seconds=1)
        accepts(api, invite(api, organization, grace, role="admin"), grace)
        key, invitation = make_key(api, organization, as_=grace), invite(api, organization, SOPHIE, as_=grace)
        finish(workers, clock)
        assert found_at(api, organization, path)["erasedEntries"] == 1
        assert member_usernames(api, organization) == ["ada", "edith", "mary", "grace"]
        assert api.get(f"{organization.keys}/{key.id}", as_=grace).json["createdBy"] == grace.id
        assert api.get(invitation.path, as_=grace).json["status"] == "pending"
        assert [entry["sequence"] for entry in log_of(api, organization) if "erased" in entry] == [2]

    def test_the_membership_of_another_organization_stays(
        self, api: Api, grace: Person, ada: Person, erase: PersonEraser
    ) -> None:
        other_organization = found(api, grace, name="Harvard")
        invite(api, other_organization, ada)
        before = {key for key in left_of(grace.id, grace.email) if other_organization.id in str(key)}
        erase(userId=grace.id)
        assert {*left_of(grace.id, grace.email)} == before
        assert api.get(other_organization.path, as_=grace).status == 200

    def test_a_member_whose_invitations_are_not_all_revoked_yet_is_removed(
        self, api: Api, organization: Founded, ada: Person, grace: Person, erase: PersonEraser
    ) -> None:
        for n in range(41):
            invite(api, organization, f"{n}@example.org", as_=grace)
        api.delete(f"{organization.path}/members/{grace.id}", as_=ada)
        erase(userId=grace.id)
        assert left_of(grace.id, grace.email) == []
        assert {i["status"] for i in list_invitations(api, organization)} == {"revoked"}

    def test_downloads_and_filters_of_audit_exports_are_removed(
        self, api: Api, organization: Founded, grace: Person, erase: PersonEraser, workers: Workers
    ) -> None:
        export = begin_export(api, organization)
        export_about_grace = begin_export(api, organization, filters={"actorId": grace.id})
        workers.settle()
        assert api.get(export.path, as_=grace).json["downloadUrl"]
        erase(email=grace.email)
        assert left_of(grace.id, grace.email) == []
        assert export.now(api)["status"] == "completed"
        expired = api.get(export_about_grace.path, as_=organization.owner)
        assert expired.code == "410 export_expired"
        assert "its filters named a person whose data was erased" in expired.json["detail"]


class TestFormerMember:
    @pytest.mark.parametrize("identified_by", ["email", "userId"])
    def test_a_former_member_is_found_by_the_log(
        self,
        api: Api,
        organization: Founded,
        mary: Person,
        stranger: Person,
        erase: PersonEraser,
        workers: Workers,
        clock: Clock,
        identified_by: str,
    ) -> None:
        invite(api, organization, stranger)
        api.post(f"{organization.path}/leave", as_=mary)
        clock.shift(minutes=1)
        workers.settle()
        assert erase(**{identified_by: {"email": mary.email, "userId": mary.id}[identified_by]}) == (0, 2)
        assert left_of(mary.id, mary.email) == []
        assert left_of(stranger.email)

    @pytest.mark.parametrize("identified_by", ["first", "second", "third", "id"])
    def test_a_member_who_rejoined_with_other_addresses_is_found_by_each(
        self,
        api: Api,
        organization: Founded,
        ada: Person,
        issuer: Issuer,
        erase: PersonEraser,
        workers: Workers,
        identified_by: str,
    ) -> None:
        emmys = [issuer.person("emmy", "Emmy Noether", email=f"emmy@{n}.example.org") for n in range(3)]
        for emmy in emmys:
            accepts(api, invite(api, organization, emmy), emmy)
            workers.deliver()
            if emmy is not emmys[-1]:
                api.delete(f"{organization.path}/members/{emmy.id}", as_=ada)
        identities = {
            name: {"email": emmy.email} for name, emmy in zip(("first", "second", "third"), emmys, strict=True)
        }
        erase(**({"userId": emmys[0].id} if identified_by == "id" else identities[identified_by]))
        assert left_of(emmys[0].id, *(emmy.email for emmy in emmys)) == []

    @pytest.mark.parametrize("has_left", [False, True])
    def test_the_creator_is_found_although_no_entry_holds_their_address(
        self,
        api: Api,
        organization: Founded,
        ada: Person,
        grace: Person,
        workers: Workers,
        clock: Clock,
        *,
        has_left: bool,
    ) -> None:
        api.patch(organization.path, as_=ada, json={"name": "Engines"})
        api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
        if has_left:
            api.post(f"{organization.path}/leave", as_=ada)
        erased(api, workers, clock, replace(organization, owner=grace), email=ada.email)
        assert left_of(ada.id, ada.email) == []
        assert verify(api, replace(organization, owner=grace))["valid"]


class TestInvitedPerson:
    def test_invitations_in_every_status_are_removed(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, erase: PersonEraser, clock: Clock
    ) -> None:
        declines(api, invite(api, organization, stranger), stranger)
        api.delete(invite(api, organization, stranger).path, as_=ada)
        invite(api, organization, stranger, expiresInDays=1)
        clock.shift(days=2)
        pending = invite(api, organization, stranger)
        erase(email=stranger.email)
        assert list_invitations(api, organization) == []
        assert left_of(stranger.email, stranger.id) == []
        assert opens(api, pending).code == "404 not_found"
        assert asked_to_invite(api, organization, stranger).status == 201

    @pytest.mark.parametrize("expiry_recorded", [False, True])
    def test_the_guard_of_an_expired_invitation_is_removed(
        self,
        api: Api,
        organization: Founded,
        erase: PersonEraser,
        clock: Clock,
        workers: Workers,
        *,
        expiry_recorded: bool,
    ) -> None:
        invite(api, organization, SOPHIE, expiresInDays=1)
        workers.deliver()
        clock.shift(days=1, seconds=1)
        if expiry_recorded:
            workers.settle()
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []

    def test_removed_invitations_do_not_count(self, api: Api, organization: Founded, erase: PersonEraser) -> None:
        invite(api, organization, SOPHIE)
        (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
        assert counter["n"] == 1
        erase(email=SOPHIE)
        (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
        assert counter["n"] == 0

    def test_unsent_mail_is_not_sent(
        self, api: Api, organization: Founded, mailbox: Mailbox, erase: PersonEraser
    ) -> None:
        invite(api, organization, SOPHIE)
        for queue in cloud.queues():
            queue._messages.clear()  # noqa: SLF001 - the message is lost, so that the sweep finds the mail later
        erase(email=SOPHIE)
        assert mailbox.letters == []
        assert not [item for item in cloud.stored() if item.get("kind") == "organization.invitation_mail"]


class TestOtherPeople:
    @pytest.mark.usefixtures("organization")
    def test_the_erasure_of_an_unknown_person_changes_nothing(self, erase: PersonEraser, workers: Workers) -> None:
        workers.settle()
        before = {key: item for key, item in snapshots.stored().items() if item.get("kind")}
        assert erase(email="nobody@example.org", userId="01939d3c-0000-4000-8000-00000000000a") == (0, 0)
        after = snapshots.stored()
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
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers, other_address: str
    ) -> None:
        owned_by_grace = replace(organization, owner=grace)
        api.post(f"{organization.path}/transfer-ownership", as_=organization.owner, json={"newOwnerId": grace.id})
        invitation = invite(api, owned_by_grace, other_address)
        changes = {"supportEmail": other_address, "companyAddress": f"Write to {other_address}."}
        api.patch(organization.path, as_=grace, json=changes)
        workers.settle()
        before = left_of(other_address)
        erased(api, workers, clock, owned_by_grace, email="ada@example.com")
        assert left_of(other_address) == before
        assert api.get(invitation.path, as_=grace).json["status"] == "pending"
        assert api.get(organization.path, as_=grace).json["supportEmail"] == other_address

    def test_an_address_with_a_prefix_of_special_characters_is_another_address(
        self, api: Api, organization: Founded, erase: PersonEraser
    ) -> None:
        other_addresses = ["to=sophie@example.org", "x/sophie@example.org", "!sophie@example.org"]
        for other_address in other_addresses:
            invite(api, organization, other_address)
        assert erase(email=SOPHIE) == (0, 0)
        assert [i["email"] for i in list_invitations(api, organization)] == other_addresses

    def test_a_later_holder_of_the_address_stays_a_member_if_only_the_id_is_given(
        self,
        api: Api,
        organization: Founded,
        ada: Person,
        members_with_same_address: tuple[Person, Person],
        erase: PersonEraser,
    ) -> None:
        former_member, current_member = members_with_same_address
        erase(userId=former_member.id)
        assert left_of(former_member.id, former_member.email) == []
        record = api.get(f"{organization.path}/members/{current_member.id}", as_=ada).json
        assert (record["name"], record["role"], record["email"]) == ("Lise", "member", None)

    def test_an_address_erases_all_its_holders(
        self, api: Api, organization: Founded, members_with_same_address: tuple[Person, Person], erase: PersonEraser
    ) -> None:
        former_member, current_member = members_with_same_address
        erase(email="press@example.org")
        assert left_of(former_member.id, current_member.id, former_member.email) == []
        assert member_usernames(api, organization) == ["ada", "grace", "edith", "mary"]


class TestTexts:
    @pytest.mark.parametrize("address", ["josé@example.org", "зоя@example.org", 'a"b\\c@example.org'])
    def test_an_address_is_removed_in_any_encoding_and_case(
        self, api: Api, organization: Founded, ada: Person, erase: PersonEraser, address: str
    ) -> None:
        upper_case_address = "".join(letter.upper() if letter.isascii() else letter for letter in address)
        invite(api, organization, upper_case_address, message=f"For you ({upper_case_address})!")
        api.patch(organization.path, as_=ada, json={"companyAddress": f"c/o {address}"})
        erase(email=address)
        assert left_of(address, json.dumps(address)[1:-1], json.dumps(address, ensure_ascii=False)[1:-1]) == []

    def test_only_the_address_is_redacted_in_a_text(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, erase: PersonEraser
    ) -> None:
        text = "Ask SOPHIE@Example.org, or sophie@example.org.\nNot anna-sophie@example.org."
        api.patch(
            organization.path,
            as_=ada,
            json={
                "name": SOPHIE,
                "companyName": f"<{SOPHIE}>",
                "companyLegalName": "Engines",
                "companyId": f"'{SOPHIE}'",
                "companyAddress": text,
                "legalEmail": SOPHIE,
                "supportEmail": "help@example.org",
            },
        )
        key, invitation = (
            make_key(api, organization, name=f"Key of {SOPHIE}"),
            invite(api, organization, stranger, message=text),
        )
        assert erase(email=SOPHIE) == (3, 3)
        record = api.get(organization.path, as_=ada).json
        redacted_text = "Ask …, or ….\nNot anna-sophie@example.org."
        changed = {name: record[name] for name in record if name.startswith(("name", "company", "legal", "support"))}
        assert changed == {
            "name": "…",
            "companyName": "<…>",
            "companyLegalName": "Engines",
            "companyId": "'…'",
            "companyCountry": None,
            "companyAddress": redacted_text,
            "legalEmail": None,
            "supportEmail": "help@example.org",
        }
        assert api.get(f"{organization.keys}/{key.id}", as_=ada).json["name"] == "Key of …"
        invitation_record = api.get(invitation.path, as_=ada).json
        assert (invitation_record["message"], invitation_record["status"]) == (redacted_text, "pending")
        assert invitation_record["email"] == stranger.email
        assert accepts(api, invitation, stranger)["membership"]

    def test_a_user_id_is_redacted_in_a_text_too(
        self, api: Api, organization: Founded, ada: Person, mary: Person, erase: PersonEraser
    ) -> None:
        api.patch(organization.path, as_=ada, json={"companyAddress": f"https://example.org/people/{mary.id.upper()}/"})
        erase(email=mary.email)
        assert api.get(organization.path, as_=ada).json["companyAddress"] == "https://example.org/people/…/"
