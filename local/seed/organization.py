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

    def caller_for(self, username: str) -> Caller:
        """Return the caller with a username, inside or outside of the organization."""
        return self.service.caller_for(person_by_username(username))


def person_by_username(username: str) -> Person:
    """Return the person with a username."""
    return Person(username, full_name=NAMES[username])


def user_id(username: str) -> str:
    """Return the user id of a person."""
    return str(person_by_username(username).claims()["sub"])


def ensure_organization(service: Service) -> Company:
    """Return the organization. Create it if it is missing."""
    owner = service.caller_for(person_by_username(OWNER))
    organization = owner.find(f"/organizations/by-slug/{ORGANIZATION['slug']}") or owner.post(
        "/organizations", ORGANIZATION
    )
    return Company(service, organization["id"], f"/organizations/{organization['id']}", owner)


def ensure_members(company: Company) -> None:
    """Make people members by invitation. Leave one invitation pending and one declined."""
    invitations = company.owner.list_all(f"{company.path}/invitations")
    members = {member["userId"] for member in company.owner.list_all(f"{company.path}/members")}
    for username, invitation in MEMBERS.items():
        if user_id(username) not in members:
            _invite_and_respond(company, invitations, username, invitation, "accept")
    username, invitation = DECLINED
    if not _has(invitations, person_by_username(username), "declined"):
        _invite_and_respond(company, invitations, username, invitation, "decline")
    company.owner.find_or_create(f"{company.path}/invite", PENDING, key_field="email", existing=invitations)


def ensure_integrations(company: Company, receiver: str) -> None:
    """Create the API keys, the webhooks and the chat channel. `receiver` is the URL of the webhook receiver."""
    owner = company.owner
    for key in API_KEYS:
        owner.find_or_create(f"{company.path}/api-keys", key, key_field="name")
    for webhook in WEBHOOKS:
        url = webhook["url"].format(receiver=receiver)
        owner.find_or_create(f"{company.path}/webhooks", {**webhook, "url": url}, key_field="url")
    url = CHANNEL["config"]["webhookUrl"].format(receiver=receiver)
    owner.find_or_create(
        f"{company.path}/integration-channels", {**CHANNEL, "config": {"webhookUrl": url}}, key_field="name"
    )


def ensure_log_export(company: Company) -> None:
    """Start a background export of the log, unless one was requested before."""
    requests = company.owner.list_all(f"{company.path}/audit-log", type="organization.audit_export.requested")
    if not requests:
        company.owner.post(f"{company.path}/audit-log/export-async", {"format": "ndjson"})


def _invite_and_respond(
    company: Company, invitations: Iterable[Json], username: str, invitation: Json, decision: str
) -> None:
    """Invite a person, and respond to the invitation as that person.

    Only the response to the invitation's creation contains its token. So an invitation of an interrupted seed is
    replaced.
    """
    person = person_by_username(username)
    for pending in invitations:
        if _has([pending], person, "pending"):
            company.owner.delete(f"{company.path}/invitations/{pending['id']}")
    created = company.owner.post(f"{company.path}/invite", {"email": _email_address(person), **invitation})
    (token,) = parse_qs(urlsplit(created["acceptUrl"]).query)["token"]
    company.caller_for(username).post(_ACCEPTANCE_PATH, {"token": token, "decision": decision})


def _has(invitations: Iterable[Json], person: Person, status: str) -> bool:
    return any(
        i["email"] == _email_address(person) and i["status"] == status and not i["platformId"] for i in invitations
    )


def _email_address(person: Person) -> str:
    return str(person.claims()["email"])
