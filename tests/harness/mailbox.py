"""Records the e-mails that the service sends with SES."""

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
class ReceivedEmail:
    recipients: list[str]
    sender: str
    email: Email
    headers: dict[str, str]


@dataclass
class Mailbox:
    """All e-mails in the order of sending. SES accepts only `SENDER` as their sender."""

    received_emails: list[ReceivedEmail] = field(default_factory=list)

    def start_recording(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Start recording. moto itself does not keep the text of e-mails, only the HTML."""
        send_original = SESV2Response.send_email

        def send_and_record(sesv2: SESV2Response) -> str:
            answer = send_original(sesv2)
            self.received_emails.append(_parse(json.loads(sesv2.body)))
            return answer

        monkeypatch.setattr(SESV2Response, "send_email", send_and_record)
        client("sesv2").create_email_identity(EmailIdentity=_IDENTITY)

    @property
    def emails(self) -> list[Email]:
        """The e-mails without recipients, sender and headers."""
        return [received.email for received in self.received_emails]


def _parse(parameters: Any) -> ReceivedEmail:
    simple = parameters["Content"]["Simple"]
    subject, text, html = simple["Subject"], simple["Body"]["Text"], simple["Body"]["Html"]
    assert {part["Charset"] for part in (subject, text, html)} == {"UTF-8"}
    return ReceivedEmail(
        recipients=parameters["Destination"]["ToAddresses"],
        sender=parameters["FromEmailAddress"],
        email=Email(subject["Data"], text["Data"], html["Data"]),
        headers={header["Name"]: header["Value"] for header in simple["Headers"]},
    )
