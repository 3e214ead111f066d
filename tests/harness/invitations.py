"""Invitations, sent and answered over HTTP."""

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
    """An invitation as whoever sent it was answered. `path`: where it is found."""

    record: Json
    path: str

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.record["id"])

    @property
    def token(self) -> str:
        """What the link holds."""
        return token_of(self.record["acceptUrl"])


def token_of(link: str) -> str:
    """Return the token that a link holds."""
    (token,) = parse_qs(urlsplit(link).query)["token"]
    return token


def asked_to_invite(
    api: Api, place: Founded | Running, whom: Person | str, *, as_: Caller | None = None, **fields: Any
) -> Answer:
    """Return the answer to the request to invite somebody to a place, made by the owner or whoever is named."""
    body = {"email": whom if isinstance(whom, str) else whom.email, **fields}
    return api.post(f"{place.path}/invite", as_=as_ or place.owner, json=body)


def invite(
    api: Api, place: Founded | Running, whom: Person | str, *, as_: Caller | None = None, **fields: Any
) -> Invited:
    """Return an invitation to a place, sent by the organization's owner or whoever is named."""
    answer = asked_to_invite(api, place, whom, as_=as_, **fields)
    assert answer.status == 201, answer.text
    return Invited(answer.json, answer.location)


def resend(api: Api, organization: Founded, invited: Invited) -> Invited:
    """Return an invitation as its next sending leaves it; the last has to be a minute ago."""
    answer = api.post(f"{invited.path}/resend", as_=organization.owner)
    assert answer.status == 200, answer.text
    return Invited(answer.json, invited.path)


def opens(api: Api, invited: Invited | str, as_: Caller | str | None = None, **query: str) -> Answer:
    """Return the answer to whoever follows the link: nobody in particular, or a person; nobody accepts by that."""
    token = invited if isinstance(invited, str) else invited.token
    return api.get(ACCEPTANCE, as_=as_, query={"token": token, **query})


def decides(api: Api, invited: Invited | str, person: Caller | str | None, decision: str = "accept") -> Answer:
    """Return the answer to somebody who accepts or declines by the link."""
    return opens(api, invited, person, decision=decision)


def accepts(api: Api, invited: Invited, person: Person) -> Json:
    """Let a person accept, and return what they are answered."""
    answer = decides(api, invited, person)
    assert answer.status == 200, answer.text
    return answer.json


def declines(api: Api, invited: Invited, person: Person) -> Json:
    """Let a person decline, and return what they are answered."""
    answer = decides(api, invited, person, "decline")
    assert answer.status == 200, answer.text
    return answer.json


def status_of(api: Api, organization: Founded, invited: Invited) -> str:
    """Return what has become of an invitation, as the owner reads it."""
    return str(api.get(invited.path, as_=organization.owner).json["status"])


def history(api: Api, organization: Founded, invited: Invited) -> list[str]:
    """Return what happened to an invitation, one thing after the other; to one to a platform, by its whole name."""
    entries = log_of(api, organization, targetId=invited.id)
    return [entry["type"].removeprefix("organization.invitation.") for entry in reversed(entries)]


def before_the_next_write(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen when the next transaction is about to be written."""
    write = table.write_transaction

    def interrupted(writes: list[writes.Write]) -> None:
        monkeypatch.setattr(table, "write_transaction", write)
        act()
        write(writes)

    monkeypatch.setattr(table, "write_transaction", interrupted)


def listed(api: Api, organization: Founded, as_: Person, limit: int = 100, **query: str) -> list[str]:
    """Return the ids of the invitations that somebody is shown."""
    items = api.items(f"{organization.path}/invitations", as_=as_, query={"limit": limit, **query})
    return [item["id"] for item in items]
