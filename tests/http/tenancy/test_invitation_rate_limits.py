"""Rate limits of invitations and their mail, and the text that mails of new organizations leave out."""

from typing import Final

import pytest

from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import accept_invitation, create_invitation, post_invitation, resend_invitation
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import create_platform
from tests.harness.workers import Workers

VICTIM: Final = "victim@example.org"
SPAM_MESSAGE: Final = "You have won. Claim it at https://evil.example now!"


@pytest.fixture(autouse=True)
def _frozen_clock(clock: Clock) -> None:
    clock.freeze()


def create_organizations(api: ApiClient, owner: Person, count: int, **fields: str) -> list[CreatedOrganization]:
    return [create_organization(api, owner, **fields) for _ in range(count)]


class TestRecipientLimits:
    def test_a_recipient_gets_five_mails_an_hour_from_all_senders(self, api, ada, grace, mailbox, workers):
        organizations = [*create_organizations(api, ada, 6), *create_organizations(api, grace, 6)]
        invitations = [
            create_invitation(api, organization, VICTIM, caller=organization.owner) for organization in organizations
        ]
        workers.deliver()
        assert [received.recipients for received in mailbox.received_emails] == [[VICTIM]] * 5
        withheld = [each.record["mailWithheld"] for each in invitations]
        assert withheld == [False] * 5 + [True] * 7
        assert [each.record["sentAt"] is None for each in invitations] == withheld
        assert all(each.record["acceptUrl"] and each.record["status"] == "pending" for each in invitations)

    def test_a_recipient_gets_twenty_mails_a_day(self, api, ada, mailbox, workers, clock):
        for organization in create_organizations(api, ada, 30):
            create_invitation(api, organization, VICTIM)
            clock.shift(minutes=20)
        workers.deliver()
        assert len(mailbox.received_emails) == 20
        clock.shift(days=1)
        create_invitation(api, create_organization(api, ada), VICTIM)
        workers.deliver()
        assert len(mailbox.received_emails) == 21

    def test_revoking_and_inviting_again_does_not_bypass_the_limit(self, api, organization, mailbox, workers):
        for _ in range(12):
            invitation = create_invitation(api, organization, VICTIM)
            assert api.delete(invitation.path, caller=organization.owner).status == 204
            invitation = create_invitation(api, organization, VICTIM)
            workers.deliver()
            assert api.delete(invitation.path, caller=organization.owner).status == 204
        assert len(mailbox.received_emails) <= 5

    def test_resending_does_not_bypass_the_limit(self, api, organization, mailbox, workers, clock):
        invitation = create_invitation(api, organization, VICTIM)
        for number in range(1, 8):
            clock.shift(minutes=2)
            workers.deliver()
            invitation = resend_invitation(api, organization, invitation)
            assert invitation.record["mailWithheld"] is (number >= 5)
        workers.deliver()
        assert len(mailbox.received_emails) == 5
        early = api.post(f"{invitation.path}/resend", caller=organization.owner)
        assert early.status_and_code == "429 rate_limited"
        clock.shift(hours=1)
        assert resend_invitation(api, organization, invitation).record["mailWithheld"] is False

    def test_invitations_to_platforms_count_too(self, api, organization, mailbox, workers):
        platforms = [create_platform(api, organization, name=f"P{number}") for number in range(7)]
        records = [create_invitation(api, each, VICTIM, caller=organization.owner).record for each in platforms]
        assert [record["mailWithheld"] for record in records] == [False] * 5 + [True] * 2
        workers.deliver()
        assert len(mailbox.received_emails) == 5

    def test_spellings_of_an_address_share_the_limit(self, api, ada, mailbox, workers):
        spellings = ["victim@example.org", "Victim@Example.ORG", " VICTIM@example.org "] * 3
        for organization, address in zip(create_organizations(api, ada, 9), spellings, strict=True):
            create_invitation(api, organization, address)
        workers.deliver()
        assert len(mailbox.received_emails) == 5

    def test_an_invitation_whose_mail_was_withheld_can_be_accepted(self, api, ada, stranger):
        invitation = [create_invitation(api, each, stranger) for each in create_organizations(api, ada, 6)][-1]
        assert invitation.record["mailWithheld"] is True
        assert accept_invitation(api, invitation, stranger)["status"] == "accepted"

    def test_each_address_has_its_own_limit(self, api, ada):
        *organizations, another = create_organizations(api, ada, 6)
        for organization in organizations:
            create_invitation(api, organization, VICTIM)
        assert create_invitation(api, another, "somebody@example.org").record["mailWithheld"] is False

    def test_no_key_of_the_table_contains_the_address(self, api, organization):
        from tests.harness import snapshots

        create_invitation(api, organization, VICTIM)
        counter_keys = [key for key in snapshots.items_by_key() if key[0].startswith("Y#mails-")]
        assert len(counter_keys) == 2
        assert not [key for key in counter_keys if "victim" in key[0]]


class TestInviterLimits:
    def test_a_user_sends_at_most_120_invitations_an_hour_in_all_organizations(self, api, ada, clock):
        organizations = create_organizations(api, ada, 2)
        for number in range(120):
            create_invitation(api, organizations[number % 2], f"p{number}@example.org")
        rejected = post_invitation(api, create_organization(api, ada), "one.more@example.org", caller=ada)
        assert rejected.status_and_code == "429 rate_limited"
        assert '"invitations";r=0;' in rejected.headers["RateLimit"]
        clock.shift(seconds=int(rejected.headers["Retry-After"]))
        assert post_invitation(api, create_organization(api, ada), "one.more@example.org", caller=ada).status == 201


class TestOrganizationLimits:
    def test_an_organization_sends_at_most_240_invitations_an_hour_by_all_callers(self, api, organization, ada, grace):
        platform = create_platform(api, organization)
        key = create_api_key(api, organization, "members:write", "members:read")
        callers = [ada, grace, key]
        for number in range(240):
            container = platform if number % 4 == 0 else organization
            invitation = create_invitation(api, container, f"p{number}@example.org", caller=callers[number % 3])
            assert api.delete(invitation.path, caller=ada).status == 204
        for container in (organization, platform):
            rejected = post_invitation(api, container, "one.more@example.org", caller=key)
            assert rejected.status_and_code == "429 rate_limited"
            assert '"invitations-of-organization";r=0;' in rejected.headers["RateLimit"]
        assert post_invitation(api, create_organization(api, ada), "one.more@example.org", caller=ada).status == 201


class TestMailOfNewOrganizations:
    @staticmethod
    def mail_text(
        api: ApiClient, organization: CreatedOrganization, mailbox: Mailbox, workers: Workers, address: str = VICTIM
    ) -> str:
        """Return the text of the mail that an invitation with a message sends."""
        invitation = create_invitation(api, organization, address, message=SPAM_MESSAGE)
        assert invitation.record["message"] == SPAM_MESSAGE
        mailbox.received_emails.clear()
        workers.deliver()
        (letter,) = mailbox.emails
        return f"{letter.subject}\n{letter.text}\n{letter.html}"

    def test_the_mail_of_a_new_organization_omits_the_message(self, api, ada, mailbox, workers):
        text = self.mail_text(api, create_organization(api, ada), mailbox, workers)
        assert "won" not in text
        assert "evil.example" not in text
        assert "Analytical Engines" in text

    def test_the_mail_has_the_message_after_a_day(self, api, ada, mailbox, workers, clock):
        organization = create_organization(api, ada)
        clock.shift(days=1)
        assert SPAM_MESSAGE in self.mail_text(api, organization, mailbox, workers)

    def test_the_mail_has_the_message_once_an_invitation_was_accepted(self, api, ada, stranger, mailbox, workers):
        organization = create_organization(api, ada)
        accept_invitation(api, create_invitation(api, organization, stranger), stranger)
        assert SPAM_MESSAGE in self.mail_text(api, organization, mailbox, workers)

    def test_the_mail_has_the_message_once_an_invited_user_joined_a_platform(
        self, api, ada, stranger, mailbox, workers
    ):
        organization = create_organization(api, ada)
        platform = create_platform(api, organization)
        create_invitation(api, platform, stranger, caller=ada)
        assert api.post(f"{platform.path}/join", caller=stranger).status == 200
        assert SPAM_MESSAGE in self.mail_text(api, organization, mailbox, workers)

    def test_the_mail_omits_a_name_that_looks_like_a_message(self, api, ada, mailbox, workers):
        names = ["Win at www.evil.example", "Go to evil.example", "https://evil", "mail evil@example", "Won! " * 20]
        for number, name in enumerate(names):
            text = self.mail_text(
                api, create_organization(api, ada, name=name), mailbox, workers, f"p{number}@example.org"
            )
            assert name.strip() not in text
            assert "a new organization" in text
