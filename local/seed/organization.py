"""The organization: the company, its people, its keys, and who is told what happens in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

from local.seed.callers import Caller, Json, Service
from local.seed.content.company import (
    API_KEYS,
    CHANNEL,
    DECLINED,
    MEMBERS,
    NAMES,
    ORGANIZATION,
    OWNER,
    PENDING,
    WEBHOOKS,
)
from local.server.issuer import Person

_ANSWER: Final = "/organizations/invitations/acceptance"


@dataclass(frozen=True)
class Company:
    """The organization, once it is there. `path`: of the organization."""

    service: Service
    id: str
    path: str
    owner: Caller

    def person(self, username: str) -> Caller:
        """Return one of its people, or of those around it."""
        return self.service.called_by(named(username))


def named(username: str) -> Person:
    """Return the person who goes by a username."""
    return Person(username, full_name=NAMES[username])


def user_id(username: str) -> str:
    """Return the id by which the service knows a person."""
    return str(named(username).claims()["sub"])


def found(service: Service) -> Company:
    """Return the organization."""
    owner = service.called_by(named(OWNER))
    there = owner.find(f"/organizations/by-slug/{ORGANIZATION['slug']}") or owner.post("/organizations", ORGANIZATION)
    return Company(service, there["id"], f"/organizations/{there['id']}", owner)


def let_people_in(company: Company) -> None:
    """Let those who belong to it be members, by invitation; let one invitation be open, and one declined."""
    invitations = company.owner.items(f"{company.path}/invitations")
    members = {member["userId"] for member in company.owner.items(f"{company.path}/members")}
    for username, invitation in MEMBERS.items():
        if user_id(username) not in members:
            _answered(company, invitations, username, invitation, "accept")
    username, invitation = DECLINED
    if not _has(invitations, named(username), "declined"):
        _answered(company, invitations, username, invitation, "decline")
    company.owner.there(f"{company.path}/invite", PENDING, by="email", listed=invitations)


def equip(company: Company, receiver: str) -> None:
    """Let it have API keys, webhooks and a chat channel. `receiver`: the address of the program that is told."""
    owner = company.owner
    for key in API_KEYS:
        owner.there(f"{company.path}/api-keys", key, by="name")
    for webhook in WEBHOOKS:
        url = webhook["url"].format(receiver=receiver)
        owner.there(f"{company.path}/webhooks", {**webhook, "url": url}, by="url")
    url = CHANNEL["config"]["webhookUrl"].format(receiver=receiver)
    owner.there(f"{company.path}/integration-channels", {**CHANNEL, "config": {"webhookUrl": url}}, by="name")


def export_log(company: Company) -> None:
    """Let there be an export of the log, made in the background, unless there was one."""
    asked = company.owner.items(f"{company.path}/audit-log", type="organization.audit_export.requested")
    if not asked:
        company.owner.post(f"{company.path}/audit-log/export-async", {"format": "ndjson"})


def _answered(company: Company, invitations: Iterable[Json], username: str, invitation: Json, decision: str) -> None:
    """Invite somebody, and let them answer.

    The link that an answer needs is shown once: an invitation that an ended seed left behind is replaced.
    """
    person = named(username)
    for left in invitations:
        if _has([left], person, "pending"):
            company.owner.delete(f"{company.path}/invitations/{left['id']}")
    sent = company.owner.post(f"{company.path}/invite", {"email": _address(person), **invitation})
    (token,) = parse_qs(urlsplit(sent["acceptUrl"]).query)["token"]
    company.person(username).post(_ANSWER, {"token": token, "decision": decision})


def _has(invitations: Iterable[Json], person: Person, status: str) -> bool:
    return any(i["email"] == _address(person) and i["status"] == status and not i["platformId"] for i in invitations)


def _address(person: Person) -> str:
    return str(person.claims()["email"])
