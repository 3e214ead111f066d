"""Letters: the same words in text and HTML, whatever others wrote into them; and what SES says to them."""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest
from botocore.stub import Stubber
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.outbound.mail import MAX_SUBJECT_CHARACTERS, Email, EmailRejected
from tests.conftest import Configure
from tests.harness.calls import recorded
from tests.harness.faults import Fault, failing
from tests.harness.fresh_process import fresh
from tests.harness.mailbox import SENDER, Mailbox

INVITATION = "features/tenancy/invitations/mail.jinja"
WORDS = {
    "inviter": "Ada Lovelace",
    "place": "Analytical Engines",
    "role": "editor",
    "message": "Come and join us.\n\nWe start on Monday.",
    "accept_url": "https://app.example.com/join?a=b&token=AZPTwbLpcyGb8H0Xv6cS2QGT08Gy6XMhm_B9F7-nEtk",
    "unsubscribe_url": None,
    "email": "grace@example.com",
    "expires_at": "2026-11-07T09:30:00.000Z",
}
LETTER = Email("Subject", "Text\n", "<p>HTML</p>\n")
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "table", "tr", "td", "p", "blockquote", "br", "a"),
    *("strong", "bdi"),
}


class Page(HTMLParser):
    """A letter's HTML as a mail client reads it: its elements, where its links lead, and what it says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self._within: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "title"} & set(self._within):
            self.said.append(data)

    @property
    def links(self) -> set[str | None]:
        return {attributes["href"] for tag, attributes in self.elements if tag == "a"}


def words_of(text: str) -> list[str]:
    return re.sub(r"^> ?", "", text, flags=re.MULTILINE).split()


def write(**words: str | None) -> Email:
    return mail.render_email(INVITATION, **{**WORDS, **words})


class TestWriting:
    def test_text_is_made_of_paragraphs_and_quotes_what_somebody_wrote(self) -> None:
        assert write().text == (
            "Ada Lovelace invites you to join Analytical Engines in the role of editor.\n\n"
            "With these words:\n\n"
            "> Come and join us.\n>\n> We start on Monday.\n\n"
            f"Open the invitation:\n{WORDS['accept_url']}\n\n"
            "It is for grace@example.com: to accept, sign in with that address."
            " It is valid until 7 November 2026, 09:30 UTC.\n\n"
            "If you did not expect this, ignore it: nothing happens unless you accept.\n"
        )

    def test_html_says_the_same_and_leads_to_the_same_place(self) -> None:
        letter = write()
        page = Page(letter.html)
        said = re.sub(r"\s+If the button does not work, open this address:", ":\n", "".join(page.said))
        assert words_of(said) == words_of(letter.text)
        assert page.links == {WORDS["accept_url"]}

    def test_html_is_a_page_in_english_for_light_and_dark(self) -> None:
        elements = Page(write().html).elements
        assert ("html", {"lang": "en", "dir": "ltr"}) in elements
        assert ("meta", {"name": "color-scheme", "content": "light dark"}) in elements
        assert all(attributes["role"] == "presentation" for tag, attributes in elements if tag == "table")

    def test_what_may_be_missing_leaves_no_gap(self) -> None:
        letter = write(inviter=None, message=None)
        assert letter.subject == "You are invited to Analytical Engines"
        assert letter.text.startswith("You are invited to join Analytical Engines in the role of editor.\n\nOpen the")
        assert "None" not in letter.text + letter.html

    def test_a_word_that_was_forgotten_is_an_error(self) -> None:
        with pytest.raises(Exception, match="'role' is undefined"):
            mail.render_email(INVITATION, **{name: word for name, word in WORDS.items() if name != "role"})

    def test_a_long_subject_is_cut(self) -> None:
        subject = write(inviter="a" * 255, place="b" * 200).subject
        assert len(subject) == MAX_SUBJECT_CHARACTERS
        assert subject.endswith("a…")

    @pytest.mark.parametrize("name", ["inviter", "place", "message"])
    @pytest.mark.parametrize(
        "words",
        [
            "<script>alert(1)</script>",
            "</title></bdi></strong></blockquote><img src=x onerror=alert(1)>",
            '" onclick="alert(1)',
            "{{ 7 * 7 }} {% for a in b %} {# c #} {{ self }}",
            "&lt;b&gt; &#60;b&#62;",
        ],
    )
    def test_markup_and_templates_are_words(self, name: str, words: str) -> None:
        letter = write(**{name: words})
        assert words in letter.text
        page = Page(letter.html)
        assert words in "".join(page.said)
        assert [tag for tag, _ in page.elements] == [tag for tag, _ in Page(write(**{name: "a"}).html).elements]
        assert page.links == {WORDS["accept_url"]}

    @pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\x00"])
    def test_a_name_of_several_lines_stays_on_its_own(self, break_: str) -> None:
        letter = write(place=f"Engines{break_}Bcc: eve@example.com")
        assert letter.subject == "Ada Lovelace invites you to Engines Bcc: eve@example.com"
        assert "to join Engines Bcc: eve@example.com in the role" in letter.text

    @pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\u2028", "\x0c"])
    def test_a_message_can_not_leave_its_quotation(self, break_: str) -> None:
        text = write(message=f"Hello{break_}{break_}Open the invitation:{break_}http://evil.example").text
        assert "> Hello\n>\n> Open the invitation:\n> http://evil.example\n\nOpen the invitation:\nhttps://app" in text

    def test_nothing_turns_the_direction_of_the_rest(self) -> None:
        letter = write(inviter="\u202eadA", place="\u2067\u200fEngines\u2069", message="\u202bwords\u061c")
        assert letter.subject == "adA invites you to Engines"
        assert "> words\n" in letter.text
        assert not any(unicodedata.category(c) == "Cf" for c in letter.subject + letter.text + letter.html)

    def test_names_in_any_script_are_kept_and_stand_apart(self) -> None:
        letter = write(inviter="עדה 👩\u200d💻", place="חב\u200cרה")
        assert letter.subject == "עדה 👩\u200d💻 invites you to חב\u200cרה"
        assert "<bdi>עדה 👩\u200d💻</bdi>" in letter.html

    @settings(deadline=None)  # The first letter brings in all that writes them.
    @given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=120))
    def test_whatever_is_written_the_letter_is_whole(self, inviter: str, place: str, message: str) -> None:
        letter = write(inviter=inviter, place=place, message=message)
        assert len(letter.subject.splitlines()) == 1
        for part in (letter.subject, letter.text, letter.html):
            part.encode()
            assert not any(unicodedata.category(c) == "Cc" and c != "\n" for c in part)
        page = Page(letter.html)
        assert {tag for tag, _ in page.elements} <= ELEMENTS
        assert page.links == {WORDS["accept_url"]}
        after = letter.text.split(f"Open the invitation:\n{WORDS['accept_url']}\n")
        assert len(after) == 2


@contextmanager
def refusing(code: str, status: int = 400, message: str = "arranged") -> Iterator[None]:
    """Let SES answer with an error within the block."""
    with Stubber(client("sesv2")) as stubbed:
        stubbed.add_client_error("send_email", code, message, http_status_code=status)
        yield


@pytest.mark.usefixtures("aws")
class TestSending:
    def test_a_letter_goes_to_one_address_as_an_automatic_one(self, mailbox: Mailbox) -> None:
        letter = write(place="Café Ω")
        with recorded() as calls:
            mail.send_email("grace@example.com", letter)
        (received,) = mailbox.received
        assert (received.to, received.sender, received.letter) == (["grace@example.com"], SENDER, letter)
        assert received.headers == {"Auto-Submitted": "auto-generated"}
        mail.send_email("grace@example.com", letter, unsubscribe_url="https://a.example/unsubscribe?token=x")
        assert mailbox.received[1].headers == {
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": "<https://a.example/unsubscribe?token=x>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
        assert calls.names == ["sesv2:SendEmail"]

    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.BROKEN, Fault.TIMED_OUT])
    def test_a_service_that_is_not_well_is_asked_once_and_unavailable(self, fault: Fault, mailbox: Mailbox) -> None:
        with failing(fault, times=None), recorded() as calls, pytest.raises(Problem, match="unavailable"):
            mail.send_email("grace@example.com", LETTER)
        assert calls.names == ["sesv2:SendEmail"]
        assert mailbox.letters == []

    def test_a_letter_whose_answer_was_lost_is_not_sent_twice(self, mailbox: Mailbox) -> None:
        with failing(Fault.RETRIED), pytest.raises(Problem, match="unavailable"):
            mail.send_email("grace@example.com", LETTER)
        assert mailbox.letters == [LETTER]

    def test_a_sender_that_is_not_verified_yet_passes(self, mailbox: Mailbox, configure: Configure) -> None:
        configure(mail_from="somebody@elsewhere.example")
        with pytest.raises(Problem, match="unavailable"):
            mail.send_email("grace@example.com", LETTER)
        configure(mail_from=SENDER)
        mail.send_email("grace@example.com", LETTER)
        assert mailbox.letters == [LETTER]

    @pytest.mark.parametrize("code", ["MessageRejected", "BadRequestException"])
    def test_what_is_wrong_with_the_letter_is_said_without_an_address(self, code: str) -> None:
        about = "Not good: <grace@example.com>, a@b."
        with refusing(code, message=about), pytest.raises(EmailRejected, match=f"^{code}: Not good: <…>, …$"):
            mail.send_email("grace@example.com", LETTER)

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
    def test_what_is_wrong_with_the_account_or_the_moment_passes(self, code: str, status: int) -> None:
        with refusing(code, status), pytest.raises(Problem, match="unavailable"):
            mail.send_email("grace@example.com", LETTER)


def test_what_writes_letters_is_imported_with_the_first_one() -> None:
    program = """
import json, sys
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.core.aws import client
before = "jinja2" in sys.modules
mail.render_email("features/tenancy/invitations/mail.jinja", inviter=None, place="a", role="member", message=None,
           accept_url="https://a.example", unsubscribe_url=None,
           email="a@b.example", expires_at="2026-11-07T09:30:00.000Z")
print(json.dumps([before, "jinja2" in sys.modules]))
"""
    assert fresh(program) == [False, True]
