"""Leads, created by anonymous visitors and processed by operators."""

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
    """A lead as its sender sees it."""

    @property
    def path(self) -> str:
        """The path of the lead for its sender."""
        return f"/public/leads/{self.id}"

    @property
    def lead_path(self) -> str:
        """The path of the lead for operators."""
        return f"/marketing-leads/{self.id}"

    @property
    def token(self) -> str:
        """The token that gives its sender access."""
        return str(self.record["leadToken"])

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the token."""
        return {"Lead-Token": self.token}


def asked_to_send(api: Api, email: str = ADDRESS, *, ip: str = "", **fields: Any) -> Answer:
    """Send a lead, by default from a new IP address each time, and return the response."""
    number = next(_hosts)
    body = {"contactName": "Charles Babbage", "contactEmail": email, **fields}
    return api.post("/public/leads", json=body, ip=ip or f"198.51.{number // 250 % 250}.{number % 250}")


def send(api: Api, email: str = ADDRESS, **fields: Any) -> Inquiry:
    """Create a lead."""
    answer = asked_to_send(api, email, **fields)
    assert answer.status == 201, answer.text
    return Inquiry(answer.json)


def seen(api: Api, inquiry: Inquiry) -> Json:
    """Read a lead as its sender."""
    answer = api.get(inquiry.path, headers=inquiry.headers)
    assert answer.status == 200, answer.text
    return answer.json


def lead_of(api: Api, inquiry: Inquiry, operator: Person) -> Json:
    """Read a lead as an operator."""
    answer = api.get(inquiry.lead_path, as_=operator)
    assert answer.status == 200, answer.text
    return answer.json


def turn(api: Api, inquiry: Inquiry, status: str) -> Answer:
    """Request another status as the sender."""
    return api.patch(f"{inquiry.path}/status", headers=inquiry.headers, json={"status": status})


def judge(api: Api, inquiry: Inquiry, operator: Person, status: str, **fields: Any) -> Answer:
    """Request another status as an operator."""
    return api.patch(f"{inquiry.lead_path}/status", as_=operator, json={"status": status, **fields})
