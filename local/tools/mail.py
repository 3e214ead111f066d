"""The mail of the local stage. The emulator does not deliver it, and stores it until the run ends."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from local.paths import settings_file

_MESSAGES_PATH: Final = "/_ministack/ses/messages"
_SEPARATOR: Final = "-" * 72


class EmulatorNotFound(Exception):
    """No run has mail to read. The message says what to do."""


@dataclass(frozen=True)
class SentEmail:
    """An e-mail that the emulator accepted. `at` is in seconds since 1970."""

    sent_at_seconds: float
    sender: str
    to: str
    subject: str
    text: str
    html: str

    def __str__(self) -> str:
        time = datetime.fromtimestamp(self.sent_at_seconds).astimezone()
        head = f"Date:    {time:%Y-%m-%d %H:%M:%S}\nFrom:    {self.sender}\nTo:      {self.to}"
        return f"{head}\nSubject: {self.subject}\n\n{self.text}"


def fetch_sent_emails(port: int | None = None) -> list[SentEmail]:
    """Return the mail of the run on a port, by default of the last run, newest first. Raises EmulatorNotFound."""
    try:
        endpoint = json.loads(settings_file(port).read_text())["aws_endpoint_url"]
        emails = list(_fetch(endpoint))
    except (OSError, HTTPException):
        raise EmulatorNotFound("No run was found. Start `make run`. It stores its mail until it ends.") from None
    return sorted(emails, key=lambda email: email.sent_at_seconds, reverse=True)


def format_emails(emails: list[SentEmail]) -> str:
    """Format e-mails for a terminal."""
    return f"\n{_SEPARATOR}\n".join(str(email) for email in emails)


def _fetch(endpoint: str) -> Iterator[SentEmail]:
    url = urlsplit(endpoint)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=10)
    try:
        connection.request("GET", _MESSAGES_PATH)
        response: Mapping[str, Any] = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    for messages in response["messages"].values():
        for message in messages:
            yield SentEmail(
                message["Timestamp"],
                message["Source"],
                ", ".join(message["To"]),
                message["Subject"],
                message["BodyText"],
                message["BodyHtml"],
            )
