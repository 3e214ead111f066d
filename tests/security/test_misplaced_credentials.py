"""Credentials are only read from a single `Authorization` header, and ended ones grant nothing."""

import json
from typing import Final

import pytest

from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.outcomes import is_public
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import create_api_key, post_api_key
from tests.harness.parametrize_operations import parametrize_operations

QUERY_PARAMETERS: Final = ("access_token", "api_key", "apiKey", "Authorization", "authorization", "jwt")
HEADERS: Final = (
    *("X-Api-Key", "X-Authorization", "X-Access-Token", "X-User-Id", "X-Amz-Security-Token", "Token", "Api-Key"),
    *("Proxy-Authorization", "X-Forwarded-Authorization", "X-Original-Authorization", "X-Forwarded-User"),
)
by_protected_operation: Final = parametrize_operations(
    lambda o: (
        (o.access in (Caller.PRINCIPAL, Caller.USER, Caller.OPERATOR) or isinstance(o.access, RequireRole))
        and not is_public(o)
    )
)


@by_protected_operation
def test_misplaced_credentials_and_record_tokens_are_ignored(operation, tenant):
    caller = tenant.people.operator if operation.access is Caller.OPERATOR else tenant.people.owner
    credential = f"Bearer {caller.credential}"
    headers = dict.fromkeys(HEADERS, credential) | {"Cookie": f"Authorization={credential}; token=x"}
    headers |= {"Lead-Token": tenant.lead.token}
    query = dict.fromkeys(QUERY_PARAMETERS, caller.credential) | {"token": tenant.organization.preview_token}
    response = call_operation(operation, tenant, caller=None, query=query, headers=headers)
    assert response.status in (401, 404)
    assert response.comparable_problem == call_operation(operation, tenant, caller=None).comparable_problem


def test_other_forms_of_the_header_are_rejected(tenant):
    for form in (
        *("{0}", "Bearer{0}", "Bearer:{0}", "Bearer={0}", "Bearer {0} {0}", "Bearer {0},{0}", "Bearer {0}, Bearer {0}"),
        *('Bearer "{0}"', "Bearer token={0}", "Token {0}", "ApiKey {0}", "Basic {0}", "Digest {0}", "DPoP {0}"),
        *("Bearer\u00a0{0}", "Bearer {0}\u200b", "Bearer\x00 {0}", "Bearer %20{0}", "Bearer {0};{0}", "Bearer {0}\\n"),
    ):
        for caller in (tenant.people.owner, tenant.api_key):
            response = tenant.api.get("/organizations", headers={"Authorization": form.format(caller.credential)})
            assert response.status_and_code == "401 unauthenticated", form


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_case_insensitive(scheme, tenant):
    for space in (" ", "  ", "\t"):
        headers = {"Authorization": f"{scheme} {space}{tenant.people.owner.credential} "}
        assert tenant.api.get("/organizations", headers=headers).status == 200


def test_a_duplicate_header_counts_once(tenant):
    owner, outsider = tenant.people.owner.credential, tenant.people.outsider.credential
    for first, last in ((owner, outsider), (outsider, owner)):
        headers = {"authorization": f"Bearer {first}", "Authorization": f"Bearer {last}"}
        visible_ids = {each["id"] for each in tenant.api.get("/organizations", headers=headers).json["items"]}
        assert visible_ids in ({tenant.id}, {tenant.rivals.id})


def test_an_api_key_with_another_prefix_is_rejected_without_a_read(tenant):
    secret = tenant.api_key.credential.removeprefix("atr_")
    for prefix in ("ATR_", "Atr_", "atr-", "atr", "", "sk_", "_", "atr__", "\u0430tr_", "atr_atr_"):
        response = tenant.api.get("/organizations", headers={"Authorization": f"Bearer {prefix}{secret}"})
        assert (response.status_and_code, response.calls.call_names) == ("401 unauthenticated", []), prefix


def test_a_key_of_a_deleted_organization_loses_access(tenant, clock, workers):
    key, path = create_api_key(tenant.api, tenant.organization, "admin"), tenant.organization.path
    assert tenant.api.get(path, caller=key).status == 200
    assert tenant.api.delete(path, caller=tenant.people.owner).status == 204
    for target in (path, tenant.platform.path, tenant.space.path, f"{path}/api-keys"):
        assert tenant.api.get(target, caller=key).status_and_code == "404 not_found"
    assert tenant.api.get_items("/organizations", caller=key) == []
    clock.shift(days=31)
    workers.run_until_idle()
    assert tenant.api.get("/status", caller=key).status_and_code == "401 unauthenticated"


@pytest.mark.parametrize("scope", ["api-keys:write", "api-keys:read", "write", "read"])
def test_a_key_cannot_create_or_become_a_more_powerful_key(scope, tenant):
    key, path = create_api_key(tenant.api, tenant.organization, scope), f"{tenant.organization.path}/api-keys"
    for requested_scope in ("admin", "sites:write", "organizations:write", "audit-log:read"):
        response = post_api_key(tenant.api, tenant.organization, requested_scope, caller=key)
        assert response.status_and_code in ("403 insufficient_scope", "422 validation_failed")
    admin_key = create_api_key(tenant.api, tenant.organization, "admin")
    assert tenant.api.post(f"{path}/{admin_key.id}/rotate", caller=key).status_and_code == "403 insufficient_scope"
    body = {"scopes": ["admin"]}
    for method in ("PATCH", "PUT"):
        response = tenant.api.request(method, f"{path}/{key.id}", caller=key, json=body)
        assert response.status_and_code == "405 method_not_allowed"
    if scope == "api-keys:write":
        rotated = tenant.api.post(f"{path}/{key.id}/rotate", caller=key, json=body)
        assert rotated.errors == {"/scopes": "unknown_field"}


def test_credentials_are_not_logged(tenant, configure):
    configure(log_level="DEBUG")
    user_token = tenant.people.owner.credential
    with capture_log_records() as log_records:
        for credential in (user_token, tenant.api_key.credential, user_token[:-2], f"atr_{user_token}"):
            query, headers = {"access_token": credential}, {"User-Agent": credential}
            tenant.api.get("/organizations", caller=credential, query=query, headers=headers)
            tenant.api.get(f"/organizations/{credential[:200]}", caller=credential)
    text = json.dumps(log_records)
    assert len(log_records) == 8
    for credential in (user_token, tenant.api_key.credential):
        assert credential[:24] not in text
        assert credential[-24:] not in text
