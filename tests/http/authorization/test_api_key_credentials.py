import json
import logging
import zlib

import pytest

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.organizations import CreatedOrganization, create_api_key, post_api_key

WELL_FORMED_KEY = "atr_0123456789abcdefGHIJKLMNOPQRSTUV0keVQS"


class TestKeyFormat:
    def test_a_wrong_checksum_is_rejected_before_any_read(self, api, organization):
        key = create_api_key(api, organization)
        damaged = key.credential[:-1] + ("0" if key.credential[-1] != "0" else "1")
        response = api.get(organization.path, caller=damaged)
        assert response.status_and_code == "401 unauthenticated"
        assert response.calls.call_names == []

    @pytest.mark.parametrize(
        "secret",
        [
            "atr_",
            "atr_x",
            WELL_FORMED_KEY[:-1],
            WELL_FORMED_KEY + "0",
            WELL_FORMED_KEY.lower(),
            WELL_FORMED_KEY.replace("0", "ä"),
        ],
    )
    def test_a_malformed_key_is_rejected_before_any_read(self, api, secret):
        response = api.get("/organizations", headers={"Authorization": f"Bearer {secret}"})
        assert response.status_and_code == "401 unauthenticated"
        assert response.calls.call_names == []

    def test_an_unknown_well_formed_key_is_rejected(self, api):
        assert api.get("/organizations", caller=WELL_FORMED_KEY).status_and_code == "401 unauthenticated"

    def test_public_operations_reject_a_malformed_key_too(self, api):
        assert api.get("/status", caller="atr_x").status_and_code == "401 unauthenticated"

    def test_the_table_does_not_contain_the_secret(self, api, organization, ada):
        body = {"name": "k"}
        created = api.post(f"{organization.path}/api-keys", caller=ada, json=body, headers={"Idempotency-Key": "1"})
        rotated = api.post(f"{created.location}/rotate", caller=ada, headers={"Idempotency-Key": "2"})
        first_secret, second_secret = created.json["key"], rotated.json["key"]
        stored_text = json.dumps(memory_aws.all_items(), default=repr)
        for text in (first_secret, second_secret, first_secret[4:36], second_secret[4:36]):
            assert text not in stored_text
        assert api_key_format.digest_api_key(first_secret) in stored_text

    def test_the_logs_do_not_contain_the_secret(self, api, organization, caplog, capfd):
        caplog.set_level(logging.DEBUG)
        secret = post_api_key(api, organization).json["key"]
        api.get(organization.path, caller=secret)
        api.get("/organizations", caller=secret[:-1])
        printed = capfd.readouterr()
        logged = json.dumps([vars(record) for record in caplog.records], default=repr) + printed.out + printed.err
        assert "create_api_key" in logged
        assert secret[4:36] not in logged

    def test_the_checksum_is_the_crc32_of_the_preceding_characters(self, api, organization):
        secret = post_api_key(api, organization).json["key"]
        alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        value = 0
        for character in secret[-6:]:
            value = value * 62 + alphabet.index(character)
        assert value == zlib.crc32(secret[:-6].encode())


class TestEndedKeys:
    def test_an_expired_key_gets_its_own_problem_code(self, api, organization, clock):
        key = create_api_key(api, organization, expiresAt=after(now(), hours=1))
        assert api.get(organization.path, caller=key).status == 200
        clock.shift(hours=1, seconds=1)
        assert api.get(organization.path, caller=key).status_and_code == "401 api_key_expired"

    def test_a_revoked_and_expired_key_is_reported_as_revoked(self, api, organization, ada, clock):
        key = create_api_key(api, organization, expiresAt=after(now(), hours=1))
        api.delete(f"{organization.path}/api-keys/{key.id}", caller=ada)
        clock.shift(hours=2)
        assert api.get(organization.path, caller=key).status_and_code == "401 api_key_revoked"

    def test_public_operations_reject_a_revoked_key_too(self, api, organization, ada):
        key = create_api_key(api, organization)
        api.delete(f"{organization.path}/api-keys/{key.id}", caller=ada)
        assert api.get("/status", caller=key).status_and_code == "401 api_key_revoked"

    def test_unauthenticated_takes_precedence_over_not_found_and_forbidden(self, api, organization, ada):
        key = create_api_key(api, organization)
        api.delete(f"{organization.path}/api-keys/{key.id}", caller=ada)
        missing = "/organizations/01939d3c-0000-7000-8000-00000000000a"
        assert api.get(missing, caller=key).status_and_code == "401 api_key_revoked"
        assert api.post("/organizations", caller=key, json={"name": "x"}).status_and_code == "401 api_key_revoked"


class TestAllowedIps:
    @pytest.mark.parametrize("ip", ["192.0.2.1", "192.0.2.255", "2001:db8::1", "203.0.113.7", "::ffff:192.0.2.9"])
    def test_a_key_works_from_its_networks(self, api, organization, ip):
        key = create_api_key(api, organization, allowedIps=["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"])
        assert api.get(organization.path, caller=key, ip=ip).status == 200

    @pytest.mark.parametrize("ip", ["192.0.3.1", "203.0.113.8", "2001:db9::1", "::1"])
    def test_a_key_is_rejected_from_other_networks(self, api, organization, ip):
        key = create_api_key(api, organization, allowedIps=["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"])
        assert api.get(organization.path, caller=key, ip=ip).status_and_code == "403 ip_not_allowed"

    def test_forwarding_headers_of_the_client_are_ignored(self, api, organization):
        key = create_api_key(api, organization, allowedIps=["203.0.113.7"])
        headers = {"X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.7", "X-Real-IP": "203.0.113.7"}
        assert api.get(organization.path, caller=key, headers=headers).status_and_code == "403 ip_not_allowed"

    def test_a_key_without_networks_works_from_everywhere(self, api, organization):
        assert api.get(organization.path, caller=create_api_key(api, organization), ip="198.51.100.9").status == 200


OPERATIONS = {
    "organization": ("GET", ""),
    "members": ("GET", "/members"),
    "change organization": ("PATCH", ""),
    "keys": ("GET", "/api-keys"),
    "new key": ("POST", "/api-keys"),
    "log": ("GET", "/audit-log"),
    "proof": ("GET", "/audit-log/verify-integrity"),
}
BODIES = {"new key": {"name": "k", "scopes": ["organizations:read"]}, "change organization": {}}
ALLOWED_OPERATIONS = {
    "read": {"organization", "members"},
    "write": {"organization", "members"},
    "admin": set(OPERATIONS),
    "organizations:read": {"organization"},
    "organizations:write": {"organization", "change organization"},
    "members:read": {"members"},
    "members:write": {"members"},
    "api-keys:read": {"keys"},
    "audit-log:read": {"log", "proof"},
    "audit-log:write": {"log", "proof"},
    "sites:write": set(),
}


class TestScopes:
    @pytest.mark.parametrize("scope", ALLOWED_OPERATIONS)
    def test_each_scope_allows_exactly_its_operations(self, api, organization, scope):
        key = create_api_key(api, organization, scope)
        allowed = set()
        for name, (method, path) in OPERATIONS.items():
            body = BODIES.get(name)
            response = api.request(method, organization.path + path, caller=key, json=body)
            if response.status < 300:
                allowed.add(name)
            else:
                assert response.status_and_code == "403 insufficient_scope"
        assert allowed == ALLOWED_OPERATIONS[scope]

    def test_a_key_creates_keys_with_scopes_of_its_own(self, api, organization):
        key = create_api_key(api, organization, "api-keys:write")
        assert post_api_key(api, organization, "api-keys:read", caller=key).status == 201

    def test_operations_for_users_only_are_forbidden_with_every_scope(self, api, organization):
        key = create_api_key(api, organization, "admin")
        for method, path in (("POST", "/leave"), ("POST", "/transfer-ownership"), ("DELETE", "")):
            assert api.request(method, organization.path + path, caller=key, json={}).status_and_code == "403 forbidden"


class TestLastUsed:
    def get_last_used(self, api: ApiClient, organization: CreatedOrganization, key_id: str) -> object:
        return api.get(f"{organization.path}/api-keys/{key_id}", caller=organization.owner).json["lastUsedAt"]

    def test_the_last_use_is_stored_to_the_minute(self, api, organization, clock):
        key = create_api_key(api, organization)
        clock.freeze("2026-11-20T09:30:45.678Z")
        api.get(organization.path, caller=key)
        assert self.get_last_used(api, organization, key.id) == "2026-11-20T09:30:00.000Z"
        clock.shift(seconds=10)
        api.get(organization.path, caller=key)
        assert self.get_last_used(api, organization, key.id) == "2026-11-20T09:30:00.000Z"
        clock.shift(seconds=10)
        api.get(organization.path, caller=key)
        assert self.get_last_used(api, organization, key.id) == "2026-11-20T09:31:00.000Z"

    def test_the_last_use_never_goes_back(self, api, organization, clock):
        key = create_api_key(api, organization)
        clock.freeze("2026-11-20T09:30:45.678Z")
        api.get(organization.path, caller=key)
        clock.shift(minutes=-5)
        api.get(organization.path, caller=key)
        assert self.get_last_used(api, organization, key.id) == "2026-11-20T09:30:00.000Z"

    def test_storing_the_last_use_makes_no_call_within_the_request(self, api, organization):
        key = create_api_key(api, organization)
        assert api.get(organization.path, caller=key).calls.call_names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]

    def test_the_last_use_is_no_change_of_the_record(self, api, organization, ada):
        created = post_api_key(api, organization)
        api.get(organization.path, caller=created.json["key"])
        fetched = api.get(created.location, caller=ada)
        assert fetched.json["lastUsedAt"] is not None
        assert (fetched.json["version"], fetched.json["updatedAt"]) == (1, created.json["updatedAt"])
        changed = api.post(f"{created.location}/rotate", caller=ada, headers={"If-Match": created.etag})
        assert changed.status == 200

    def test_rejected_requests_do_not_count_as_use(self, api, organization):
        key = create_api_key(api, organization, allowedIps=["203.0.113.7"])
        assert api.get(organization.path, caller=key).status_and_code == "403 ip_not_allowed"
        assert self.get_last_used(api, organization, key.id) is None
