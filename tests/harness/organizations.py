"""An organization and its people, made the way the service makes them."""

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
        """Where its API keys are found."""
        return f"{self.path}/api-keys"


def found(api: Api, owner: Person, **fields: Any) -> Founded:
    """Let a person found an organization, over HTTP."""
    answer = api.post("/organizations", as_=owner, json={"name": "Analytical Engines", **fields})
    assert answer.status == 201
    return Founded(answer.json, owner)


def joins(organization: Founded, person: Person, role: Role | str) -> Member:
    """Let a person join an organization as an accepted invitation does: membership and entry in one transaction."""
    return join(organization.id, person.user(), role)


def make_key(api: Api, organization: Founded, *scopes: str, as_: Caller | None = None, **fields: Any) -> Caller:
    """Return an API key of an organization, made over HTTP by its owner or whoever is named."""
    answer = created_key(api, organization, *scopes, as_=as_, **fields)
    assert answer.status == 201, answer.text
    return Caller(answer.json["id"], answer.json["key"])


def created_key(api: Api, organization: Founded, *scopes: str, as_: Caller | None = None, **fields: Any) -> Answer:
    """Return the answer to the request for an API key."""
    body = {"name": "Nightly export", "scopes": list(scopes) or ["read"], **fields}
    return api.post(f"{organization.path}/api-keys", as_=as_ or organization.owner, json=body)
