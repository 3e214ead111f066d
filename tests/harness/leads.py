"""Leads, created by anonymous visitors and processed by operators."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.record_clients import CreatedRecord

EMAIL_ADDRESS: Final = "charles@example.org"
_hosts: Final = count(1)


@dataclass(frozen=True)
class CreatedLead(CreatedRecord):
    """A lead as its sender sees it."""

    collection_path = "/public/leads"

    @property
    def operator_path(self) -> str:
        return f"/marketing-leads/{self.id}"

    @property
    def token(self) -> str:
        return str(self.record["leadToken"])

    @property
    def headers(self) -> dict[str, str]:
        return {"Lead-Token": self.token}


def post_lead(
    api: ApiClient,
    email: str = EMAIL_ADDRESS,
    *,
    ip: str = "",
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> ApiResponse:
    """Send a lead, by default from a new IP address each time, and return the response."""
    number = next(_hosts)
    body = {"contactName": "Charles Babbage", "contactEmail": email, **fields}
    address = ip or f"198.51.{number // 250 % 250}.{number % 250}"
    return api.post("/public/leads", json=body, ip=address, headers=headers)


def create_lead(api: ApiClient, email: str = EMAIL_ADDRESS, **fields: Any) -> CreatedLead:
    return CreatedLead(post_lead(api, email, **fields).expect(201).json)


def get_public_lead(api: ApiClient, lead: CreatedLead) -> Json:
    return api.get(lead.path, headers=lead.headers).expect(200).json


def get_lead(api: ApiClient, lead: CreatedLead, operator: Person) -> Json:
    return api.get(lead.operator_path, caller=operator).expect(200).json


def patch_public_lead_status(api: ApiClient, lead: CreatedLead, status: str) -> ApiResponse:
    return api.patch(f"{lead.path}/status", headers=lead.headers, json={"status": status})


def patch_lead_status(api: ApiClient, lead: CreatedLead, operator: Person, status: str, **fields: Any) -> ApiResponse:
    return api.patch(f"{lead.operator_path}/status", caller=operator, json={"status": status, **fields})
