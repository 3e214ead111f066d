"""Leads, sent over HTTP by somebody without a credential, and looked after by operators."""

from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from tests.harness.api import Answer, Api, Json
from tests.harness.builders import Made
from tests.harness.callers import Person

ADDRESS: Final = "charles@example.org"
_hosts: Final = count(1)


@dataclass(frozen=True)
class Inquiry(Made):
    """What somebody sent, as they were answered."""

    @property
    def path(self) -> str:
        """Where they find it."""
        return f"/public/leads/{self.id}"

    @property
    def lead_path(self) -> str:
        """Where operators find it."""
        return f"/marketing-leads/{self.id}"

    @property
    def token(self) -> str:
        """What opens it."""
        return str(self.record["leadToken"])

    @property
    def headers(self) -> dict[str, str]:
        """What is sent to come back to it."""
        return {"Lead-Token": self.token}


def asked_to_send(api: Api, email: str = ADDRESS, *, ip: str = "", **fields: Any) -> Answer:
    """Send something; from somewhere else each time, unless it is said from where."""
    number = next(_hosts)
    body = {"contactName": "Charles Babbage", "contactEmail": email, **fields}
    return api.post("/public/leads", json=body, ip=ip or f"198.51.{number // 250 % 250}.{number % 250}")


def send(api: Api, email: str = ADDRESS, **fields: Any) -> Inquiry:
    """Let somebody have sent something."""
    answer = asked_to_send(api, email, **fields)
    assert answer.status == 201, answer.text
    return Inquiry(answer.json)


def seen(api: Api, inquiry: Inquiry) -> Json:
    """Return what whoever sent something sees of it."""
    answer = api.get(inquiry.path, headers=inquiry.headers)
    assert answer.status == 200, answer.text
    return answer.json


def lead_of(api: Api, inquiry: Inquiry, operator: Person) -> Json:
    """Return the lead that holds it, as operators see it."""
    answer = api.get(inquiry.lead_path, as_=operator)
    assert answer.status == 200, answer.text
    return answer.json


def turn(api: Api, inquiry: Inquiry, status: str) -> Answer:
    """Ask for another status of what one sent."""
    return api.patch(f"{inquiry.path}/status", headers=inquiry.headers, json={"status": status})


def judge(api: Api, inquiry: Inquiry, operator: Person, status: str, **fields: Any) -> Answer:
    """Ask as an operator for another status of a lead."""
    return api.patch(f"{inquiry.lead_path}/status", as_=operator, json={"status": status, **fields})
