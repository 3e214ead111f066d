"""Invitations to organizations and platforms."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.kernel.storage import table, writes
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.platforms import Running

ACCEPTANCE: Final = "/organizations/invitations/acceptance"
REVOKED: Final = "410 invitation_revoked"
SOPHIE: Final = "sophie@example.org"


@dataclass(frozen=True)
class Invited:
    """An invitation as the response to its creation showed it, and its path."""

    record: Json
    path: str

    @property
    def id(self) -> str:
        """The id of the invitation."""
        return str(self.record["id"])

    @property
    def token(self) -> str:
        """The token in its link."""
        return token_of(self.record["acceptUrl"])


def token_of(link: str) -> str:
    """Return the token in a link."""
    (token,) = parse_qs(urlsplit(link).query)["token"]
    return token


def asked_to_invite(
    api: Api, place: Founded | Running, whom: Person | str, *, as_: Caller | None = None, **fields: Any
) -> Answer:
    """Request an invitation to an organization or platform, by default as the owner, and return the response."""
    body = {"email": whom if isinstance(whom, str) else whom.email, **fields}
    return api.post(f"{place.path}/invite", as_=as_ or place.owner, json=body)


def invite(
    api: Api, place: Founded | Running, whom: Person | str, *, as_: Caller | None = None, **fields: Any
) -> Invited:
    """Create an invitation to an organization or platform, by default as the owner."""
    answer = asked_to_invite(api, place, whom, as_=as_, **fields)
    assert answer.status == 201, answer.text
    return Invited(answer.json, answer.location)


def resend(api: Api, organization: Founded, invited: Invited) -> Invited:
    """Resend an invitation, at least a minute after it was sent last, and return it."""
    answer = api.post(f"{invited.path}/resend", as_=organization.owner)
    assert answer.status == 200, answer.text
    return Invited(answer.json, invited.path)


def opens(api: Api, invited: Invited | str, as_: Caller | str | None = None, **query: str) -> Answer:
    """Follow the link of an invitation, which does not accept it, and return the response."""
    token = invited if isinstance(invited, str) else invited.token
    return api.get(ACCEPTANCE, as_=as_, query={"token": token, **query})


def decides(api: Api, invited: Invited | str, person: Caller | str | None, decision: str = "accept") -> Answer:
    """Accept or decline an invitation, and return the response."""
    return opens(api, invited, person, decision=decision)


def accepts(api: Api, invited: Invited, person: Person) -> Json:
    """Accept an invitation, and return the body of the response."""
    answer = decides(api, invited, person)
    assert answer.status == 200, answer.text
    return answer.json


def declines(api: Api, invited: Invited, person: Person) -> Json:
    """Decline an invitation, and return the body of the response."""
    answer = decides(api, invited, person, "decline")
    assert answer.status == 200, answer.text
    return answer.json


def status_of(api: Api, organization: Founded, invited: Invited) -> str:
    """Read the status of an invitation as the owner."""
    return str(api.get(invited.path, as_=organization.owner).json["status"])


def history(api: Api, organization: Founded, invited: Invited) -> list[str]:
    """Return the event types of an invitation, the oldest first, without the prefix of organizations' invitations."""
    entries = log_of(api, organization, targetId=invited.id)
    return [entry["type"].removeprefix("organization.invitation.") for entry in reversed(entries)]


def before_the_next_write(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Run an action immediately before the next transaction is written."""
    write = table.write_transaction

    def write_after_action(writes: list[writes.Write]) -> None:
        monkeypatch.setattr(table, "write_transaction", write)
        act()
        write(writes)

    monkeypatch.setattr(table, "write_transaction", write_after_action)


def listed(api: Api, organization: Founded, as_: Person, limit: int = 100, **query: str) -> list[str]:
    """List the ids of the invitations that a person sees."""
    items = api.items(f"{organization.path}/invitations", as_=as_, query={"limit": limit, **query})
    return [item["id"] for item in items]
