"""E-mail: rendered from one template as text and HTML, and sent through Amazon SES.

The template of a mail contains its text. `mail.txt.jinja` and `mail.html.jinja` in this directory contain the layout.
Values from users are shown as plain text: they cannot add markup, a second line of the subject or a change of text
direction.
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
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.core.problems import Problem, unavailable
from chalicelib.kernel.core.settings import settings

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_SUBJECT_CHARACTERS: Final = 200
"""Maximum length of a subject. Longer ones are cut."""

MIN_REPORTED_MAIL_ATTEMPTS: Final = 3
"""Number of attempts to send a mail after which the alarm counts it if SES does not respond or is busy."""

_TEMPLATES: Final = Path(__file__).resolve().parents[2]
_REJECTED_MAIL_CODES: Final = frozenset({"BadRequestException", "MessageRejected"})
"""Error codes of SES for mails that it will never accept. All others are temporary or concern the account."""
_NOT_VERIFIED: Final = "not verified"
"""Part of the message of these errors if the sender or, in the SES sandbox, any recipient is not verified yet."""
_WORD: Final = re.compile(r"[^\s<>,]+")
_DIRECTION_MARKS: Final = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Marks, embeddings, overrides and isolates (Unicode Standard Annex 9, section 2)."""


@dataclass(frozen=True)
class Email:
    """The content of a mail. `subject` is one line."""

    subject: str
    text: str
    html: str


class EmailRejected(Exception):
    """The mail service will never send this mail, for the reason in the message, which contains no address."""


def render_email(template: str, **values: str | None) -> Email:
    """Return the mail that a template renders with some values. `template` is a path within the package.

    The template sets `subject`, and uses the macros of its `layout`: paragraph, quotation, link, name.
    """
    sanitized = {name: value and _sanitize_multiline_text(value) for name, value in values.items()}
    text, html = (_render_template_module(template, name, sanitized) for name in ("txt", "html"))
    return Email(_single_line_subject(str(text.subject)), str(text).strip() + "\n", str(html).strip() + "\n")


def send_email(recipient: str, email: Email, *, attempts: int, unsubscribe_url: str | None = None) -> None:
    """Send a mail to one address. `unsubscribe_url`: for one-click unsubscription (RFC 8058).

    It does not retry, because a mail whose response was lost may have been sent. Raises EmailRejected, and Problem
    `unavailable` if the service or the account cannot send now. The metric MailFailures counts mails that SES refuses,
    and those that could not be sent in `MIN_REPORTED_MAIL_ATTEMPTS`. `attempts`: their number, with this one.
    """
    body = {"Text": _ses_utf8_content(email.text), "Html": _ses_utf8_content(email.html)}
    headers = [{"Name": "Auto-Submitted", "Value": "auto-generated"}]  # RFC 3834: suppresses automatic replies
    if unsubscribe_url:
        headers += [
            {"Name": "List-Unsubscribe", "Value": f"<{unsubscribe_url}>"},
            {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
        ]
    try:
        with aws.raise_unavailable_on_aws_outage("mail service"):
            aws.client("sesv2").send_email(
                FromEmailAddress=settings().mail_from,
                Destination={"ToAddresses": [recipient]},
                Content={"Simple": {"Subject": _ses_utf8_content(email.subject), "Body": body, "Headers": headers}},
            )
    except Problem:
        if attempts >= MIN_REPORTED_MAIL_ATTEMPTS:
            add_metrics(MailFailures=1)
        raise
    except ClientError as error:
        add_metrics(MailFailures=1)
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        reason = f"{code}: {_WORD.sub(_redact_word_if_email, message)}"
        if code in _REJECTED_MAIL_CODES and _NOT_VERIFIED not in message:
            raise EmailRejected(reason) from error
        add_fields(mail=reason)
        raise unavailable("The mail service is not available at the moment.") from error


def _render_template_module(template: str, text_format: str, values: dict[str, str | None]) -> Any:
    layout = f"kernel/outbound/mail.{text_format}.jinja"
    return _environment(html=text_format == "html").get_template(template).make_module({**values, "layout": layout})


@cache
def _environment(*, html: bool) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # nosec B701
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=html,  # noqa: S701 - plain text needs no escaping
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["moment"] = _format_time
    return environment


def _format_time(timestamp: str) -> str:
    """Return a timestamp such as `20 November 2026, 09:30 UTC`."""
    time = datetime.fromisoformat(timestamp)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def _sanitize_multiline_text(text: str) -> str:
    """Return the text without control characters and direction marks. Line breaks stay."""
    lines = "\n".join(text.splitlines())
    printable = "".join(c if c == "\n" or unicodedata.category(c) != "Cc" else " " for c in lines)
    return printable.translate(_DIRECTION_MARKS)


def _single_line_subject(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SUBJECT_CHARACTERS else line[: MAX_SUBJECT_CHARACTERS - 1].rstrip() + "…"


def _ses_utf8_content(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": "UTF-8"}


def _redact_word_if_email(match: re.Match[str]) -> str:
    return "…" if "@" in match[0] else match[0]
