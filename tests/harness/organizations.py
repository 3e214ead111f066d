"""Organizations, their members and their API keys."""

from dataclasses import dataclass
from typing import Any

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.permissions.roles import Role
from tests.harness.api import Answer, Api
from tests.harness.builders import Made
from tests.harness.callers import Caller, Person
from tests.harness.stored_records import join


@dataclass(frozen=True)
class Founded(Made):
    """An organization."""

    owner: Person

    listed_at = "/organizations"

    @property
    def keys(self) -> str:
        """The path of its API keys."""
        return f"{self.path}/api-keys"


def found(api: Api, owner: Person, **fields: Any) -> Founded:
    """Create an organization over HTTP."""
    answer = api.post("/organizations", as_=owner, json={"name": "Analytical Engines", **fields})
    assert answer.status == 201
    return Founded(answer.json, owner)


def joins(organization: Founded, person: Person, role: Role | str) -> Member:
    """Add a member as an accepted invitation does, with a log entry, but bypassing HTTP."""
    return join(organization.id, person.user(), role)


def make_key(api: Api, organization: Founded, *scopes: str, as_: Caller | None = None, **fields: Any) -> Caller:
    """Create an API key over HTTP, by default as the owner of the organization."""
    answer = created_key(api, organization, *scopes, as_=as_, **fields)
    assert answer.status == 201, answer.text
    return Caller(answer.json["id"], answer.json["key"])


def created_key(api: Api, organization: Founded, *scopes: str, as_: Caller | None = None, **fields: Any) -> Answer:
    """Request an API key, by default as the owner, and return the response."""
    body = {"name": "Nightly export", "scopes": list(scopes) or ["read"], **fields}
    return api.post(f"{organization.path}/api-keys", as_=as_ or organization.owner, json=body)
