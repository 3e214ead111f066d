"""Credentials are only read from a single `Authorization` header, and ended ones grant nothing."""

import json
from typing import Final

import pytest

from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import perform
from tests.catalogue.tenant_fixture import World
from tests.catalogue.test_permissions import is_shown
from tests.conftest import Configure
from tests.harness import callers
from tests.harness.by_operation import by_operation
from tests.harness.clock import Clock
from tests.harness.log_lines import written
from tests.harness.organizations import created_key, make_key
from tests.harness.workers import Workers

QUERY_PARAMETERS: Final = ("access_token", "api_key", "apiKey", "key", "token", "Authorization", "authorization", "jwt")
HEADERS: Final = (
    "X-Api-Key",
    "X-Authorization",
    "X-Access-Token",
    "Proxy-Authorization",
    "X-Forwarded-Authorization",
    "X-User-Id",
    "X-Amz-Security-Token",
    "X-Original-Authorization",
    "X-Forwarded-User",
    "Token",
    "Api-Key",
)
by_protected_operation: Final = by_operation(
    lambda o: (
        (o.access in (Caller.PRINCIPAL, Caller.USER, Caller.OPERATOR) or isinstance(o.access, RequireRole))
        and not is_shown(o)
    )
)


def most_privileged_caller(operation: Operation, world: World) -> callers.Caller:
    """Return a caller with the highest privileges for an operation."""
    return world.people.operator if operation.access is Caller.OPERATOR else world.people.owner


@by_protected_operation
def test_misplaced_credentials_are_ignored(operation: Operation, world: World) -> None:
    credential = most_privileged_caller(operation, world).credential
    anonymous_response = perform(operation, world, as_=None)
    query = {name: credential for name in QUERY_PARAMETERS if name not in ("token", "key")}
    headers = dict.fromkeys(HEADERS, f"Bearer {credential}") | {"Cookie": f"Authorization=Bearer {credential}; token=x"}
    response = perform(operation, world, as_=None, query=query, headers=headers)
    assert response.status in (401, 404)
    assert response.refusal == anonymous_response.refusal
    tokens = (world.lead.token, world.organization.preview_token)
    for token in tokens:
        response_to_token = perform(operation, world, as_=None, query={"token": token}, headers={"Lead-Token": token})
        assert response_to_token.refusal == anonymous_response.refusal


@by_operation()
def test_record_tokens_are_not_credentials(operation: Operation, world: World) -> None:
    for token in (world.lead.token, world.organization.preview_token, f"atr_{world.lead.token}"):
        assert perform(operation, world, as_=token).code == "401 unauthenticated"


class TestAuthorizationHeader:
    @pytest.mark.parametrize(
        "form",
        [
            "{0}",
            "Bearer{0}",
            "Bearer:{0}",
            "Bearer={0}",
            "Bearer {0} {0}",
            "Bearer {0},{0}",
            "Bearer {0}, Bearer {0}",
            'Bearer "{0}"',
            "Bearer token={0}",
            "Token {0}",
            "ApiKey {0}",
            "Basic {0}",
            "Digest {0}",
            "DPoP {0}",
            "Bearer\u00a0{0}",
            "Bearer {0}\u200b",
            "Bearer\x00 {0}",
            "Bearer %20{0}",
            "Bearer {0};{0}",
            "Bearer {0}\\n",
        ],
    )
    def test_other_forms_are_rejected(self, form: str, world: World) -> None:
        for caller in (world.people.owner, world.api_key):
            headers = {"Authorization": form.format(caller.credential)}
            assert world.api.get("/organizations", headers=headers).code == "401 unauthenticated"

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
    def test_bearer_scheme_is_case_insensitive(self, scheme: str, world: World) -> None:
        for space in (" ", "  ", "\t"):
            headers = {"Authorization": f"{scheme} {space}{world.people.owner.credential} "}
            assert world.api.get("/organizations", headers=headers).status == 200

    def test_duplicate_header_counts_once(self, world: World) -> None:
        owner, outsider = world.people.owner.credential, world.people.outsider.credential
        for first, last in ((owner, outsider), (outsider, owner)):
            headers = {"authorization": f"Bearer {first}", "Authorization": f"Bearer {last}"}
            visible_ids = {each["id"] for each in world.api.get("/organizations", headers=headers).json["items"]}
            assert visible_ids in ({world.id}, {world.rivals.id})


class TestApiKey:
    @pytest.mark.parametrize(
        "prefix", ["ATR_", "Atr_", "atr-", "atr", "", "sk_", "_", "atr__", "\u0430tr_", "atr_atr_"]
    )
    def test_other_prefixes_are_rejected(self, prefix: str, world: World) -> None:
        secret = world.api_key.credential.removeprefix("atr_")
        response = world.api.get("/organizations", headers={"Authorization": f"Bearer {prefix}{secret}"})
        assert response.code == "401 unauthenticated"
        assert response.calls.names == []

    def test_unknown_key_with_a_valid_checksum_is_rejected(self, world: World) -> None:
        for unknown_key in (api_key_format.generate_api_key() for _ in range(5)):
            assert world.api.get("/status", as_=unknown_key).code == "401 unauthenticated"

    def test_key_of_a_deleted_organization_loses_access(self, world: World, clock: Clock, workers: Workers) -> None:
        key, owner = make_key(world.api, world.organization, "admin"), world.people.owner
        assert world.api.get(world.organization.path, as_=key).status == 200
        assert world.api.delete(world.organization.path, as_=owner).status == 204
        for path in (
            world.organization.path,
            world.platform.path,
            world.space.path,
            f"{world.organization.path}/api-keys",
        ):
            assert world.api.get(path, as_=key).code == "404 not_found"
        assert world.api.items("/organizations", as_=key) == []
        clock.shift(days=31)
        workers.settle()
        assert world.api.get("/status", as_=key).code == "401 unauthenticated"

    @pytest.mark.parametrize("scope", ["api-keys:write", "api-keys:read", "write", "read"])
    def test_key_cannot_create_a_more_powerful_key(self, scope: str, world: World) -> None:
        key = make_key(world.api, world.organization, scope)
        for requested_scope in ("admin", "sites:write", "organizations:write", "audit-log:read"):
            response = created_key(world.api, world.organization, requested_scope, as_=key)
            assert response.status in (403, 422)
            assert response.code in ("403 insufficient_scope", "422 validation_failed")
        admin_key = make_key(world.api, world.organization, "admin")
        path = f"{world.organization.path}/api-keys/{admin_key.id}"
        assert world.api.post(f"{path}/rotate", as_=key).code == "403 insufficient_scope"

    def test_key_cannot_change_scopes(self, world: World) -> None:
        key = make_key(world.api, world.organization, "api-keys:write")
        path = f"{world.organization.path}/api-keys/{key.id}"
        for method in ("PATCH", "PUT"):
            response = world.api.request(method, path, as_=key, json={"scopes": ["admin"]})
            assert response.code == "405 method_not_allowed"
        rotated = world.api.post(f"{path}/rotate", as_=key, json={"scopes": ["admin"]})
        assert rotated.faults == {"/scopes": "unknown_field"}


def test_credentials_are_not_logged(world: World, configure: Configure) -> None:
    configure(log_level="DEBUG")
    user_token = world.people.owner.credential
    with written() as log_records:
        for credential in (user_token, world.api_key.credential, user_token[:-2], f"atr_{user_token}"):
            world.api.get(
                "/organizations", as_=credential, query={"access_token": credential}, headers={"User-Agent": credential}
            )
            world.api.get(f"/organizations/{credential[:200]}", as_=credential)
    text = json.dumps(log_records)
    assert len(log_records) == 8
    for credential in (user_token, world.api_key.credential):
        assert credential[:24] not in text
        assert credential[-24:] not in text
