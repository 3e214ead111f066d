import json
import logging

from chalicelib.kernel.core.clock import after, now
from tests.harness.organizations import create_api_key, post_api_key, revoke_api_key

WELL_FORMED_KEY = "atr_0123456789abcdefGHIJKLMNOPQRSTUV0keVQS"
MALFORMED_KEYS = [
    "atr_",
    "atr_x",
    WELL_FORMED_KEY[:-1],
    WELL_FORMED_KEY + "0",
    WELL_FORMED_KEY.lower(),
    WELL_FORMED_KEY.replace("0", "ä"),
]
UNAUTHENTICATED, REVOKED = "401 unauthenticated", "401 api_key_revoked"
NETWORKS = ["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"]


def test_a_malformed_key_is_rejected_before_any_read(api, organization):
    secret = create_api_key(api, organization).credential
    wrong_checksum = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    for malformed_key in (*MALFORMED_KEYS, wrong_checksum):
        for path in ("/organizations", organization.path, "/status"):
            answer = api.get(path, headers={"Authorization": f"Bearer {malformed_key}"})
            assert (answer.status_and_code, answer.calls.call_names) == (UNAUTHENTICATED, [])
    assert api.get("/organizations", caller=WELL_FORMED_KEY).status_and_code == UNAUTHENTICATED


def test_the_logs_do_not_contain_the_secret(api, organization, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    secret = post_api_key(api, organization).json["key"]
    api.get(organization.path, caller=secret)
    api.get("/organizations", caller=secret[:-1])
    printed = capfd.readouterr()
    logged = json.dumps([vars(record) for record in caplog.records], default=repr) + printed.out + printed.err
    assert "create_api_key" in logged
    assert secret[4:36] not in logged


def test_an_ended_key_gets_its_own_problem_code_before_any_other_problem(api, organization, clock):
    expiring_key, revoked_key = (create_api_key(api, organization, expiresAt=after(now(), hours=1)) for _ in range(2))
    assert api.get(organization.path, caller=expiring_key).status == 200
    revoke_api_key(api, organization, revoked_key)
    clock.shift(hours=1, seconds=1)
    assert api.get(organization.path, caller=expiring_key).status_and_code == "401 api_key_expired"
    for path in (organization.path, "/status", "/organizations/01939d3c-0000-7000-8000-00000000000a"):
        assert api.get(path, caller=revoked_key).status_and_code == REVOKED
    assert api.post("/organizations", caller=revoked_key, json={"name": "x"}).status_and_code == REVOKED


def test_a_key_works_only_from_its_networks(api, organization):
    key = create_api_key(api, organization, allowedIps=NETWORKS)
    for ip in ("192.0.2.1", "192.0.2.255", "2001:db8::1", "203.0.113.7", "::ffff:192.0.2.9"):
        assert api.get(organization.path, caller=key, ip=ip).status == 200, ip
    for ip in ("192.0.3.1", "203.0.113.8", "2001:db9::1", "::1"):
        assert api.get(organization.path, caller=key, ip=ip).status_and_code == "403 ip_not_allowed", ip
    unlimited_key = create_api_key(api, organization)
    assert api.get(organization.path, caller=unlimited_key, ip="198.51.100.9").status == 200


def test_forwarding_headers_of_the_client_are_ignored(api, organization):
    key = create_api_key(api, organization, allowedIps=["203.0.113.7"])
    headers = {"X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.7", "X-Real-IP": "203.0.113.7"}
    assert api.get(organization.path, caller=key, headers=headers).status_and_code == "403 ip_not_allowed"
    record = api.get(organization.api_key_path(key), caller=organization.owner).json
    assert record["lastUsedAt"] is None, "a rejected request does not count as a use"


def test_the_last_use_is_stored_to_the_minute_and_never_goes_back(api, organization, clock):
    key = create_api_key(api, organization)
    clock.freeze("2026-11-20T09:30:45.678Z")
    for seconds, minute in ((0, 30), (10, 30), (10, 31), (-300, 31)):
        clock.shift(seconds=seconds)
        api.get(organization.path, caller=key)
        record = api.get(organization.api_key_path(key), caller=organization.owner).json
        assert record["lastUsedAt"] == f"2026-11-20T09:{minute}:00.000Z"


def test_storing_the_last_use_makes_no_call_within_the_request(api, organization):
    key = create_api_key(api, organization)
    assert api.get(organization.path, caller=key).calls.call_names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]


def test_the_last_use_is_no_change_of_the_record(api, organization, ada):
    created = post_api_key(api, organization)
    api.get(organization.path, caller=created.json["key"])
    fetched = api.get(created.location, caller=ada)
    assert fetched.json["lastUsedAt"] is not None
    assert (fetched.json["version"], fetched.json["updatedAt"]) == (1, created.json["updatedAt"])
    changed = api.post(f"{created.location}/rotate", caller=ada, headers={"If-Match": created.etag})
    assert changed.status == 200
