"""Rate limits of invitations and their mail, and the text that mails of new organizations leave out."""

import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiResponse
from tests.harness.invitations import accept_invitation, create_invitation, post_invitation, resend_invitation
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import create_platform

VICTIM = "victim@example.org"
SPAM_MESSAGE = "You have won. Claim it at https://evil.example now!"


@pytest.fixture(autouse=True)
def frozen_clock(clock):
    clock.freeze()


def set_used(rate_limit, used):
    """Count some requests in the only bucket of a rate limit, which the first request has created."""
    (bucket,) = [item for item in memory_aws.all_items() if item["pk"].startswith(f"Y#{rate_limit}#")]
    memory_aws.put_item({**bucket, "used": used})


class TestRecipientLimits:
    def test_a_recipient_gets_five_mails_an_hour(self, api, organization, ada, grace, stranger, mailbox, workers):
        organizations = [create_organization(api, owner) for owner in (ada, ada, ada, grace, grace)]
        containers = [*organizations[:-1], organization, create_platform(api, organization), organizations[-1]]
        spellings = [stranger.email, stranger.email.upper(), f" {stranger.email.title()} "] * 3
        *invitations, last = [
            create_invitation(api, container, address, caller=container.owner)
            for container, address in zip(containers, spellings, strict=False)
        ]
        workers.deliver()
        assert [received.recipients for received in mailbox.received_emails] == [[stranger.email]] * 5
        records = [each.record for each in (*invitations, last)]
        assert [record["mailWithheld"] for record in records] == [False] * 5 + [True] * 2
        assert [record["sentAt"] is None for record in records] == [False] * 5 + [True] * 2
        assert all(record["acceptUrl"] and record["status"] == "pending" for record in records)
        assert create_invitation(api, organization, "somebody@example.org").record["mailWithheld"] is False
        assert accept_invitation(api, last, stranger)["status"] == "accepted"

    def test_a_recipient_gets_twenty_mails_a_day(self, api, ada, mailbox, workers, clock):
        def mail_count_after_invitation() -> int:
            create_invitation(api, create_organization(api, ada), VICTIM)
            workers.deliver()
            return len(mailbox.received_emails)

        assert mail_count_after_invitation() == 1
        counter_keys = [item["pk"] for item in memory_aws.all_items() if item["pk"].startswith("Y#mails-")]
        assert (len(counter_keys), "victim" in str(counter_keys)) == (2, False)
        set_used("mails-a-day", 19)
        assert [mail_count_after_invitation() for _ in range(2)] == [2, 2]
        clock.shift(days=1, seconds=-1)
        assert mail_count_after_invitation() == 2
        clock.shift(seconds=1)
        assert mail_count_after_invitation() == 3

    def test_revoking_and_inviting_again_does_not_bypass_the_limit(self, api, organization, mailbox, workers):
        for _ in range(4):
            for deliver in (False, True):
                invitation = create_invitation(api, organization, VICTIM)
                if deliver:
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


def test_a_user_sends_at_most_120_invitations_an_hour_in_all_organizations(api, ada, clock):
    def invite(number: int) -> ApiResponse:
        return post_invitation(api, create_organization(api, ada), f"p{number}@example.org")

    assert invite(1).status == 201
    set_used("invitations", 119)
    assert invite(2).status == 201
    rejected = invite(3)
    assert rejected.status_and_code == "429 rate_limited"
    assert '"invitations";r=0;' in rejected.headers["RateLimit"]
    assert rejected.headers["Retry-After"] == "3600"
    clock.shift(seconds=3600)
    assert invite(4).status == 201


def test_an_organization_sends_at_most_240_invitations_an_hour_by_all_callers(api, organization, ada, grace):
    platform = create_platform(api, organization)
    key = create_api_key(api, organization, "members:write", "members:read")
    invitation = create_invitation(api, organization, VICTIM, caller=ada)
    assert api.delete(invitation.path, caller=ada).status == 204
    set_used("invitations-of-organization", 238)
    create_invitation(api, platform, VICTIM, caller=grace)
    create_invitation(api, organization, VICTIM, caller=key)
    for container in (organization, platform):
        rejected = post_invitation(api, container, "one.more@example.org", caller=key)
        assert rejected.status_and_code == "429 rate_limited"
        assert '"invitations-of-organization";r=0;' in rejected.headers["RateLimit"]
    assert post_invitation(api, create_organization(api, ada), "one.more@example.org", caller=ada).status == 201


class TestMailOfNewOrganizations:
    @pytest.fixture
    def mail_text(self, api, mailbox, workers):
        """A function that returns the text of the mail that an invitation with a message sends."""

        def mail_text(organization: CreatedOrganization, address: str = VICTIM) -> str:
            invitation = create_invitation(api, organization, address, message=SPAM_MESSAGE)
            assert invitation.record["message"] == SPAM_MESSAGE
            mailbox.received_emails.clear()
            workers.deliver()
            (letter,) = mailbox.emails
            return f"{letter.subject}\n{letter.text}\n{letter.html}"

        return mail_text

    def test_the_mail_of_a_new_organization_has_the_message_only_after_a_day(self, api, ada, mail_text, clock):
        organization = create_organization(api, ada)
        text = mail_text(organization)
        assert "won" not in text
        assert "evil.example" not in text
        assert "Analytical Engines" in text
        clock.shift(days=1)
        assert SPAM_MESSAGE in mail_text(organization, "another@example.org")

    def test_the_mail_has_the_message_once_an_invitation_was_accepted(self, api, ada, stranger, mail_text):
        for invites_to_platform in (False, True):
            organization = create_organization(api, ada)
            platform = create_platform(api, organization)
            invitation = create_invitation(api, platform if invites_to_platform else organization, stranger)
            if invites_to_platform:
                assert api.post(f"{platform.path}/join", caller=stranger).status == 200
            else:
                accept_invitation(api, invitation, stranger)
            assert SPAM_MESSAGE in mail_text(organization)

    def test_the_mail_omits_a_name_that_looks_like_a_message(self, api, ada, mail_text):
        names = ["Win at www.evil.example", "Go to evil.example", "https://evil", "mail evil@example", "Won! " * 20]
        for number, name in enumerate(names):
            text = mail_text(create_organization(api, ada, name=name), f"p{number}@example.org")
            assert name.strip() not in text
            assert "a new organization" in text
