"""The mail that SES took, whoever it is for."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from moto.sesv2.responses import SESV2Response

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.outbound.mail import Email

SENDER: Final = "Atrium <mail@atrium.example>"
_IDENTITY: Final = "atrium.example"


@dataclass(frozen=True)
class Received:
    """A letter, to whom it went and from whom it came."""

    to: list[str]
    sender: str
    letter: Email
    headers: dict[str, str]


@dataclass
class Mailbox:
    """All letters sent, in order; SES takes them from `SENDER`, and from no other address."""

    received: list[Received] = field(default_factory=list)

    def open(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let SES remember what it takes: moto keeps no text, only the HTML."""
        take = SESV2Response.send_email

        def remember(asked: SESV2Response) -> str:
            answer = take(asked)
            self.received.append(_received(json.loads(asked.body)))
            return answer

        monkeypatch.setattr(SESV2Response, "send_email", remember)
        client("sesv2").create_email_identity(EmailIdentity=_IDENTITY)

    @property
    def letters(self) -> list[Email]:
        """The letters alone."""
        return [received.letter for received in self.received]


def _received(asked: Any) -> Received:
    simple = asked["Content"]["Simple"]
    subject, text, html = simple["Subject"], simple["Body"]["Text"], simple["Body"]["Html"]
    assert {part["Charset"] for part in (subject, text, html)} == {"UTF-8"}
    return Received(
        to=asked["Destination"]["ToAddresses"],
        sender=asked["FromEmailAddress"],
        letter=Email(subject["Data"], text["Data"], html["Data"]),
        headers={header["Name"]: header["Value"] for header in simple["Headers"]},
    )
