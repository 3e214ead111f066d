"""The mail of an invitation: its content, when it is sent, and that it is sent once."""

import re
from datetime import datetime, timedelta

import pytest
from botocore.stub import Stubber

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.clock import now, now_ms, timestamp_ms
from chalicelib.kernel.work import queues
from tests.harness import memory_aws
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
    token_from_link,
)
from tests.harness.mailbox import SENDER
from tests.harness.organizations import create_api_key, create_organization, remove_member

MINUTE_SECONDS, HOUR_SECONDS = 60, 3_600


def stored_mails():
    """Return the stored mails that are not sent yet."""
    return [item for item in memory_aws.all_items() if item.get("kind") == "organization.invitation_mail"]


def find_link(text):
    (link,) = re.findall(r"^http\S+$", text, flags=re.MULTILINE)
    return link


def logged_mail_errors(caplog):
    return [vars(record)["mail"] for record in caplog.records if "mail" in vars(record)]


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

    def test_names_and_messages_are_escaped(self, api, ada, workers, mailbox, clock):
        organization = create_organization(api, ada, name="<img src=x> {{ 7 * 7 }} \u202eevil")
        clock.shift(days=1)
        create_invitation(api, organization, SOPHIE_EMAIL, message="</blockquote>\r\n<script>alert(1)</script>")
        workers.deliver()
        (letter,) = mailbox.emails
        assert letter.subject == "Ada Lovelace invites you to <img src=x> {{ 7 * 7 }} evil"
        assert "> </blockquote>\n> <script>alert(1)</script>\n" in letter.text
        assert "<img" not in letter.html
        assert "<script" not in letter.html


class TestSending:
    def test_without_a_sender_only_the_link_works(self, api, organization, stranger, workers, mailbox, configure):
        configure(mail_from="")
        invitation = create_invitation(api, organization, stranger)
        assert stored_mails() == []
        workers.run_until_idle()
        assert mailbox.emails == []
        accept_invitation(api, invitation, stranger)

    def test_repeated_queue_messages_send_one_mail(self, api, organization, workers, mailbox, clock):
        calls = post_invitation(api, organization, SOPHIE_EMAIL).calls
        assert (calls.names_of_service("sqs"), calls.names_of_service("sesv2")) == (["sqs:SendMessage"], [])
        assert mailbox.emails == []
        (mail,) = stored_mails()
        entry_count = len(list_entries(api, organization))
        for _ in range(3):
            queues.enqueue("invitations.mail", (mail["pk"], mail["sk"]))
        workers.deliver()
        queues.enqueue("invitations.mail", (mail["pk"], mail["sk"]))
        clock.shift(hours=1)
        workers.run_until_idle()
        assert (len(mailbox.emails), stored_mails()) == (1, [])
        assert len(list_entries(api, organization)) == entry_count

    def test_the_sweep_replaces_a_lost_message(self, api, organization, workers, mailbox, clock):
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessage", times=None):
            create_invitation(api, organization, SOPHIE_EMAIL)
        workers.deliver()
        assert mailbox.emails == []
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert len(mailbox.emails) == 1

    def test_a_resent_mail_has_a_new_link(self, api, organization, stranger, workers, mailbox, clock):
        invitation = create_invitation(api, organization, stranger)
        workers.deliver()
        clock.shift(minutes=1)
        resend_invitation(api, organization, invitation)
        workers.deliver()
        first, second = (token_from_link(find_link(letter.text)) for letter in mailbox.emails)
        assert open_invitation(api, first, stranger).status_and_code == "410 invitation_revoked"
        assert open_invitation(api, second, stranger).status == 200

    def test_one_mail_has_the_latest_link(self, api, organization, workers, mailbox, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(minutes=1)
        latest = resend_invitation(api, organization, invitation)
        workers.run_until_idle()
        assert [find_link(letter.text) for letter in mailbox.emails] == [latest.record["acceptUrl"]]
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
        assert (mailbox.emails, stored_mails()) == ([], [])


class TestMailServiceFailures:
    def test_sending_is_retried_with_growing_delays(self, api, organization, workers, mailbox, clock):
        clock.freeze()
        create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=4)
        delays_seconds = []
        with inject_fault(Fault.THROTTLED, call_name="sesv2:SendEmail", times=None):
            workers.deliver()
            while unsent := stored_mails():
                delays_seconds.append((timestamp_ms(unsent[0]["turn_at"]) - now_ms()) / 1000)
                clock.shift(seconds=delays_seconds[-1])
                workers.run_until_idle()
        assert mailbox.emails == []
        expected = [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 30 * MINUTE_SECONDS, 2 * HOUR_SECONDS]
        expected += [6 * HOUR_SECONDS] * (len(delays_seconds) - 4)
        ratios = [delay / usual for delay, usual in zip(delays_seconds, expected, strict=True)]
        assert 0.8 <= min(ratios) < 1 < max(ratios) <= 1.2
        assert 16 <= len(delays_seconds) <= 26

    def test_the_mail_is_sent_once_after_a_recovery(self, api, organization, workers, mailbox, clock):
        create_invitation(api, organization, SOPHIE_EMAIL)
        with inject_fault(Fault.INTERNAL_ERROR, call_name="sesv2:SendEmail", times=3):
            workers.deliver()
            for _ in range(2):
                clock.shift(hours=1)
                workers.run_until_idle()
        assert mailbox.emails == []
        for _ in range(3):
            clock.shift(hours=3)
            workers.run_until_idle()
        assert (len(mailbox.emails), stored_mails()) == (1, [])

    def test_a_paused_account_is_retried(self, api, organization, workers, mailbox, clock, caplog):
        create_invitation(api, organization, SOPHIE_EMAIL)
        with Stubber(client("sesv2")) as stubbed:
            stubbed.add_client_error("send_email", "SendingPausedException", "Sending is paused.")
            workers.deliver()
        assert logged_mail_errors(caplog) == ["SendingPausedException: Sending is paused."]
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert len(mailbox.emails) == 1

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
