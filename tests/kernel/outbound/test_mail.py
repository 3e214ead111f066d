"""E-mails have equal contents in text and HTML for any input, and errors of SES become problems."""

import re
import unicodedata
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.outbound.mail import MAX_SUBJECT_CHARACTERS, Email, EmailRejected
from tests.harness.aws_calls import record_calls
from tests.harness.faults import Fault, inject_fault
from tests.harness.mailbox import SENDER
from tests.harness.rendered_pages import parse_html

INVITATION = "features/tenancy/invitations/mail.jinja"
ACCEPT_URL = "https://app.example.com/join?a=b&token=AZPTwbLpcyGb8H0Xv6cS2QGT08Gy6XMhm_B9F7-nEtk"
TEMPLATE_VALUES = {
    "inviter": "Ada Lovelace",
    "place": "Analytical Engines",
    "role": "editor",
    "message": "Come and join us.\n\nWe start on Monday.",
    "accept_url": ACCEPT_URL,
    "unsubscribe_url": None,
    "email": "grace@example.com",
    "expires_at": "2026-11-07T09:30:00.000Z",
}
EMAIL = Email("Subject", "Text\n", "<p>HTML</p>\n")
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "table", "tr", "td", "p", "blockquote", "br", "a"),
    *("strong", "bdi"),
}


def links_of(page):
    return {link.attributes["href"] for link in page.find_all("a")}


def split_words(text):
    return re.sub(r"^> ?", "", text, flags=re.MULTILINE).split()


def render(**changes: str | None) -> Email:
    return mail.render_email(INVITATION, **{**TEMPLATE_VALUES, **changes})


def test_text_and_html_have_the_same_words_and_link():
    email = render()
    assert email.text == (
        "Ada Lovelace invites you to join Analytical Engines in the role of editor.\n\n"
        "With these words:\n\n"
        "> Come and join us.\n>\n> We start on Monday.\n\n"
        f"Open the invitation:\n{ACCEPT_URL}\n\n"
        "It is for grace@example.com: to accept, sign in with that address."
        " It is valid until 7 November 2026, 09:30 UTC.\n\n"
        "If you did not expect this, ignore it: nothing happens unless you accept.\n"
    )
    page = parse_html(email.html)
    text = re.sub(r"\s+If the button does not work, open this address:", ":\n", page.find_one("body").text)
    assert split_words(text) == split_words(email.text)
    assert links_of(page) == {ACCEPT_URL}
    assert page.find_one("html").attributes == {"lang": "en", "dir": "ltr"}
    assert page.find_one("meta", name="color-scheme").attributes["content"] == "light dark"
    assert {table.attributes["role"] for table in page.find_all("table")} == {"presentation"}


def test_missing_optional_values_leave_no_gap_and_a_missing_required_one_is_an_error():
    email = render(inviter=None, message=None)
    assert email.subject == "You are invited to Analytical Engines"
    assert email.text.startswith("You are invited to join Analytical Engines in the role of editor.\n\nOpen the")
    assert "None" not in email.text + email.html
    with pytest.raises(Exception, match="'role' is undefined"):
        mail.render_email(INVITATION, **{name: word for name, word in TEMPLATE_VALUES.items() if name != "role"})


def test_a_long_subject_is_truncated():
    subject = render(inviter="a" * 255, place="b" * 200).subject
    assert len(subject) == MAX_SUBJECT_CHARACTERS
    assert subject.endswith("a…")


@pytest.mark.parametrize("name", ["inviter", "place", "message"])
@pytest.mark.parametrize(
    "markup",
    [
        "<script>alert(1)</script>",
        "</title></bdi></strong></blockquote><img src=x onerror=alert(1)>",
        '" onclick="alert(1)',
        "{{ 7 * 7 }} {% for a in b %} {# c #} {{ self }}",
        "&lt;b&gt; &#60;b&#62;",
    ],
)
def test_markup_and_template_syntax_are_plain_text(name, markup):
    email = render(**{name: markup})
    page, plain_page = parse_html(email.html), parse_html(render(**{name: "a"}).html)
    assert markup in email.text
    assert markup in page.find_one("body").text
    assert [element.tag for element in page.find_all()] == [element.tag for element in plain_page.find_all()]
    assert links_of(page) == {ACCEPT_URL}


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\x00"])
def test_a_name_with_line_breaks_stays_on_one_line(break_):
    email = render(place=f"Engines{break_}Bcc: eve@example.com")
    assert email.subject == "Ada Lovelace invites you to Engines Bcc: eve@example.com"
    assert "to join Engines Bcc: eve@example.com in the role" in email.text


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\u2028", "\x0c"])
def test_a_message_cannot_leave_its_quotation(break_):
    text = render(message=f"Hello{break_}{break_}Open the invitation:{break_}http://evil.example").text
    assert "> Hello\n>\n> Open the invitation:\n> http://evil.example\n\nOpen the invitation:\nhttps://app" in text


def test_bidirectional_control_characters_are_removed():
    email = render(inviter="\u202eadA", place="\u2067\u200fEngines\u2069", message="\u202bwords\u061c")
    assert email.subject == "adA invites you to Engines"
    assert "> words\n" in email.text
    assert not any(unicodedata.category(c) == "Cf" for c in email.subject + email.text + email.html)


def test_names_in_any_script_are_preserved_and_isolated():
    email = render(inviter="עדה 👩\u200d💻", place="חב\u200cרה")
    assert email.subject == "עדה 👩\u200d💻 invites you to חב\u200cרה"
    assert "<bdi>עדה 👩\u200d💻</bdi>" in email.html


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=120))
def test_any_input_produces_a_well_formed_email(inviter, place, message):
    email = render(inviter=inviter, place=place, message=message)
    assert len(email.subject.splitlines()) == 1
    for part in (email.subject, email.text, email.html):
        part.encode()
        assert not any(unicodedata.category(c) == "Cc" and c != "\n" for c in part)
    page = parse_html(email.html)
    assert {element.tag for element in page.find_all()} <= ELEMENTS
    assert links_of(page) == {ACCEPT_URL}
    assert len(email.text.split(f"Open the invitation:\n{ACCEPT_URL}\n")) == 2


def send(email: Email = EMAIL, **options: Any) -> None:
    mail.send_email("grace@example.com", email, attempts=1, **options)


@contextmanager
def stubbed_ses_error(code, status=400, message="arranged"):
    with Stubber(client("sesv2")) as stubbed:
        stubbed.add_client_error("send_email", code, message, http_status_code=status)
        yield


@pytest.mark.usefixtures("aws")
class TestSendEmail:
    def test_an_email_is_sent_to_one_address_as_auto_generated(self, mailbox):
        email = render(place="Café Ω")
        with record_calls() as calls:
            send(email)
        (received,) = mailbox.received_emails
        assert (received.recipients, received.sender, received.email) == (["grace@example.com"], SENDER, email)
        assert received.headers == {"Auto-Submitted": "auto-generated"}
        assert calls.call_names == ["sesv2:SendEmail"]
        send(email, unsubscribe_url="https://a.example/unsubscribe?token=x")
        assert mailbox.received_emails[1].headers == {
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": "<https://a.example/unsubscribe?token=x>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }

    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT])
    def test_a_failing_service_is_called_once_and_unavailable(self, fault, mailbox):
        with inject_fault(fault, times=None), record_calls() as calls, pytest.raises(Problem, match="unavailable"):
            send()
        assert (calls.call_names, mailbox.emails) == (["sesv2:SendEmail"], [])

    def test_an_email_with_a_lost_response_is_not_sent_twice(self, mailbox):
        with inject_fault(Fault.RETRIED), pytest.raises(Problem, match="unavailable"):
            send()
        assert mailbox.emails == [EMAIL]

    def test_an_unverified_sender_is_a_temporary_failure(self, mailbox, configure):
        configure(mail_from="somebody@elsewhere.example")
        with pytest.raises(Problem, match="unavailable"):
            send()
        configure(mail_from=SENDER)
        send()
        assert mailbox.emails == [EMAIL]

    @pytest.mark.parametrize("code", ["MessageRejected", "BadRequestException"])
    def test_a_rejected_email_is_reported_without_addresses(self, code):
        reason = "Not good: <grace@example.com>, a@b."
        with stubbed_ses_error(code, message=reason), pytest.raises(EmailRejected, match=f"^{code}: Not good: <…>, …$"):
            send()

    @pytest.mark.parametrize(
        ("code", "status"),
        [
            ("AccountSuspendedException", 400),
            ("SendingPausedException", 400),
            ("LimitExceededException", 400),
            ("MailFromDomainNotVerifiedException", 400),
            ("NotFoundException", 404),
            ("AccessDeniedException", 403),
            ("TooManyRequestsException", 429),
            ("InternalServiceErrorException", 500),
        ],
    )
    def test_an_account_problem_is_a_temporary_failure(self, code, status):
        with stubbed_ses_error(code, status), pytest.raises(Problem, match="unavailable"):
            send()
