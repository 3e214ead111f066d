"""Credentials are only read from a single `Authorization` header, and ended ones grant nothing."""

import json
from typing import Final

import pytest

from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.catalogue.test_permissions import is_public
from tests.harness import callers
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import create_api_key, post_api_key
from tests.harness.parametrize_operations import parametrize_operations

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
by_protected_operation: Final = parametrize_operations(
    lambda o: (
        (o.access in (Caller.PRINCIPAL, Caller.USER, Caller.OPERATOR) or isinstance(o.access, RequireRole))
        and not is_public(o)
    )
)


def most_privileged_caller(operation: Operation, world: TenantFixture) -> callers.Caller:
    """Return a caller with the highest privileges for an operation."""
    return world.people.operator if operation.access is Caller.OPERATOR else world.people.owner


@by_protected_operation
def test_misplaced_credentials_are_ignored(operation, tenant):
    credential = most_privileged_caller(operation, tenant).credential
    anonymous_response = call_operation(operation, tenant, caller=None)
    query = {name: credential for name in QUERY_PARAMETERS if name not in ("token", "key")}
    headers = dict.fromkeys(HEADERS, f"Bearer {credential}") | {"Cookie": f"Authorization=Bearer {credential}; token=x"}
    response = call_operation(operation, tenant, caller=None, query=query, headers=headers)
    assert response.status in (401, 404)
    assert response.comparable_problem == anonymous_response.comparable_problem
    tokens = (tenant.lead.token, tenant.organization.preview_token)
    for token in tokens:
        response_to_token = call_operation(
            operation, tenant, caller=None, query={"token": token}, headers={"Lead-Token": token}
        )
        assert response_to_token.comparable_problem == anonymous_response.comparable_problem


@parametrize_operations()
def test_record_tokens_are_not_credentials(operation, tenant):
    for token in (tenant.lead.token, tenant.organization.preview_token, f"atr_{tenant.lead.token}"):
        assert call_operation(operation, tenant, caller=token).status_and_code == "401 unauthenticated"


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
    def test_other_forms_are_rejected(self, form, tenant):
        for caller in (tenant.people.owner, tenant.api_key):
            headers = {"Authorization": form.format(caller.credential)}
            assert tenant.api.get("/organizations", headers=headers).status_and_code == "401 unauthenticated"

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
    def test_bearer_scheme_is_case_insensitive(self, scheme, tenant):
        for space in (" ", "  ", "\t"):
            headers = {"Authorization": f"{scheme} {space}{tenant.people.owner.credential} "}
            assert tenant.api.get("/organizations", headers=headers).status == 200

    def test_duplicate_header_counts_once(self, tenant):
        owner, outsider = tenant.people.owner.credential, tenant.people.outsider.credential
        for first, last in ((owner, outsider), (outsider, owner)):
            headers = {"authorization": f"Bearer {first}", "Authorization": f"Bearer {last}"}
            visible_ids = {each["id"] for each in tenant.api.get("/organizations", headers=headers).json["items"]}
            assert visible_ids in ({tenant.id}, {tenant.rivals.id})


class TestApiKey:
    @pytest.mark.parametrize(
        "prefix", ["ATR_", "Atr_", "atr-", "atr", "", "sk_", "_", "atr__", "\u0430tr_", "atr_atr_"]
    )
    def test_other_prefixes_are_rejected(self, prefix, tenant):
        secret = tenant.api_key.credential.removeprefix("atr_")
        response = tenant.api.get("/organizations", headers={"Authorization": f"Bearer {prefix}{secret}"})
        assert response.status_and_code == "401 unauthenticated"
        assert response.calls.call_names == []

    def test_unknown_key_with_a_valid_checksum_is_rejected(self, tenant):
        for unknown_key in (api_key_format.generate_api_key() for _ in range(5)):
            assert tenant.api.get("/status", caller=unknown_key).status_and_code == "401 unauthenticated"

    def test_key_of_a_deleted_organization_loses_access(self, tenant, clock, workers):
        key, owner = create_api_key(tenant.api, tenant.organization, "admin"), tenant.people.owner
        assert tenant.api.get(tenant.organization.path, caller=key).status == 200
        assert tenant.api.delete(tenant.organization.path, caller=owner).status == 204
        for path in (
            tenant.organization.path,
            tenant.platform.path,
            tenant.space.path,
            f"{tenant.organization.path}/api-keys",
        ):
            assert tenant.api.get(path, caller=key).status_and_code == "404 not_found"
        assert tenant.api.get_items("/organizations", caller=key) == []
        clock.shift(days=31)
        workers.run_until_idle()
        assert tenant.api.get("/status", caller=key).status_and_code == "401 unauthenticated"

    @pytest.mark.parametrize("scope", ["api-keys:write", "api-keys:read", "write", "read"])
    def test_key_cannot_create_a_more_powerful_key(self, scope, tenant):
        key = create_api_key(tenant.api, tenant.organization, scope)
        for requested_scope in ("admin", "sites:write", "organizations:write", "audit-log:read"):
            response = post_api_key(tenant.api, tenant.organization, requested_scope, caller=key)
            assert response.status in (403, 422)
            assert response.status_and_code in ("403 insufficient_scope", "422 validation_failed")
        admin_key = create_api_key(tenant.api, tenant.organization, "admin")
        path = f"{tenant.organization.path}/api-keys/{admin_key.id}"
        assert tenant.api.post(f"{path}/rotate", caller=key).status_and_code == "403 insufficient_scope"

    def test_key_cannot_change_scopes(self, tenant):
        key = create_api_key(tenant.api, tenant.organization, "api-keys:write")
        path = f"{tenant.organization.path}/api-keys/{key.id}"
        for method in ("PATCH", "PUT"):
            response = tenant.api.request(method, path, caller=key, json={"scopes": ["admin"]})
            assert response.status_and_code == "405 method_not_allowed"
        rotated = tenant.api.post(f"{path}/rotate", caller=key, json={"scopes": ["admin"]})
        assert rotated.errors == {"/scopes": "unknown_field"}


def test_credentials_are_not_logged(tenant, configure):
    configure(log_level="DEBUG")
    user_token = tenant.people.owner.credential
    with capture_log_records() as log_records:
        for credential in (user_token, tenant.api_key.credential, user_token[:-2], f"atr_{user_token}"):
            tenant.api.get(
                "/organizations",
                caller=credential,
                query={"access_token": credential},
                headers={"User-Agent": credential},
            )
            tenant.api.get(f"/organizations/{credential[:200]}", caller=credential)
    text = json.dumps(log_records)
    assert len(log_records) == 8
    for credential in (user_token, tenant.api_key.credential):
        assert credential[:24] not in text
        assert credential[-24:] not in text
