import json
from dataclasses import replace
from itertools import count
from typing import Final

import pytest

from tests.harness import cloud, snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.erasures import begin_erasure, erased, finish, found_at, left_of
from tests.harness.exports import begin_export
from tests.harness.faults import overtaken
from tests.harness.invitations import Invited, accepts, asked_to_invite, declines, invite, opens
from tests.harness.logs import log_of, verify
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers

SOPHIE: Final = "sophie@example.org"


@pytest.fixture
def erase(api: Api, organization: Founded, workers: Workers, clock: Clock) -> "Erase":
    """Erase somebody of the organization, to the end."""
    return Erase(api, organization, workers, clock)


class Erase:
    def __init__(self, api: Api, organization: Founded, workers: Workers, clock: Clock) -> None:
        self._api, self._organization, self._workers, self._clock = api, organization, workers, clock

    def __call__(self, **whom: object) -> tuple[int, int]:
        """Return how many records and entries were erased."""
        record = erased(self._api, self._workers, self._clock, self._organization, **whom)
        return record["erasedRecords"], record["erasedEntries"]


@pytest.fixture
def press(api: Api, organization: Founded, ada: Person, issuer: Issuer) -> tuple[Person, Person]:
    """Emmy, who was a member, and Lise, who has her address now and is one."""
    former, present = (issuer.person(name, name.title(), email="press@example.org") for name in ("emmy", "lise"))
    accepts(api, invite(api, organization, former), former)
    api.delete(f"{organization.path}/members/{former.id}", as_=ada)
    accepts(api, invite(api, organization, present), present)
    return former, present


def members(api: Api, organization: Founded) -> list[str]:
    return [m["username"] for m in api.items(f"{organization.path}/members", as_=organization.owner)]


def invitations(api: Api, organization: Founded) -> list[Json]:
    return api.items(f"{organization.path}/invitations", as_=organization.owner)


class TestAMember:
    """Grace has done all that an admin can: invited, made keys, changed the organization and another member."""

    @pytest.fixture
    def invited(self, api: Api, organization: Founded, grace: Person, mary: Person) -> Invited:
        invited = invite(api, organization, SOPHIE, as_=grace)
        api.patch(organization.path, as_=grace, json={"companyAddress": "Arlington"})
        api.patch(f"{organization.path}/members/{mary.id}", as_=grace, json={"role": "editor"})
        return invited

    @pytest.mark.usefixtures("invited")
    @pytest.mark.parametrize("by", ["email", "userId", "both"])
    def test_leaves_nothing_however_they_are_named(
        self, api: Api, organization: Founded, grace: Person, erase: Erase, by: str
    ) -> None:
        key = make_key(api, organization, "admin", as_=grace)
        whom = {"email": grace.email.upper(), "userId": grace.id.upper()}
        assert left_of(grace.id, grace.email)
        assert erase(**(whom if by == "both" else {by: whom[by]})) == (3, 5)
        assert left_of(grace.id, grace.email, grace.username) == []
        assert members(api, organization) == ["ada", "edith", "mary"]
        assert api.get(organization.path, as_=grace).code == "404 not_found"
        assert api.get(organization.path, as_=key).code == "401 api_key_revoked"

    def test_has_no_hold_on_what_they_made(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, grace: Person, erase: Erase
    ) -> None:
        key = make_key(api, organization, "admin", as_=grace)
        erase(userId=grace.id)
        shown = api.get(f"{organization.keys}/{key.id}", as_=ada).json
        assert (shown["createdBy"], shown["status"], shown["version"]) == (None, "revoked", 2)
        shown = api.get(invited.path, as_=ada).json
        assert (shown["invitedBy"], shown["status"], shown["email"]) == (None, "revoked", SOPHIE)
        assert opens(api, invited).code == "410 invitation_revoked"
        assert asked_to_invite(api, organization, SOPHIE).status == 201

    def test_can_be_invited_anew_as_soon_as_it_is_completed(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        workers.deliver()
        assert found_at(api, organization, path)["status"] == "completed"
        clock.shift(seconds=1)
        accepts(api, invite(api, organization, grace, role="admin"), grace)
        key, invited = make_key(api, organization, as_=grace), invite(api, organization, SOPHIE, as_=grace)
        finish(workers, clock)
        assert found_at(api, organization, path)["erasedEntries"] == 1
        assert members(api, organization) == ["ada", "edith", "mary", "grace"]
        assert api.get(f"{organization.keys}/{key.id}", as_=grace).json["createdBy"] == grace.id
        assert api.get(invited.path, as_=grace).json["status"] == "pending"
        assert [entry["sequence"] for entry in log_of(api, organization) if "erased" in entry] == [2]

    def test_of_another_organization_stays_there(self, api: Api, grace: Person, ada: Person, erase: Erase) -> None:
        other = found(api, grace, name="Harvard")
        invite(api, other, ada)
        before = {key for key in left_of(grace.id, grace.email) if other.id in str(key)}
        erase(userId=grace.id)
        assert {*left_of(grace.id, grace.email)} == before
        assert api.get(other.path, as_=grace).status == 200

    def test_whose_departure_is_still_to_be_worked_on_leaves_nothing(
        self, api: Api, organization: Founded, ada: Person, grace: Person, erase: Erase
    ) -> None:
        for n in range(41):
            invite(api, organization, f"{n}@example.org", as_=grace)
        api.delete(f"{organization.path}/members/{grace.id}", as_=ada)
        erase(userId=grace.id)
        assert left_of(grace.id, grace.email) == []
        assert {i["status"] for i in invitations(api, organization)} == {"revoked"}

    def test_who_looked_at_the_log_leaves_no_trace_of_that(
        self, api: Api, organization: Founded, grace: Person, erase: Erase, workers: Workers
    ) -> None:
        export = begin_export(api, organization)
        about = begin_export(api, organization, filters={"actorId": grace.id})
        workers.settle()
        assert api.get(export.path, as_=grace).json["downloadUrl"]
        erase(email=grace.email)
        assert left_of(grace.id, grace.email) == []
        assert export.now(api)["status"] == "completed"
        withdrawn = api.get(about.path, as_=organization.owner)
        assert withdrawn.code == "410 export_expired"
        assert "its filters named a person whose data was erased" in withdrawn.json["detail"]


class TestAFormerMember:
    @pytest.mark.parametrize("by", ["email", "userId"])
    def test_is_found_by_the_log(
        self,
        api: Api,
        organization: Founded,
        mary: Person,
        stranger: Person,
        erase: Erase,
        workers: Workers,
        clock: Clock,
        by: str,
    ) -> None:
        invite(api, organization, stranger)
        api.post(f"{organization.path}/leave", as_=mary)
        clock.shift(minutes=1)
        workers.settle()
        assert erase(**{by: {"email": mary.email, "userId": mary.id}[by]}) == (0, 2)
        assert left_of(mary.id, mary.email) == []
        assert left_of(stranger.email)

    @pytest.mark.parametrize("by", ["first", "second", "third", "id"])
    def test_who_came_back_under_other_addresses_is_found_by_each(
        self, api: Api, organization: Founded, ada: Person, issuer: Issuer, erase: Erase, workers: Workers, by: str
    ) -> None:
        emmys = [issuer.person("emmy", "Emmy Noether", email=f"emmy@{n}.example.org") for n in range(3)]
        for emmy in emmys:
            accepts(api, invite(api, organization, emmy), emmy)
            workers.deliver()
            if emmy is not emmys[-1]:
                api.delete(f"{organization.path}/members/{emmy.id}", as_=ada)
        whom = {name: {"email": emmy.email} for name, emmy in zip(("first", "second", "third"), emmys, strict=True)}
        erase(**({"userId": emmys[0].id} if by == "id" else whom[by]))
        assert left_of(emmys[0].id, *(emmy.email for emmy in emmys)) == []

    @pytest.mark.parametrize("left", [False, True])
    def test_who_founded_the_organization_is_found_although_no_entry_tells_their_address(
        self, api: Api, organization: Founded, ada: Person, grace: Person, workers: Workers, clock: Clock, *, left: bool
    ) -> None:
        api.patch(organization.path, as_=ada, json={"name": "Engines"})
        api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
        if left:
            api.post(f"{organization.path}/leave", as_=ada)
        erased(api, workers, clock, replace(organization, owner=grace), email=ada.email)
        assert left_of(ada.id, ada.email) == []
        assert verify(api, replace(organization, owner=grace))["valid"]


class TestSomebodyInvited:
    def test_leaves_nothing_whatever_they_answered(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, erase: Erase, clock: Clock
    ) -> None:
        declines(api, invite(api, organization, stranger), stranger)
        api.delete(invite(api, organization, stranger).path, as_=ada)
        invite(api, organization, stranger, expiresInDays=1)
        clock.shift(days=2)
        pending = invite(api, organization, stranger)
        erase(email=stranger.email)
        assert invitations(api, organization) == []
        assert left_of(stranger.email, stranger.id) == []
        assert opens(api, pending).code == "404 not_found"
        assert asked_to_invite(api, organization, stranger).status == 201

    @pytest.mark.parametrize("noticed", [False, True])
    def test_whose_invitation_expired_leaves_no_reserved_address(
        self, api: Api, organization: Founded, erase: Erase, clock: Clock, workers: Workers, *, noticed: bool
    ) -> None:
        invite(api, organization, SOPHIE, expiresInDays=1)
        workers.deliver()
        clock.shift(days=1, seconds=1)
        if noticed:
            workers.settle()
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []

    def test_makes_room_for_others(self, api: Api, organization: Founded, erase: Erase) -> None:
        invite(api, organization, SOPHIE)
        (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
        assert counter["n"] == 1
        erase(email=SOPHIE)
        (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
        assert counter["n"] == 0

    def test_gets_no_mail_that_was_not_sent_before(
        self, api: Api, organization: Founded, mailbox: Mailbox, erase: Erase
    ) -> None:
        invite(api, organization, SOPHIE)
        for queue in cloud.queues():
            queue._messages.clear()  # noqa: SLF001 - the message is lost, and the sweep finds the mail later
        erase(email=SOPHIE)
        assert mailbox.letters == []
        assert not [item for item in cloud.stored() if item.get("kind") == "organization.invitation_mail"]


class TestOthers:
    @pytest.mark.usefixtures("organization")
    def test_nobody_is_touched_by_the_erasure_of_somebody_who_was_never_there(
        self, erase: Erase, workers: Workers
    ) -> None:
        workers.settle()
        before = {key: item for key, item in snapshots.stored().items() if item.get("kind")}
        assert erase(email="nobody@example.org", userId="01939d3c-0000-4000-8000-00000000000a") == (0, 0)
        after = snapshots.stored()
        assert {key: after[key] for key in before} == before

    @pytest.mark.parametrize(
        "other",
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
    def test_an_address_that_is_part_of_a_longer_one_is_not_meant(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers, other: str
    ) -> None:
        graces = replace(organization, owner=grace)
        api.post(f"{organization.path}/transfer-ownership", as_=organization.owner, json={"newOwnerId": grace.id})
        invited = invite(api, graces, other)
        api.patch(organization.path, as_=grace, json={"supportEmail": other, "companyAddress": f"Write to {other}."})
        workers.settle()
        before = left_of(other)
        erased(api, workers, clock, graces, email="ada@example.com")
        assert left_of(other) == before
        assert api.get(invited.path, as_=grace).json["status"] == "pending"
        assert api.get(organization.path, as_=grace).json["supportEmail"] == other

    def test_an_address_with_signs_that_end_one_in_other_texts_is_anothers_where_it_stands_alone(
        self, api: Api, organization: Founded, erase: Erase
    ) -> None:
        others = ["to=sophie@example.org", "x/sophie@example.org", "!sophie@example.org"]
        for other in others:
            invite(api, organization, other)
        assert erase(email=SOPHIE) == (0, 0)
        assert [i["email"] for i in invitations(api, organization)] == others

    def test_who_had_an_address_after_the_person_stays_a_member_when_only_the_person_is_named(
        self, api: Api, organization: Founded, ada: Person, press: tuple[Person, Person], erase: Erase
    ) -> None:
        former, present = press
        erase(userId=former.id)
        assert left_of(former.id, former.email) == []
        shown = api.get(f"{organization.path}/members/{present.id}", as_=ada).json
        assert (shown["name"], shown["role"], shown["email"]) == ("Lise", "member", None)

    def test_all_who_had_an_address_are_meant_by_it(
        self, api: Api, organization: Founded, press: tuple[Person, Person], erase: Erase
    ) -> None:
        former, present = press
        erase(email="press@example.org")
        assert left_of(former.id, present.id, former.email) == []
        assert members(api, organization) == ["ada", "grace", "edith", "mary"]


class TestTexts:
    @pytest.mark.parametrize("address", ["josé@example.org", "зоя@example.org", 'a"b\\c@example.org'])
    def test_an_address_in_any_letters_leaves_however_it_was_spelt(
        self, api: Api, organization: Founded, ada: Person, erase: Erase, address: str
    ) -> None:
        spelt = "".join(letter.upper() if letter.isascii() else letter for letter in address)
        invite(api, organization, spelt, message=f"For you ({spelt})!")
        api.patch(organization.path, as_=ada, json={"companyAddress": f"c/o {address}"})
        erase(email=address)
        assert left_of(address, json.dumps(address)[1:-1], json.dumps(address, ensure_ascii=False)[1:-1]) == []

    def test_only_the_address_leaves_a_text(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, erase: Erase
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
        key, invited = (
            make_key(api, organization, name=f"Key of {SOPHIE}"),
            invite(api, organization, stranger, message=text),
        )
        assert erase(email=SOPHIE) == (3, 3)
        record = api.get(organization.path, as_=ada).json
        left = "Ask …, or ….\nNot anna-sophie@example.org."
        about = {name: record[name] for name in record if name.startswith(("name", "company", "legal", "support"))}
        assert about == {
            "name": "…",
            "companyName": "<…>",
            "companyLegalName": "Engines",
            "companyId": "'…'",
            "companyCountry": None,
            "companyAddress": left,
            "legalEmail": None,
            "supportEmail": "help@example.org",
        }
        assert api.get(f"{organization.keys}/{key.id}", as_=ada).json["name"] == "Key of …"
        shown = api.get(invited.path, as_=ada).json
        assert (shown["message"], shown["status"], shown["email"]) == (left, "pending", stranger.email)
        assert accepts(api, invited, stranger)["membership"]

    def test_a_user_id_leaves_a_text_too(
        self, api: Api, organization: Founded, ada: Person, mary: Person, erase: Erase
    ) -> None:
        api.patch(organization.path, as_=ada, json={"companyAddress": f"https://example.org/people/{mary.id.upper()}/"})
        erase(email=mary.email)
        assert api.get(organization.path, as_=ada).json["companyAddress"] == "https://example.org/people/…/"


class TestWhatIsUnderWay:
    """A request that the person began as a member may end when they are none any more."""

    @pytest.mark.parametrize("method", ["PATCH", "POST keys", "POST invite", "PATCH member", "POST leave"])
    def test_leaves_nothing_either_wherever_the_erasure_comes_between(
        self, api: Api, organization: Founded, grace: Person, mary: Person, workers: Workers, clock: Clock, method: str
    ) -> None:
        verb, what = method.partition(" ")[::2]
        path, body = {
            "": (organization.path, {"name": "Late"}),
            "keys": (organization.keys, {"name": "Late"}),
            "invite": (f"{organization.path}/invite", {"email": SOPHIE}),
            "member": (f"{organization.path}/members/{mary.id}", {"role": "editor"}),
            "leave": (f"{organization.path}/leave", None),
        }[what]
        workers.settle()
        before, answers = snapshots.taken(), []
        for at in count(1):
            snapshots.put_back(before)
            begin_erasure(api, organization, userId=grace.id)
            with overtaken(workers.settle, at=at) as overtaking:
                answers.append(api.request(verb, path, as_=grace, json=body).status)
            finish(workers, clock)
            assert left_of(grace.id, grace.email) == [], f"before {overtaking.hit}, call {at}"
            assert verify(api, organization)["valid"]
            if not overtaking.hit:
                break
        assert answers[0] == 404
        assert answers[-1] < 300
        assert at > 2
