"""The organization: the sample company with its members, API keys, webhooks and chat channel."""

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

_ACCEPTANCE_PATH: Final = "/organizations/invitations/acceptance"


@dataclass(frozen=True)
class Company:
    """The existing organization. `path` is its URL path, and `owner` the caller who owns it."""

    service: Service
    id: str
    path: str
    owner: Caller

    def person(self, username: str) -> Caller:
        """Return the caller with a username, inside or outside of the organization."""
        return self.service.called_by(named(username))


def named(username: str) -> Person:
    """Return the person with a username."""
    return Person(username, full_name=NAMES[username])


def user_id(username: str) -> str:
    """Return the user id of a person."""
    return str(named(username).claims()["sub"])


def found(service: Service) -> Company:
    """Return the organization. Create it if it is missing."""
    owner = service.called_by(named(OWNER))
    organization = owner.find(f"/organizations/by-slug/{ORGANIZATION['slug']}") or owner.post(
        "/organizations", ORGANIZATION
    )
    return Company(service, organization["id"], f"/organizations/{organization['id']}", owner)


def let_people_in(company: Company) -> None:
    """Make people members by invitation. Leave one invitation pending and one declined."""
    invitations = company.owner.items(f"{company.path}/invitations")
    members = {member["userId"] for member in company.owner.items(f"{company.path}/members")}
    for username, invitation in MEMBERS.items():
        if user_id(username) not in members:
            _invite_and_respond(company, invitations, username, invitation, "accept")
    username, invitation = DECLINED
    if not _has(invitations, named(username), "declined"):
        _invite_and_respond(company, invitations, username, invitation, "decline")
    company.owner.there(f"{company.path}/invite", PENDING, by="email", listed=invitations)


def equip(company: Company, receiver: str) -> None:
    """Create the API keys, the webhooks and the chat channel. `receiver` is the URL of the webhook receiver."""
    owner = company.owner
    for key in API_KEYS:
        owner.there(f"{company.path}/api-keys", key, by="name")
    for webhook in WEBHOOKS:
        url = webhook["url"].format(receiver=receiver)
        owner.there(f"{company.path}/webhooks", {**webhook, "url": url}, by="url")
    url = CHANNEL["config"]["webhookUrl"].format(receiver=receiver)
    owner.there(f"{company.path}/integration-channels", {**CHANNEL, "config": {"webhookUrl": url}}, by="name")


def export_log(company: Company) -> None:
    """Start a background export of the log, unless one was requested before."""
    requests = company.owner.items(f"{company.path}/audit-log", type="organization.audit_export.requested")
    if not requests:
        company.owner.post(f"{company.path}/audit-log/export-async", {"format": "ndjson"})


def _invite_and_respond(
    company: Company, invitations: Iterable[Json], username: str, invitation: Json, decision: str
) -> None:
    """Invite a person, and respond to the invitation as that person.

    Only the response to the invitation's creation contains its token. So an invitation of an interrupted seed is
    replaced.
    """
    person = named(username)
    for pending in invitations:
        if _has([pending], person, "pending"):
            company.owner.delete(f"{company.path}/invitations/{pending['id']}")
    created = company.owner.post(f"{company.path}/invite", {"email": _email_address(person), **invitation})
    (token,) = parse_qs(urlsplit(created["acceptUrl"]).query)["token"]
    company.person(username).post(_ACCEPTANCE_PATH, {"token": token, "decision": decision})


def _has(invitations: Iterable[Json], person: Person, status: str) -> bool:
    return any(
        i["email"] == _email_address(person) and i["status"] == status and not i["platformId"] for i in invitations
    )


def _email_address(person: Person) -> str:
    return str(person.claims()["email"])
