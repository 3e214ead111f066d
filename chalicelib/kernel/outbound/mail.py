"""Mail: a letter written once, in text and HTML, and sent through Amazon SES.

A letter's template holds the words; `mail.txt.jinja` and `mail.html.jinja` beside this file hold what they look like.
What others wrote and a template shows can't be more than words in it: nothing of it is markup, a second line of the
subject, or turns the direction of what follows.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_SUBJECT_CHARACTERS: Final = 200
"""Characters of a subject; more is cut."""

_TEMPLATES: Final = Path(__file__).resolve().parents[2]
_ABOUT_THE_LETTER: Final = frozenset({"BadRequestException", "MessageRejected"})
"""What SES says of a letter it will never take. Everything else is about the account, or the moment."""
_NOT_VERIFIED: Final = "not verified"
"""What SES says in the same words of an account whose sender, or anybody in its sandbox, is not verified yet."""
_WORD: Final = re.compile(r"[^\s<>,]+")
_DIRECTIONS: Final = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Marks, embeddings, overrides and isolates (Unicode Standard Annex 9, section 2)."""


@dataclass(frozen=True)
class Email:
    """What a mail says. `subject` is one line."""

    subject: str
    text: str
    html: str


class EmailRejected(Exception):
    """The mail service won't ever send this letter; says why, and names nobody's address."""


def render_email(template: str, **words: str | None) -> Email:
    """Return the letter that a template makes of the words; `template` is a path within the package.

    The template sets `subject`, and says the rest by the macros of its `layout`: paragraph, quotation, link, name.
    """
    harmless = {name: value and _harmless(value) for name, value in words.items()}
    text, html = (_rendered(template, name, harmless) for name in ("txt", "html"))
    return Email(_one_line(str(text.subject)), str(text).strip() + "\n", str(html).strip() + "\n")


def send_email(to: str, letter: Email, *, unsubscribe_url: str | None = None) -> None:
    """Send a letter to one address. `unsubscribe_url`: where one click ends such mails (RFC 8058).

    Nothing is tried twice here: a letter whose answer was lost may have been sent.

    Raises Refused, or Problem `unavailable` if the service, or our account with it, sends nothing at the moment.
    """
    body = {"Text": _utf8(letter.text), "Html": _utf8(letter.html)}
    headers = [{"Name": "Auto-Submitted", "Value": "auto-generated"}]  # RFC 3834: nobody's holiday note answers it
    if unsubscribe_url:
        headers += [
            {"Name": "List-Unsubscribe", "Value": f"<{unsubscribe_url}>"},
            {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
        ]
    try:
        with aws.translate_errors("mail service"):
            aws.client("sesv2").send_email(
                FromEmailAddress=settings().mail_from,
                Destination={"ToAddresses": [to]},
                Content={"Simple": {"Subject": _utf8(letter.subject), "Body": body, "Headers": headers}},
            )
    except ClientError as error:
        code, said = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        why = f"{code}: {_WORD.sub(_unless_an_address, said)}"
        if code in _ABOUT_THE_LETTER and _NOT_VERIFIED not in said:
            raise EmailRejected(why) from error
        add_fields(mail=why)
        raise unavailable("The mail service sends nothing at the moment.") from error


def _rendered(template: str, form: str, words: dict[str, str | None]) -> Any:
    layout = f"kernel/outbound/mail.{form}.jinja"
    return _environment(html=form == "html").get_template(template).make_module({**words, "layout": layout})


@cache
def _environment(*, html: bool) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # nosec B701
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=html,  # noqa: S701 - in text there is nothing to escape
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["moment"] = _moment
    return environment


def _moment(timestamp: str) -> str:
    """Return a timestamp as people write it: `20 November 2026, 09:30 UTC`."""
    moment = datetime.fromisoformat(timestamp)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _harmless(text: str) -> str:
    """Return the text without what shows nothing and moves the rest; its lines stay lines."""
    lines = "\n".join(text.splitlines())
    shown = "".join(c if c == "\n" or unicodedata.category(c) != "Cc" else " " for c in lines)
    return shown.translate(_DIRECTIONS)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SUBJECT_CHARACTERS else line[: MAX_SUBJECT_CHARACTERS - 1].rstrip() + "…"


def _utf8(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": "UTF-8"}


def _unless_an_address(word: re.Match[str]) -> str:
    return "…" if "@" in word[0] else word[0]
