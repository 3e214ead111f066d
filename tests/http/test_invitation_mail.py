"""The mail that brings an invitation: what it says, when it goes out, and that it does so once."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.stub import Stubber

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.clock import now, now_ms, timestamp_ms
from chalicelib.kernel.work import queues
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.invitations import SOPHIE, Invited, accepts, decides, declines, invite, opens, resend, token_of
from tests.harness.logs import log_of
from tests.harness.mailbox import SENDER, Mailbox
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers

MINUTE, HOUR = 60, 3_600


def jobs() -> list[cloud.Item]:
    """Return the mails that are still to be sent, as they are stored."""
    return [item for item in cloud.stored() if item.get("kind") == "organization.invitation_mail"]


def link_in(text: str) -> str:
    (link,) = re.findall(r"^http\S+$", text, flags=re.MULTILINE)
    return str(link)


def given_up(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(vars(record)["mail"]) for record in caplog.records if "mail" in vars(record)]


class TestTheMail:
    def test_it_says_who_invites_to_what_as_what_until_when(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        clock.shift(days=1)  # Mails of a new organization leave out what its people wrote.
        clock.freeze(now())
        words = {"role": "editor", "message": "Come and join us.\nWe start on Monday."}
        invite(api, organization, SOPHIE, as_=grace, **words)
        workers.deliver()
        (received,) = mailbox.received
        assert (received.to, received.sender) == ([SOPHIE], SENDER)
        letter = received.letter
        assert letter.subject == "Grace Hopper invites you to Analytical Engines"
        assert "Grace Hopper invites you to join Analytical Engines in the role of editor." in letter.text
        assert "> Come and join us.\n> We start on Monday.\n" in letter.text
        until = datetime.fromisoformat(now()) + timedelta(days=7)
        assert f"It is valid until {until.day} {until:%B %Y, %H:%M} UTC." in letter.text
        assert "Come and join us.<br>\nWe start on Monday." in letter.html

    def test_its_link_is_the_one_that_the_inviter_was_given_and_works(
        self, api: Api, organization: Founded, stranger: Person, workers: Workers, mailbox: Mailbox
    ) -> None:
        invited = invite(api, organization, stranger)
        workers.deliver()
        (letter,) = mailbox.letters
        link = link_in(letter.text)
        assert link == invited.record["acceptUrl"]
        assert letter.html.count(f'href="{link}"') == 2
        assert decides(api, token_of(link), stranger).json["membership"]["userId"] == stranger.id

    def test_a_link_leads_to_the_page_that_is_set(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, configure: Configure
    ) -> None:
        configure(invitation_url="https://app.example.com/join?lang=en")
        invite(api, organization, SOPHIE)
        workers.deliver()
        assert link_in(mailbox.letters[0].text).startswith("https://app.example.com/join?lang=en&token=")
        assert "https://app.example.com/join?lang=en&amp;token=" in mailbox.letters[0].html

    def test_a_program_has_no_name_to_invite_by(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox
    ) -> None:
        invite(api, organization, SOPHIE, as_=make_key(api, organization, "admin"))
        workers.deliver()
        assert mailbox.letters[0].subject == "You are invited to Analytical Engines"

    def test_an_inviter_without_a_name_is_not_named_by_their_address(
        self, api: Api, issuer: Issuer, workers: Workers, mailbox: Mailbox
    ) -> None:
        nameless = issuer.person("nameless", "", preferred_username=None)
        invited = invite(api, found(api, nameless), SOPHIE)
        assert opens(api, invited).json["inviterName"] is None
        workers.deliver()
        assert mailbox.letters[0].subject == "You are invited to Analytical Engines"
        assert nameless.email not in mailbox.letters[0].text + mailbox.letters[0].html

    def test_what_an_organization_calls_itself_is_only_words(
        self, api: Api, ada: Person, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        organization = found(api, ada, name="<img src=x> {{ 7 * 7 }} \u202eevil")
        clock.shift(days=1)
        invite(api, organization, SOPHIE, message="</blockquote>\r\n<script>alert(1)</script>")
        workers.deliver()
        (letter,) = mailbox.letters
        assert letter.subject == "Ada Lovelace invites you to <img src=x> {{ 7 * 7 }} evil"
        assert "> </blockquote>\n> <script>alert(1)</script>\n" in letter.text
        assert "<img" not in letter.html
        assert "<script" not in letter.html


class TestWhenItIsSent:
    def test_without_a_sender_none_is_and_the_inviter_has_the_link(
        self,
        api: Api,
        organization: Founded,
        stranger: Person,
        workers: Workers,
        mailbox: Mailbox,
        configure: Configure,
    ) -> None:
        configure(mail_from="")
        invited = invite(api, organization, stranger)
        assert jobs() == []
        workers.settle()
        assert mailbox.letters == []
        accepts(api, invited, stranger)

    def test_the_request_itself_sends_nothing_but_its_one_message(
        self, api: Api, organization: Founded, mailbox: Mailbox
    ) -> None:
        answer = api.post(f"{organization.path}/invite", as_=organization.owner, json={"email": SOPHIE})
        assert answer.calls.of("sqs") == ["sqs:SendMessage"]
        assert answer.calls.of("sesv2") == []
        assert mailbox.letters == []

    def test_a_message_that_comes_often_sends_one(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        invite(api, organization, SOPHIE)
        (job,) = jobs()
        for _ in range(3):
            queues.enqueue("invitations.mail", (job["pk"], job["sk"]))
        workers.deliver()
        queues.enqueue("invitations.mail", (job["pk"], job["sk"]))
        clock.shift(hours=1)
        workers.settle()
        assert len(mailbox.letters) == 1
        assert jobs() == []

    def test_a_message_that_was_lost_is_made_up_for_by_the_sweep(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        with failing(Fault.TIMED_OUT, name="sqs:SendMessage", times=None):
            invite(api, organization, SOPHIE)
        workers.deliver()
        assert mailbox.letters == []
        clock.shift(minutes=1)
        workers.settle()
        assert len(mailbox.letters) == 1

    def test_sent_again_it_brings_a_link_of_its_own(
        self, api: Api, organization: Founded, stranger: Person, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        invited = invite(api, organization, stranger)
        workers.deliver()
        clock.shift(minutes=1)
        resend(api, organization, invited)
        workers.deliver()
        first, second = (token_of(link_in(letter.text)) for letter in mailbox.letters)
        assert opens(api, first, stranger).code == "410 invitation_revoked"
        assert opens(api, second, stranger).status == 200

    def test_sent_again_before_it_went_out_it_goes_out_once_with_the_latest_link(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(minutes=1)
        latest = resend(api, organization, invited)
        workers.settle()
        assert [link_in(letter.text) for letter in mailbox.letters] == [latest.record["acceptUrl"]]
        assert jobs() == []


def revoked(api: Api, organization: Founded, invited: Invited, _invited_person: Person) -> None:
    """It is revoked."""
    assert api.delete(invited.path, as_=organization.owner).status == 204


def accepted(api: Api, _organization: Founded, invited: Invited, person: Person) -> None:
    """It is accepted by the link that the inviter passed on."""
    accepts(api, invited, person)


def declined(api: Api, _organization: Founded, invited: Invited, person: Person) -> None:
    """It is declined."""
    declines(api, invited, person)


def organization_deleted(api: Api, organization: Founded, _invited: Invited, _person: Person) -> None:
    """The organization is deleted."""
    assert api.delete(organization.path, as_=organization.owner).status == 204


class TestAnInvitationThatEndedBefore:
    @pytest.mark.parametrize("ends", [revoked, accepted, declined, organization_deleted], ids=lambda f: f.__name__)
    def test_brings_no_mail(
        self,
        ends: Callable[..., None],
        api: Api,
        organization: Founded,
        stranger: Person,
        workers: Workers,
        mailbox: Mailbox,
    ) -> None:
        ends(api, organization, invite(api, organization, stranger), stranger)
        workers.settle()
        assert mailbox.letters == []
        assert jobs() == []

    def test_with_its_time_brings_no_mail(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        invite(api, organization, SOPHIE)
        clock.shift(days=7)
        workers.settle()
        assert mailbox.letters == []
        assert jobs() == []

    def test_with_its_inviters_membership_brings_no_mail(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, mailbox: Mailbox
    ) -> None:
        invite(api, organization, SOPHIE, as_=grace)
        assert api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner).status == 204
        workers.settle()
        assert mailbox.letters == []
        assert jobs() == []


class TestAMailServiceThatFails:
    def test_is_asked_again_less_and_less_often_until_the_invitation_ends(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        clock.freeze()
        invite(api, organization, SOPHIE)
        pauses = []
        with failing(Fault.THROTTLED, name="sesv2:SendEmail", times=None):
            workers.deliver()
            while waiting := jobs():
                pauses.append((timestamp_ms(waiting[0]["turn_at"]) - now_ms()) / 1000)
                clock.shift(seconds=pauses[-1])
                workers.settle()
        assert mailbox.letters == []
        expected = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, *[6 * HOUR] * (len(pauses) - 4)]
        scatter = [pause / usual for pause, usual in zip(pauses, expected, strict=True)]
        assert 0.8 <= min(scatter) < 1 < max(scatter) <= 1.2
        assert 24 <= len(pauses) <= 40

    def test_that_recovers_gets_the_mail_once(
        self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, clock: Clock
    ) -> None:
        invite(api, organization, SOPHIE)
        with failing(Fault.BROKEN, name="sesv2:SendEmail", times=3):
            workers.deliver()
            for _ in range(2):
                clock.shift(hours=1)
                workers.settle()
        assert mailbox.letters == []
        for _ in range(3):
            clock.shift(hours=3)
            workers.settle()
        assert len(mailbox.letters) == 1
        assert jobs() == []

    def test_a_paused_account_is_no_reason_to_give_up(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        mailbox: Mailbox,
        clock: Clock,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        invite(api, organization, SOPHIE)
        with Stubber(client("sesv2")) as stubbed:
            stubbed.add_client_error("send_email", "SendingPausedException", "Sending is paused.")
            workers.deliver()
        assert given_up(caplog) == ["SendingPausedException: Sending is paused."]
        clock.shift(minutes=2)
        workers.settle()
        assert len(mailbox.letters) == 1

    def test_what_it_refuses_for_good_is_given_up_and_said_in_the_log_without_the_address(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        mailbox: Mailbox,
        clock: Clock,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        with Stubber(client("sesv2")) as stubbed:
            stubbed.add_client_error("send_email", "MessageRejected", f"No such address: {SOPHIE}")
            workers.deliver()
        assert given_up(caplog) == ["given up: MessageRejected: No such address: …"]
        assert SOPHIE not in repr([vars(record) for record in caplog.records])
        assert jobs() == []
        clock.shift(days=1)
        workers.settle()
        assert mailbox.letters == []
        assert api.get(invited.path, as_=organization.owner).json["status"] == "pending"


def test_the_token_is_in_the_mail_and_nowhere_else(
    api: Api, organization: Founded, workers: Workers, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    invited = invite(api, organization, SOPHIE)
    stored: list[Any] = [*cloud.stored()]
    queued = [message.body for queue in cloud.queues() for message in queue._messages]  # noqa: SLF001
    workers.settle()
    everything = json.dumps([stored, cloud.stored(), queued, log_of(api, organization)], default=str)
    assert invited.token in mailbox.letters[0].text
    assert invited.token not in everything + repr([vars(record) for record in caplog.records])


def test_a_mail_is_no_entry_of_the_log(api: Api, organization: Founded, workers: Workers, mailbox: Mailbox) -> None:
    invite(api, organization, SOPHIE)
    before = len(log_of(api, organization))
    workers.settle()
    assert mailbox.letters
    assert len(log_of(api, organization)) == before
