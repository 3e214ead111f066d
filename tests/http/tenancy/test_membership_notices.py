"""The mails to people whose membership of an organization somebody else has changed."""

import pytest

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.outbound import mail
from tests.harness import memory_aws
from tests.harness.erasures import complete_erasure
from tests.harness.faults import Fault, inject_fault
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
    leave_organization,
    remove_member,
    set_role,
    transfer_ownership,
)
from tests.http.tenancy.test_email_suppressions import create_token, unsubscribe


def stored_notices():
    return [item for item in memory_aws.all_items() if item.get("kind") == "organization.membership_notice"]


def reject_unavailable():
    raise unavailable("The mail service is not available at the moment.")


@pytest.fixture
def sent_mails(workers, mailbox):
    """A function that returns recipient, subject and text of the mails that were caused since its last call."""

    def send_all(postponed: int = 0) -> list[tuple[str, str, str]]:
        mailbox.received_emails.clear()
        workers.run_until_idle()
        assert len(stored_notices()) == postponed
        received = [(each.recipients, each.email) for each in mailbox.received_emails]
        return [(recipient, email.subject, email.text) for (recipient,), email in received]

    return send_all


class TestNotice:
    def test_tells_about_a_new_role_the_ownership_and_the_removal(
        self, api, organization, ada, grace, edith, sent_mails
    ):
        for change, (recipient, subject), text in (
            (
                lambda: set_role(api, organization, edith, "member", caller=grace).expect(200),
                (edith.email, "Your role in Analytical Engines has changed"),
                "Somebody has changed your role in Analytical Engines to member. It was editor.",
            ),
            (
                lambda: transfer_ownership(api, organization, ada, grace.id).expect(200),
                (grace.email, "You are the owner of Analytical Engines"),
                "You are the owner now. Your role was admin.",
            ),
            (
                lambda: remove_member(api, organization, ada, caller=grace).expect(204),
                (ada.email, "You are no longer a member of Analytical Engines"),
                "Somebody has removed you from Analytical Engines, and from everything in it.",
            ),
        ):
            change()
            ((*addressed, body),) = sent_mails()
            assert addressed == [recipient, subject]
            assert text in body

    def test_an_api_key_notifies_every_member_whom_it_removes(self, api, organization, grace, edith, sent_mails):
        key = create_api_key(api, organization, "members:write")
        for person in (grace, edith):
            remove_member(api, organization, person, caller=key).expect(204)
        assert {recipient for recipient, *_ in sent_mails()} == {grace.email, edith.email}

    def test_is_not_sent_to_those_who_made_the_change_or_without_one(self, api, organization, grace, edith, sent_mails):
        set_role(api, organization, grace, "editor", caller=grace).expect(200)
        set_role(api, organization, edith, "editor").expect(200)
        leave_organization(api, organization, edith).expect(204)
        assert sent_mails() == []

    def test_names_no_new_organization_with_a_link_for_a_name(self, api, ada, edith, sent_mails):
        organization = create_organization(api, ada, name="Win at https://evil.example")
        add_organization_member(organization, edith, "member")
        remove_member(api, organization, edith).expect(204)
        ((_, subject, text),) = sent_mails()
        assert "evil" not in subject + text

    def test_waits_beyond_the_limit_of_the_recipient(self, api, organization, grace, edith, clock, sent_mails):
        for role in ("member", "editor") * 3:
            set_role(api, organization, edith, role).expect(200)
        remove_member(api, organization, edith).expect(204)
        assert len(sent_mails(postponed=2)) == 5
        set_role(api, organization, grace, "editor").expect(200)
        assert [recipient for recipient, *_ in sent_mails(postponed=2)] == [grace.email]
        clock.shift(hours=1, seconds=1)
        with inject_fault(Fault.THROTTLED, call_name="sesv2:SendEmail", times=None), capture_log_records() as records:
            assert sent_mails(postponed=2) == []
        assert all("MailFailures" not in record for record in records)  # The service was not late until then.
        clock.shift(hours=1)
        received = sent_mails()
        assert [recipient for recipient, *_ in received] == [edith.email] * 2
        assert any(subject.startswith("You are no longer a member") for _, subject, _ in received)


class TestNoNotice:
    def test_without_a_sender(self, api, organization, edith, sent_mails, configure):
        configure(mail_from="")
        set_role(api, organization, edith, "member").expect(200)
        assert stored_notices() == []

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_once_the_organization_has_turned_them_off(self, api, organization, edith, sent_mails, when):
        turn_off = api.patch(organization.path, caller=organization.owner, json={"notifications": when == "after"})
        assert turn_off.json["notifications"] is (when == "after")
        set_role(api, organization, edith, "member").expect(200)
        assert len(stored_notices()) == (when == "after")
        api.patch(organization.path, caller=organization.owner, json={"notifications": False}).expect(200)
        assert sent_mails() == []

    def test_to_unsubscribed_people(self, api, organization, grace, sent_mails):
        set_role(api, organization, grace, "editor").expect(200)
        ((_, _, text),) = sent_mails()
        assert f"/unsubscribe?token={create_token(grace.email)}" in text
        unsubscribe(api, create_token(grace.email)).expect(200)
        remove_member(api, organization, grace).expect(204)
        assert sent_mails() == []

    def test_to_erased_people(self, api, organization, edith, workers, clock, sent_mails, monkeypatch):
        with monkeypatch.context() as mail_service_fails:
            mail_service_fails.setattr(mail, "send_email", lambda *_, **__: reject_unavailable())
            remove_member(api, organization, edith).expect(204)
            workers.deliver()
            assert len(stored_notices()) == 1
            complete_erasure(api, workers, clock, organization, userId=edith.id)
        clock.shift(hours=1)
        assert sent_mails() == []

    def test_that_is_days_old(self, api, organization, edith, clock, sent_mails):
        set_role(api, organization, edith, "member").expect(200)
        clock.shift(days=3, minutes=1)
        assert sent_mails() == []

    @pytest.mark.parametrize("verified", [True, False, None])
    def test_to_addresses_that_the_issuer_has_not_verified(self, api, issuer, grace, sent_mails, verified):
        founder = issuer.create_person("charles", "Charles", email_verified=verified)
        organization = create_organization(api, founder)
        add_organization_member(organization, grace, "admin")
        transfer_ownership(api, organization, founder, grace.id).expect(200)
        set_role(api, organization, founder, "member", caller=grace).expect(200)
        assert {recipient for recipient, *_ in sent_mails()} == {grace.email, *([founder.email] if verified else [])}


def test_a_notice_costs_no_further_call(api, organization, edith, grace, mailbox):
    with_notice = set_role(api, organization, edith, "member")
    by_oneself = set_role(api, organization, grace, "editor", caller=grace)
    assert with_notice.calls.call_names == by_oneself.calls.call_names
    assert len(stored_notices()) == 1
