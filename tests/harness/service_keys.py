"""Service keys, the credentials of the deployment."""

from typing import Any

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller, Person

PATH = "/system/service-keys"


def create_service_key(api: ApiClient, operator: Person, *scopes: str, **fields: Any) -> Caller:
    """Create a service key with the options of `post_service_key`."""
    record = post_service_key(api, operator, *scopes, **fields).expect(201).json
    return Caller(record["id"], record["key"])


def post_service_key(api: ApiClient, operator: Person, *scopes: str, **fields: Any) -> ApiResponse:
    body = {"name": "Billing", "scopes": list(scopes) or ["events:write"], **fields}
    return api.post(PATH, caller=operator, json=body)


def service_key_path(key: Caller) -> str:
    return f"{PATH}/{key.id}"


def revoke_service_key(api: ApiClient, operator: Person, key: Caller) -> ApiResponse:
    return api.delete(service_key_path(key), caller=operator)


def rotate_service_key(api: ApiClient, operator: Person, key: Caller, **body: Any) -> ApiResponse:
    return api.post(f"{service_key_path(key)}/rotate", caller=operator, json=body)
