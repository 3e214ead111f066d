"""Invitations to organizations and platforms."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.kernel.storage import table, writes
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller, Person
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform

ACCEPTANCE_PATH: Final = "/organizations/invitations/acceptance"
REVOKED_PROBLEM: Final = "410 invitation_revoked"
SOPHIE_EMAIL: Final = "sophie@example.org"


@dataclass(frozen=True)
class CreatedInvitation:
    """An invitation as the response to its creation showed it, and its path."""

    record: Json
    path: str

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def token(self) -> str:
        return token_from_link(self.record["acceptUrl"])


def token_from_link(link: str) -> str:
    (token,) = parse_qs(urlsplit(link).query)["token"]
    return token


def post_invitation(
    api: ApiClient,
    container: CreatedOrganization | CreatedPlatform,
    invitee: Person | str,
    *,
    caller: Caller | None = None,
    **fields: Any,
) -> ApiResponse:
    """Request an invitation to an organization or platform, by default as the owner, and return the response."""
    body = {"email": invitee if isinstance(invitee, str) else invitee.email, **fields}
    return api.post(f"{container.path}/invite", caller=caller or container.owner, json=body)


def create_invitation(
    api: ApiClient, container: CreatedOrganization | CreatedPlatform, invitee: Person | str, **options: Any
) -> CreatedInvitation:
    """Create an invitation with the options of `post_invitation`."""
    answer = post_invitation(api, container, invitee, **options).expect(201)
    return CreatedInvitation(answer.json, answer.location)


def resend_invitation(
    api: ApiClient, organization: CreatedOrganization, invitation: CreatedInvitation
) -> CreatedInvitation:
    """Resend an invitation, at least a minute after it was sent last, and return it."""
    answer = api.post(f"{invitation.path}/resend", caller=organization.owner).expect(200)
    return CreatedInvitation(answer.json, invitation.path)


def open_invitation(
    api: ApiClient, invitation: CreatedInvitation | str, caller: Caller | str | None = None, **query: str
) -> ApiResponse:
    """Follow the link of an invitation, which does not accept it, and return the response."""
    token = invitation if isinstance(invitation, str) else invitation.token
    return api.get(ACCEPTANCE_PATH, caller=caller, query={"token": token, **query})


def decide_on_invitation(
    api: ApiClient, invitation: CreatedInvitation | str, person: Caller | str | None, decision: str = "accept"
) -> ApiResponse:
    return open_invitation(api, invitation, person, decision=decision)


def accept_invitation(api: ApiClient, invitation: CreatedInvitation, person: Person) -> Json:
    return decide_on_invitation(api, invitation, person).expect(200).json


def decline_invitation(api: ApiClient, invitation: CreatedInvitation, person: Person) -> Json:
    return decide_on_invitation(api, invitation, person, "decline").expect(200).json


def create_accepted(api: ApiClient, organization: CreatedOrganization, person: Person) -> CreatedInvitation:
    invitation = create_invitation(api, organization, person)
    accept_invitation(api, invitation, person)
    return invitation


def create_declined(api: ApiClient, organization: CreatedOrganization, person: Person) -> CreatedInvitation:
    invitation = create_invitation(api, organization, person)
    decline_invitation(api, invitation, person)
    return invitation


def get_invitation_status(api: ApiClient, organization: CreatedOrganization, invitation: CreatedInvitation) -> str:
    return str(api.get(invitation.path, caller=organization.owner).json["status"])


def invitation_events(api: ApiClient, organization: CreatedOrganization, invitation: CreatedInvitation) -> list[str]:
    """Return the event types of an invitation, the oldest first, without the prefix of organizations' invitations."""
    entries = list_entries(api, organization, targetId=invitation.id)
    return [entry["type"].removeprefix("organization.invitation.") for entry in reversed(entries)]


def run_before_next_transaction(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Run an action immediately before the next transaction is written."""
    write = table.write_transaction

    def write_after_action(writes: list[writes.Write]) -> None:
        monkeypatch.setattr(table, "write_transaction", write)
        action()
        write(writes)

    monkeypatch.setattr(table, "write_transaction", write_after_action)


def list_invitation_ids(
    api: ApiClient, organization: CreatedOrganization, caller: Person, limit: int = 100, **query: str
) -> list[str]:
    items = api.get_items(f"{organization.path}/invitations", caller=caller, query={"limit": limit, **query})
    return [item["id"] for item in items]
