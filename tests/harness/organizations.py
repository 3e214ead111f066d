"""Organizations, their members and their API keys."""

from dataclasses import dataclass
from typing import Any

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.permissions.roles import Role
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller, Person
from tests.harness.record_clients import CreatedRecord
from tests.harness.stored_records import create_membership


@dataclass(frozen=True)
class CreatedOrganization(CreatedRecord):
    owner: Person

    collection_path = "/organizations"

    @property
    def api_keys_path(self) -> str:
        return f"{self.path}/api-keys"

    def api_key_path(self, key: Caller) -> str:
        return f"{self.api_keys_path}/{key.id}"

    def member_path(self, person: Caller) -> str:
        return f"{self.path}/members/{person.id}"


def create_organization(api: ApiClient, owner: Person, **fields: Any) -> CreatedOrganization:
    answer = api.post("/organizations", caller=owner, json={"name": "Analytical Engines", **fields}).expect(201)
    return CreatedOrganization(answer.json, owner)


def add_organization_member(organization: CreatedOrganization, person: Person, role: Role | str) -> Member:
    """Add a member as an accepted invitation does, with a log entry, but bypassing HTTP."""
    return create_membership(organization.id, person.to_user(), role)


def roles_by_username(api: ApiClient, organization: CreatedOrganization) -> dict[str, str]:
    return {m["username"]: m["role"] for m in api.get_items(f"{organization.path}/members", caller=organization.owner)}


def create_api_key(api: ApiClient, organization: CreatedOrganization, *scopes: str, **options: Any) -> Caller:
    """Create an API key with the options of `post_api_key`."""
    record = post_api_key(api, organization, *scopes, **options).expect(201).json
    return Caller(record["id"], record["key"])


def post_api_key(
    api: ApiClient, organization: CreatedOrganization, *scopes: str, caller: Caller | None = None, **fields: Any
) -> ApiResponse:
    body = {"name": "Nightly export", "scopes": list(scopes) or ["read"], **fields}
    return api.post(f"{organization.path}/api-keys", caller=caller or organization.owner, json=body)


def revoke_api_key(
    api: ApiClient, organization: CreatedOrganization, key: Caller, *, caller: Caller | None = None
) -> ApiResponse:
    return api.delete(organization.api_key_path(key), caller=caller or organization.owner)


def rotate_api_key(
    api: ApiClient, organization: CreatedOrganization, key: Caller, *, caller: Caller | None = None, **body: Any
) -> ApiResponse:
    return api.post(f"{organization.api_key_path(key)}/rotate", caller=caller or organization.owner, json=body)


def set_role(
    api: ApiClient,
    organization: CreatedOrganization,
    person: Person,
    role: object,
    *,
    caller: Caller | None = None,
    **query: str,
) -> ApiResponse:
    path = organization.member_path(person)
    return api.patch(path, caller=caller or organization.owner, json={"role": role}, query=query)


def remove_member(
    api: ApiClient, organization: CreatedOrganization, person: Person, *, caller: Caller | None = None, **query: str
) -> ApiResponse:
    return api.delete(organization.member_path(person), caller=caller or organization.owner, query=query)


def leave_organization(api: ApiClient, organization: CreatedOrganization, person: Caller) -> ApiResponse:
    return api.post(f"{organization.path}/leave", caller=person)


def transfer_ownership(
    api: ApiClient, organization: CreatedOrganization, caller: Caller, new_owner_id: object
) -> ApiResponse:
    return api.post(f"{organization.path}/transfer-ownership", caller=caller, json={"newOwnerId": new_owner_id})
