"""The mail of an invitation: its content, when it is sent, that it is sent once, and its rate limits."""

import re
from datetime import datetime, timedelta

import pytest
from botocore.stub import Stubber

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.clock import now, now_ms, timestamp_ms
from chalicelib.kernel.outbound.mail import MIN_REPORTED_MAIL_ATTEMPTS
from chalicelib.kernel.work import queues
from tests.harness import memory_aws
from tests.harness.api import ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import (
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decline_invitation,
    open_invitation,
    post_invitation,
    resend_invitation,
)
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.mailbox import SENDER
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization, remove_member
from tests.harness.platforms import create_platform

MINUTE_SECONDS, HOUR_SECONDS = 60, 3_600
VICTIM = "victim@example.org"
SPAM_MESSAGE = "You have won. Claim it at https://evil.example now!"


def stored_mails():
    """Return the stored mails that are not sent yet."""
    return [item for item in memory_aws.all_items() if item.get("kind") == "organization.invitation_mail"]


def find_link(text):
    (link,) = re.findall(r"^http\S+$", text, flags=re.MULTILINE)
    return link


def logged_mail_errors(caplog):
    return [vars(record)["mail"] for record in caplog.records if "mail" in vars(record)]


def mail_failures(records):
    """Return the metric that the alarm about mail watches, of each record that has it."""
    metrics = (embedded_metrics(record, "stage") for record in records)
    return [each["MailFailures"] for each in metrics if "MailFailures" in each]


class TestMailContent:
    def test_the_mail_names_who_invites_to_what(self, api, organization, grace, workers, mailbox, clock):
        clock.shift(days=1)  # Mails of a new organization omit the texts of its members.
        clock.freeze(now())
        fields = {"role": "editor", "message": "Come and join us.\nWe start on Monday."}
        create_invitation(api, organization, SOPHIE_EMAIL, caller=grace, **fields)
        workers.deliver()
        (received,) = mailbox.received_emails
        assert (received.recipients, received.sender) == ([SOPHIE_EMAIL], SENDER)
        letter = received.email
        assert letter.subject == "Grace Hopper invites you to Analytical Engines"
        assert "Grace Hopper invites you to join Analytical Engines in the role of editor." in letter.text
        assert "> Come and join us.\n> We start on Monday.\n" in letter.text
        expiry = datetime.fromisoformat(now()) + timedelta(days=7)
        assert f"It is valid until {expiry.day} {expiry:%B %Y, %H:%M} UTC." in letter.text
        assert "Come and join us.<br>\nWe start on Monday." in letter.html

    def test_the_link_is_the_url_of_the_invitation(self, api, organization, stranger, workers, mailbox, configure):
        invitation = create_invitation(api, organization, stranger)
        workers.deliver()
        link = find_link(mailbox.emails[0].text)
        assert link == invitation.record["acceptUrl"]
        assert mailbox.emails[0].html.count(f'href="{link}"') == 2
        assert accept_invitation(api, invitation, stranger)["membership"]["userId"] == stranger.id
        configure(invitation_url="https://app.example.com/join?lang=en")
        create_invitation(api, organization, SOPHIE_EMAIL)
        workers.deliver()
        assert find_link(mailbox.emails[1].text).startswith("https://app.example.com/join?lang=en&token=")
        assert "https://app.example.com/join?lang=en&amp;token=" in mailbox.emails[1].html

    def test_the_mail_of_a_nameless_inviter_names_nobody(self, api, organization, issuer, workers, mailbox):
        create_invitation(api, organization, SOPHIE_EMAIL, caller=create_api_key(api, organization, "admin"))
        nameless = issuer.create_person("nameless", "", preferred_username=None)
        invitation = create_invitation(api, create_organization(api, nameless), SOPHIE_EMAIL)
        assert open_invitation(api, invitation).json["inviterName"] is None
        workers.deliver()
        assert [email.subject for email in mailbox.emails] == ["You are invited to Analytical Engines"] * 2
        assert nameless.email not in mailbox.emails[1].text + mailbox.emails[1].html


class TestSending:
    def test_without_a_sender_only_the_link_works(self, api, organization, stranger, workers, mailbox, configure):
        configure(mail_from="")
        invitation = create_invitation(api, organization, stranger)
        assert stored_mails() == []
        workers.run_until_idle()
        assert mailbox.emails == []
        accept_invitation(api, invitation, stranger)

    def test_repeated_queue_messages_send_one_mail(self, api, organization, workers, mailbox, run_tasks_after):
        calls = post_invitation(api, organization, SOPHIE_EMAIL).calls
        assert (calls.names_of_service("sqs"), calls.names_of_service("sesv2")) == (["sqs:SendMessage"], [])
        assert mailbox.emails == []
        (mail,) = stored_mails()
        entry_count = len(list_entries(api, organization))
        for _ in range(3):
            queues.enqueue("invitations.mail", (mail["pk"], mail["sk"]))
        workers.deliver()
        queues.enqueue("invitations.mail", (mail["pk"], mail["sk"]))
        run_tasks_after(hours=1)
        assert (len(mailbox.emails), stored_mails()) == (1, [])
        assert len(list_entries(api, organization)) == entry_count

    def test_each_mail_has_the_latest_link(self, api, organization, stranger, workers, mailbox, clock):
        first = create_invitation(api, organization, stranger)
        workers.deliver()
        for _ in range(2):
            clock.shift(minutes=1)
            latest = resend_invitation(api, organization, first)
        workers.run_until_idle()
        links = [each.record["acceptUrl"] for each in (first, latest)]
        assert [find_link(letter.text) for letter in mailbox.emails] == links
        assert open_invitation(api, first, stranger).status_and_code == "410 invitation_revoked"
        assert open_invitation(api, latest, stranger).status == 200
        assert stored_mails() == []

    @pytest.mark.parametrize("end", ["revoked", "accepted", "declined", "deleted", "expired", "inviter removed"])
    def test_an_ended_invitation_sends_no_mail(self, api, organization, grace, stranger, workers, mailbox, clock, end):
        invitation = create_invitation(api, organization, stranger, caller=grace)
        ends = {
            "revoked": lambda: api.delete(invitation.path, caller=organization.owner),
            "accepted": lambda: accept_invitation(api, invitation, stranger),
            "declined": lambda: decline_invitation(api, invitation, stranger),
            "deleted": lambda: api.delete(organization.path, caller=organization.owner),
            "expired": lambda: clock.shift(days=7),
            "inviter removed": lambda: remove_member(api, organization, grace),
        }
        ends[end]()
        workers.run_until_idle()
        sent = [received for received in mailbox.received_emails if received.recipients == [stranger.email]]
        assert (sent, stored_mails()) == ([], [])


class TestMailServiceFailures:
    def test_sending_is_retried_with_growing_delays(self, api, organization, workers, mailbox, clock, run_tasks_after):
        clock.freeze()
        create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=4)
        delays_seconds = []
        with inject_fault(Fault.THROTTLED, call_name="sesv2:SendEmail", times=None):
            workers.deliver()
            while unsent := stored_mails():
                delays_seconds.append((timestamp_ms(unsent[0]["turn_at"]) - now_ms()) / 1000)
                run_tasks_after(seconds=delays_seconds[-1])
        assert mailbox.emails == []
        expected = [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 30 * MINUTE_SECONDS, 2 * HOUR_SECONDS]
        expected += [6 * HOUR_SECONDS] * (len(delays_seconds) - 4)
        ratios = [delay / usual for delay, usual in zip(delays_seconds, expected, strict=True)]
        assert 0.8 <= min(ratios) < 1 < max(ratios) <= 1.2
        assert 16 <= len(delays_seconds) <= 26

    def test_the_mail_is_sent_once_after_a_recovery(self, api, organization, workers, mailbox, run_tasks_after, caplog):
        create_invitation(api, organization, SOPHIE_EMAIL)
        with Stubber(client("sesv2")) as stubbed:
            stubbed.add_client_error("send_email", "SendingPausedException", "Sending is paused.")
            workers.deliver()
        assert logged_mail_errors(caplog) == ["SendingPausedException: Sending is paused."]
        with inject_fault(Fault.INTERNAL_ERROR, call_name="sesv2:SendEmail", times=2):
            for _ in range(2):
                run_tasks_after(hours=1)
        assert mailbox.emails == []
        for _ in range(3):
            run_tasks_after(hours=3)
        assert (len(mailbox.emails), stored_mails()) == (1, [])

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("MessageRejected", "Email address is not verified."),
            ("MessageRejected", "Virus found."),
            ("AccessDeniedException", "Not authorized to perform ses:SendEmail."),
            ("MailFromDomainNotVerifiedException", "Not verified."),
            ("AccountSuspendedException", "Suspended."),
            ("LimitExceededException", "Daily quota exceeded."),
        ],
    )
    def test_a_refused_mail_counts_as_failure_at_once(self, api, organization, workers, mailbox, code, message):
        create_invitation(api, organization, SOPHIE_EMAIL)
        with Stubber(client("sesv2")) as stubbed, capture_log_records() as records:
            stubbed.add_client_error("send_email", code, message)
            workers.deliver()
        assert mail_failures(records) == [1]
        assert mailbox.emails == []

    def test_a_mail_counts_as_failure_when_several_attempts_have_failed(
        self, api, organization, workers, mailbox, run_tasks_after
    ):
        create_invitation(api, organization, SOPHIE_EMAIL)
        with inject_fault(Fault.THROTTLED, call_name="sesv2:SendEmail", times=None):
            with capture_log_records() as records:
                workers.deliver()
                for _ in range(MIN_REPORTED_MAIL_ATTEMPTS - 2):
                    run_tasks_after(hours=1)
            assert mail_failures(records) == []
            with capture_log_records() as records:
                run_tasks_after(hours=1)
            assert mail_failures(records) == [1]
        with capture_log_records() as records:
            run_tasks_after(hours=9)
        assert (len(mailbox.emails), mail_failures(records)) == (1, [])

    def test_a_rejected_mail_is_logged_without_the_address(self, api, organization, workers, mailbox, clock, caplog):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        with Stubber(client("sesv2")) as stubbed:
            stubbed.add_client_error("send_email", "MessageRejected", f"No such address: {SOPHIE_EMAIL}")
            workers.deliver()
        assert logged_mail_errors(caplog) == ["given up: MessageRejected: No such address: …"]
        assert SOPHIE_EMAIL not in repr([vars(record) for record in caplog.records])
        assert stored_mails() == []
        clock.shift(days=1)
        workers.run_until_idle()
        assert mailbox.emails == []
        assert api.get(invitation.path, caller=organization.owner).json["status"] == "pending"


def set_used(rate_limit, used):
    """Count some requests in the only bucket of a rate limit, which the first request has created."""
    (bucket,) = [item for item in memory_aws.all_items() if item["pk"].startswith(f"Y#{rate_limit}#")]
    memory_aws.put_item({**bucket, "used": used})


class TestRateLimits:
    @pytest.fixture(autouse=True)
    def frozen_clock(self, clock):
        clock.freeze()

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
        for number in range(8):
            invitation = create_invitation(api, organization, VICTIM)
            if number % 2:
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
        assert api.post(f"{invitation.path}/resend", caller=organization.owner).status_and_code == "429 rate_limited"
        clock.shift(hours=1)
        assert resend_invitation(api, organization, invitation).record["mailWithheld"] is False

    def test_a_user_sends_at_most_120_invitations_an_hour_in_all_organizations(self, api, ada, clock):
        def invite(number: int) -> ApiResponse:
            return post_invitation(api, create_organization(api, ada), f"p{number}@example.org")

        assert invite(1).status == 201
        set_used("invitations", 119)
        assert invite(2).status == 201
        rejected = invite(3).expect_problem("429 rate_limited")
        assert '"invitations";r=0;' in rejected.headers["RateLimit"]
        assert rejected.headers["Retry-After"] == "3600"
        clock.shift(seconds=3600)
        assert invite(4).status == 201

    def test_an_organization_sends_at_most_240_invitations_an_hour_by_all_callers(self, api, organization, ada, grace):
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
        found = {part: part in text for part in ("won", "evil.example", "Analytical Engines")}
        assert found == {"won": False, "evil.example": False, "Analytical Engines": True}
        clock.shift(days=1)
        assert SPAM_MESSAGE in mail_text(organization, "another@example.org")

    @pytest.mark.parametrize("container_type", ["organization", "platform"])
    def test_the_mail_has_the_message_once_an_invitation_was_accepted(
        self, api, organization, platform, stranger, mail_text, container_type
    ):
        if container_type == "organization":
            accept_invitation(api, create_invitation(api, organization, stranger), stranger)
        else:
            create_invitation(api, platform, stranger)
            assert api.post(f"{platform.path}/join", caller=stranger).status == 200
        assert SPAM_MESSAGE in mail_text(organization)

    @pytest.mark.parametrize(
        "name", ["Win at www.evil.example", "Go to evil.example", "https://evil", "mail evil@example", "Won! " * 20]
    )
    def test_the_mail_omits_a_name_that_looks_like_a_message(self, api, ada, mail_text, name):
        text = mail_text(create_organization(api, ada, name=name))
        assert name.strip() not in text
        assert "a new organization" in text
