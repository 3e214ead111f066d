"""How many invitations somebody gets and sends, and what a mail says of an organization that nobody stands for yet."""

from typing import Final

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import accepts, asked_to_invite, invite, resend
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import run_platform
from tests.harness.workers import Workers

VICTIM: Final = "victim@example.org"
BAIT: Final = "You have won. Claim it at https://evil.example now!"


@pytest.fixture(autouse=True)
def _still(clock: Clock) -> None:
    clock.freeze()


def founded(api: Api, owner: Person, number: int, **fields: str) -> list[Founded]:
    return [found(api, owner, **fields) for _ in range(number)]


class TestARecipient:
    def test_gets_five_mails_an_hour_whoever_sends_them_from_wherever(
        self, api: Api, ada: Person, grace: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        places = [*founded(api, ada, 6), *founded(api, grace, 6)]
        invited = [invite(api, place, VICTIM, as_=place.owner) for place in places]
        workers.deliver()
        assert [received.to for received in mailbox.received] == [[VICTIM]] * 5
        withheld = [each.record["mailWithheld"] for each in invited]
        assert withheld == [False] * 5 + [True] * 7
        assert [each.record["sentAt"] is None for each in invited] == withheld
        assert all(each.record["acceptUrl"] and each.record["status"] == "pending" for each in invited)

    def test_gets_twenty_a_day(self, api: Api, ada: Person, mailbox: Mailbox, workers: Workers, clock: Clock) -> None:
        for place in founded(api, ada, 30):
            invite(api, place, VICTIM)
            clock.shift(minutes=20)
        workers.deliver()
        assert len(mailbox.received) == 20
        clock.shift(days=1)
        invite(api, found(api, ada), VICTIM)
        workers.deliver()
        assert len(mailbox.received) == 21

    def test_gets_no_more_by_revoking_and_inviting_again(
        self, api: Api, organization: Founded, mailbox: Mailbox, workers: Workers
    ) -> None:
        for _ in range(12):
            invited = invite(api, organization, VICTIM)
            assert api.delete(invited.path, as_=organization.owner).status == 204
            invited = invite(api, organization, VICTIM)
            workers.deliver()
            assert api.delete(invited.path, as_=organization.owner).status == 204
        assert len(mailbox.received) <= 5

    def test_gets_no_more_by_sending_again(
        self, api: Api, organization: Founded, mailbox: Mailbox, workers: Workers, clock: Clock
    ) -> None:
        invited = invite(api, organization, VICTIM)
        for number in range(1, 8):
            clock.shift(minutes=2)
            workers.deliver()
            invited = resend(api, organization, invited)
            assert invited.record["mailWithheld"] is (number >= 5)
        workers.deliver()
        assert len(mailbox.received) == 5
        early = api.post(f"{invited.path}/resend", as_=organization.owner)
        assert early.code == "429 rate_limited"
        clock.shift(hours=1)
        assert resend(api, organization, invited).record["mailWithheld"] is False

    def test_gets_no_more_by_platforms(
        self, api: Api, organization: Founded, mailbox: Mailbox, workers: Workers
    ) -> None:
        platforms = [run_platform(api, organization, name=f"P{number}") for number in range(7)]
        records = [invite(api, each, VICTIM, as_=organization.owner).record for each in platforms]
        assert [record["mailWithheld"] for record in records] == [False] * 5 + [True] * 2
        workers.deliver()
        assert len(mailbox.received) == 5

    def test_is_the_same_however_the_address_is_written(
        self, api: Api, ada: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        written = ["victim@example.org", "Victim@Example.ORG", " VICTIM@example.org "] * 3
        for place, address in zip(founded(api, ada, 9), written, strict=True):
            invite(api, place, address)
        workers.deliver()
        assert len(mailbox.received) == 5

    def test_can_accept_what_was_not_mailed(self, api: Api, ada: Person, stranger: Person) -> None:
        invited = [invite(api, place, stranger) for place in founded(api, ada, 6)][-1]
        assert invited.record["mailWithheld"] is True
        assert accepts(api, invited, stranger)["status"] == "accepted"

    def test_of_another_address_has_their_own(self, api: Api, ada: Person) -> None:
        *places, another = founded(api, ada, 6)
        for place in places:
            invite(api, place, VICTIM)
        assert invite(api, another, "somebody@example.org").record["mailWithheld"] is False

    def test_stands_in_no_key_of_the_table(self, api: Api, organization: Founded) -> None:
        from tests.harness import snapshots

        invite(api, organization, VICTIM)
        counted = [key for key in snapshots.stored() if key[0].startswith("Y#mails-")]
        assert len(counted) == 2
        assert not [key for key in counted if "victim" in key[0]]


class TestAnInviter:
    def test_may_invite_120_times_an_hour_in_all_organizations_together(
        self, api: Api, ada: Person, clock: Clock
    ) -> None:
        places = founded(api, ada, 2)
        for number in range(120):
            invite(api, places[number % 2], f"p{number}@example.org")
        refused = asked_to_invite(api, found(api, ada), "one.more@example.org", as_=ada)
        assert refused.code == "429 rate_limited"
        assert '"invitations";r=0;' in refused.headers["RateLimit"]
        clock.shift(seconds=int(refused.headers["Retry-After"]))
        assert asked_to_invite(api, found(api, ada), "one.more@example.org", as_=ada).status == 201


class TestAnOrganization:
    def test_may_invite_240_times_an_hour_whoever_invites_and_to_whatever(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        platform = run_platform(api, organization)
        key = make_key(api, organization, "members:write", "members:read")
        callers = [ada, grace, key]
        for number in range(240):
            place = platform if number % 4 == 0 else organization
            invited = invite(api, place, f"p{number}@example.org", as_=callers[number % 3])
            assert api.delete(invited.path, as_=ada).status == 204
        for place in (organization, platform):
            refused = asked_to_invite(api, place, "one.more@example.org", as_=key)
            assert refused.code == "429 rate_limited"
            assert '"invitations-of-organization";r=0;' in refused.headers["RateLimit"]
        assert asked_to_invite(api, found(api, ada), "one.more@example.org", as_=ada).status == 201


class TestTextOfAnOrganization:
    @staticmethod
    def mail(api: Api, place: Founded, mailbox: Mailbox, workers: Workers, address: str = VICTIM) -> str:
        invited = invite(api, place, address, message=BAIT)
        assert invited.record["message"] == BAIT
        mailbox.received.clear()
        workers.deliver()
        (letter,) = mailbox.letters
        return f"{letter.subject}\n{letter.text}\n{letter.html}"

    def test_that_is_new_is_stored_and_left_out_of_the_mail(
        self, api: Api, ada: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        mail = self.mail(api, found(api, ada), mailbox, workers)
        assert "won" not in mail
        assert "evil.example" not in mail
        assert "Analytical Engines" in mail

    def test_is_in_the_mail_after_a_day(
        self, api: Api, ada: Person, mailbox: Mailbox, workers: Workers, clock: Clock
    ) -> None:
        place = found(api, ada)
        clock.shift(days=1)
        assert BAIT in self.mail(api, place, mailbox, workers)

    def test_is_in_the_mail_once_somebody_accepted(
        self, api: Api, ada: Person, stranger: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        place = found(api, ada)
        accepts(api, invite(api, place, stranger), stranger)
        assert BAIT in self.mail(api, place, mailbox, workers)

    def test_is_in_the_mail_once_somebody_accepted_to_join_a_platform(
        self, api: Api, ada: Person, stranger: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        place = found(api, ada)
        platform = run_platform(api, place)
        invite(api, platform, stranger, as_=ada)
        assert api.post(f"{platform.path}/join", as_=stranger).status == 200
        assert BAIT in self.mail(api, place, mailbox, workers)

    def test_is_not_smuggled_in_by_its_name(self, api: Api, ada: Person, mailbox: Mailbox, workers: Workers) -> None:
        names = ["Win at www.evil.example", "Go to evil.example", "https://evil", "mail evil@example", "Won! " * 20]
        for number, name in enumerate(names):
            mail = self.mail(api, found(api, ada, name=name), mailbox, workers, f"p{number}@example.org")
            assert name.strip() not in mail
            assert "a new organization" in mail
