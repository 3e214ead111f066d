"""The mail of the local stage: the emulator delivers none of it, and keeps it until it ends."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from local.paths import settings_of_run

_MESSAGES: Final = "/_ministack/ses/messages"
_RULE: Final = "-" * 72


class NoEmulator(Exception):
    """There is no run whose mail could be read; says what to do."""


@dataclass(frozen=True)
class Sent:
    """A mail that the emulator took; `at` in seconds since 1970."""

    at: float
    sender: str
    to: str
    subject: str
    text: str
    html: str

    def __str__(self) -> str:
        time = datetime.fromtimestamp(self.at).astimezone()
        head = f"Date:    {time:%Y-%m-%d %H:%M:%S}\nFrom:    {self.sender}\nTo:      {self.to}"
        return f"{head}\nSubject: {self.subject}\n\n{self.text}"


def sent(port: int | None = None) -> list[Sent]:
    """Return the mail of the run on a port, or of the run that was started last; the newest first.

    Raises NoEmulator.
    """
    try:
        endpoint = json.loads(settings_of_run(port).read_text())["aws_endpoint_url"]
        found = list(_taken(endpoint))
    except (OSError, HTTPException):
        raise NoEmulator("No run was found. Start `make run`, which keeps its mail until it ends.") from None
    return sorted(found, key=lambda mail: mail.at, reverse=True)


def printed(mails: list[Sent]) -> str:
    """Return mails as they are read in a terminal."""
    return f"\n{_RULE}\n".join(str(mail) for mail in mails)


def _taken(endpoint: str) -> Iterator[Sent]:
    where = urlsplit(endpoint)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=10)
    try:
        connection.request("GET", _MESSAGES)
        answer: Mapping[str, Any] = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    for messages in answer["messages"].values():
        for message in messages:
            yield Sent(
                message["Timestamp"],
                message["Source"],
                ", ".join(message["To"]),
                message["Subject"],
                message["BodyText"],
                message["BodyHtml"],
            )
