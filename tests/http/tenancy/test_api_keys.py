"""API keys: creating, using, rotating and revoking them."""

import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.writes import Write
from tests.harness import memory_aws
from tests.harness.audit_logs import get_last_entry, list_entries
from tests.harness.callers import Caller
from tests.harness.organizations import (
    create_api_key,
    create_organization,
    post_api_key,
    revoke_api_key,
    rotate_api_key,
)
from tests.harness.stored_records import load_item, set_quota_count

REVOKED = "401 api_key_revoked"
WELL_FORMED_KEY = "atr_0123456789abcdefGHIJKLMNOPQRSTUV0keVQS"
MALFORMED_KEYS = ["atr_", "atr_x", WELL_FORMED_KEY[:-1], WELL_FORMED_KEY + "0", WELL_FORMED_KEY.lower()]
MALFORMED_KEYS += [WELL_FORMED_KEY.replace("0", "ä"), WELL_FORMED_KEY[:-1] + "0"]
INVALID_VALUES = {
    "scopes": [[], ["everything"], ["members:delete"], ["audit-log:write"], "read", ["READ"]],
    "expiresAt": ["2020-01-01T00:00:00Z", "tomorrow", "2099-01-01T00:00:00", 4070908800],
    "allowedIps": [["192.0.2.1/24"], ["example.com"], ["300.0.0.1"], "192.0.2.0/24", [""], ["192.0.2.0/33"]],
    "name": [""],
}


class TestCreateApiKey:
    @pytest.mark.parametrize("fields", [{}, {"scopes": None, "expiresAt": None, "allowedIps": None}])
    def test_a_name_suffices_and_null_means_the_default(self, api, organization, ada, fields):
        answer = api.post(organization.api_keys_path, caller=ada, json={"name": "  Nightly export ", **fields})
        record = answer.json
        assert (answer.status, answer.location) == (201, f"{organization.api_keys_path}/{record['id']}")
        expected = {"name": "Nightly export", "scopes": ["read"], "status": "active", "createdBy": ada.id}
        assert record | expected | {"expiresAt": None, "allowedIps": [], "lastUsedAt": None} == record

    def test_the_secret_is_well_formed_and_shown_once_and_never_logged(self, api, organization, ada, caplog, capfd):
        caplog.set_level(logging.DEBUG)
        created = post_api_key(api, organization)
        secret = created.json["key"]
        assert re.fullmatch(r"atr_[0-9A-Za-z]{38}", secret)
        assert api_key_format.is_well_formed(secret)
        assert created.json["hint"] == f"atr_…{secret[-4:]}"
        fetched = api.get(created.location, caller=ada).json
        assert fetched == {**created.json, "key": None}
        assert api.get_items(organization.api_keys_path, caller=ada) == [fetched]
        printed = capfd.readouterr()
        logged = json.dumps([vars(record) for record in caplog.records], default=repr) + printed.out + printed.err
        assert ("create_api_key" in logged, secret[4:36] in logged) == (True, False)

    def test_all_fields_are_accepted(self, api, organization):
        networks = ["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"]
        scopes, expiry = ("members:read", "write"), "2099-01-01T01:00:00+01:00"
        record = post_api_key(api, organization, *scopes, expiresAt=expiry, allowedIps=networks).json
        normalized = {"expiresAt": "2099-01-01T00:00:00.000Z", "allowedIps": [*networks[:2], "203.0.113.7/32"]}
        assert record | normalized | {"scopes": ["members:read", "write"]} == record

    @pytest.mark.parametrize(("field", "values"), INVALID_VALUES.items())
    def test_an_invalid_field_is_rejected(self, api, organization, field, values):
        for value in values:
            answer = api.post(organization.api_keys_path, caller=organization.owner, json={"name": "k", field: value})
            assert answer.status_and_code == "422 validation_failed", value
            assert all(pointer.startswith(f"/{field}") for pointer in answer.errors), value

    def test_an_expiry_in_the_past_is_out_of_range(self, api, organization):
        for timestamp in ("2020-01-01T00:00:00Z", now()):
            (error,) = post_api_key(api, organization, expiresAt=timestamp).json["errors"]
            assert error == {"pointer": "/expiresAt", "code": "out_of_range", "detail": "must lie in the future"}

    @pytest.mark.parametrize(
        ("network", "advice"),
        [
            ("10.0.0.1/8", "must be 10.0.0.0/8 for that network, or 10.0.0.1 for one address"),
            ("2001:db8::7/32", "must be 2001:db8::/32 for that network, or 2001:db8::7 for one address"),
            ("x", "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"),
            ("10.0.0.1/33", "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"),
        ],
    )
    def test_the_error_for_an_invalid_network_suggests_a_valid_one(self, api, organization, network, advice):
        (error,) = post_api_key(api, organization, allowedIps=["192.0.2.0/24", network]).json["errors"]
        assert error == {"pointer": "/allowedIps/1", "code": "malformed", "detail": advice}

    def test_a_key_cannot_grant_scopes_that_it_lacks(self, api, organization):
        limited_key = create_api_key(api, organization, "api-keys:write", "read")
        assert post_api_key(api, organization, "read", "api-keys:read", caller=limited_key).status == 201
        for scope in ("write", "admin", "members:write"):
            post_api_key(api, organization, scope, caller=limited_key).expect_problem("403 insufficient_scope")
        admin_key = create_api_key(api, organization, "admin")
        created = post_api_key(api, organization, "admin", "sites:write", caller=admin_key)
        assert (created.status, created.json["createdBy"]) == (201, admin_key.id)


def test_keys_stay_listed_and_an_expiry_is_no_change_of_a_key(api, organization, ada, clock, workers):
    revoked_key = create_api_key(api, organization, name="c")
    expiring_key = create_api_key(api, organization, name="a", expiresAt=after(now(), hours=1))
    create_api_key(api, organization, name="b")
    revoke_api_key(api, organization, revoked_key)
    workers.run_until_idle()
    entries = list_entries(api, organization)
    clock.shift(hours=2)
    for _ in range(2):
        listed = api.get_items(organization.api_keys_path, caller=ada)
        statuses = [(key["name"], key["status"]) for key in listed]
        assert statuses == [("c", "revoked"), ("a", "expired"), ("b", "active")]
        workers.run_until_idle()
    assert list_entries(api, organization) == entries
    assert api.get(organization.api_key_path(expiring_key), caller=ada).json["version"] == 1


def test_a_revoked_key_stops_working_at_once_and_a_repetition_changes_nothing(api, organization, ada):
    key = create_api_key(api, organization, "api-keys:write", "read")
    assert api.get(organization.path, caller=key).status == 200
    assert revoke_api_key(api, organization, key, caller=key).status == 204
    assert api.get(organization.path, caller=key).status_and_code == REVOKED
    record = api.get(organization.api_key_path(key), caller=ada).json
    assert record["status"] == "revoked"
    assert revoke_api_key(api, organization, key).status == 204
    assert api.get(organization.api_key_path(key), caller=ada).json == record
    assert len(list_entries(api, organization, type="organization.api_key.revoked")) == 1


class TestRotateApiKey:
    @pytest.fixture
    def rotate(self, api, organization):
        """A function that rotates a key and returns it with its new secret."""

        def rotate(key: Caller, **body: Any) -> Caller:
            rotated = rotate_api_key(api, organization, key, **body).expect(200).json
            assert rotated["id"] == key.id
            return Caller(key.id, rotated["key"])

        return rotate

    @pytest.fixture
    def statuses_of(self, api, organization):
        return lambda *keys: [api.get(organization.path, caller=key).status for key in keys]

    def test_the_former_secret_works_for_a_day_by_default_or_until_the_revocation(
        self, api, organization, clock, rotate, statuses_of
    ):
        first = create_api_key(api, organization)
        second = rotate(first)
        third = rotate(second, graceHours=168)
        clock.shift(hours=24, minutes=-1)
        assert statuses_of(first, second, third) == [200, 200, 200]
        clock.shift(minutes=2)
        assert statuses_of(first, second, third) == [401, 200, 200]
        revoke_api_key(api, organization, third)
        codes = {api.get(organization.path, caller=key).status_and_code for key in (first, second, third)}
        assert codes == {REVOKED}

    def test_the_record_shows_when_the_former_secrets_end(self, api, organization, ada):
        expiring_key = create_api_key(api, organization, expiresAt=after(now(), hours=30))
        assert api.get(organization.api_key_path(expiring_key), caller=ada).json["formerSecretsUntil"] is None
        for grace_hours in (24, 168, 0):
            rotated = rotate_api_key(api, organization, expiring_key, graceHours=grace_hours).expect(200).json
            grace_ends_at = after(rotated["updatedAt"], hours=grace_hours)
            assert rotated["formerSecretsUntil"] == min(grace_ends_at, rotated["expiresAt"])
            record = api.get(organization.api_key_path(expiring_key), caller=ada).json
            assert record == {**rotated, "key": None}
            assert get_last_entry(api, organization)["data"] == record

    def test_a_former_secret_is_told_that_a_rotation_replaced_it(self, api, organization, clock, rotate):
        key = create_api_key(api, organization, expiresAt=after(now(), hours=30))
        rotated = rotate(key, graceHours=1)
        ended_at = api.get(organization.api_key_path(key), caller=organization.owner).json["formerSecretsUntil"]
        clock.shift(hours=1)
        detail = f"A rotation of the API key replaced this secret, which stopped working at {ended_at}. Use the secret"
        api.get(organization.path, caller=key).expect_problem(REVOKED, detail)
        unknown = "Check that it was copied completely, and that it is the latest secret of its key."
        last = rotate(rotated)
        api.get(organization.path, caller=key).expect_problem("401 unauthenticated", unknown)
        clock.shift(hours=30)
        for each in (rotated, last):
            api.get(organization.path, caller=each).expect_problem("401 api_key_expired", "Create another one.")

    def test_a_key_can_still_grant_access_after_its_former_secrets_ended_at_once(self, api, organization, rotate):
        key = rotate(create_api_key(api, organization, "admin"), graceHours=0)
        assert post_api_key(api, organization, "read", caller=key).status == 201

    def test_a_revoked_or_expired_key_cannot_be_rotated(self, api, organization, clock):
        keys = [create_api_key(api, organization, expiresAt=after(now(), hours=hours)) for hours in (1, 9)]
        revoke_api_key(api, organization, keys[1])
        clock.shift(hours=2)
        for key in keys:
            assert rotate_api_key(api, organization, key).status_and_code == "409 invalid_transition"

    def test_grace_is_0_to_168_whole_hours(self, api, organization):
        key = create_api_key(api, organization)
        for hours in (-1, 169, 1.5, "24", True):
            answer = rotate_api_key(api, organization, key, graceHours=hours)
            assert [*answer.validation_errors] == ["/graceHours"], hours

    def test_rotating_requires_every_scope_of_the_rotated_key(self, api, organization):
        scopes = [("admin",), ("api-keys:write", "read"), ("read",)]
        admin_key, limited_key, reader_key = [create_api_key(api, organization, *each) for each in scopes]
        rotate_api_key(api, organization, admin_key, caller=limited_key).expect_problem("403 insufficient_scope")
        assert rotate_api_key(api, organization, reader_key, caller=limited_key).status == 200
        assert rotate_api_key(api, organization, limited_key, caller=admin_key).status == 200

    def test_at_most_five_secrets_of_a_key_work_at_the_same_time(self, api, organization, clock, rotate, statuses_of):
        first = key = create_api_key(api, organization)
        for _ in range(4):
            key = rotate(key, graceHours=168)
        assert rotate_api_key(api, organization, key, graceHours=168).status_and_code == "409 limit_exceeded"
        assert statuses_of(first) == [200]
        rotated = rotate(key, graceHours=0)
        assert statuses_of(first, key, rotated) == [401, 401, 200]
        clock.shift(seconds=1)
        rotate(rotated, graceHours=168)

    def test_items_of_ended_secrets_are_removed(self, api, organization, clock, rotate):
        key = create_api_key(api, organization)
        for _ in range(3):
            key = rotate(key, graceHours=1)
            clock.shift(hours=2)
        rotate(key, graceHours=0)
        assert sum(item["pk"].startswith("K#") for item in memory_aws.all_items()) <= 2


def test_a_key_with_the_former_scope_to_write_the_log_reads_it_and_can_be_rotated_by_readers(api, organization):
    former = create_api_key(api, organization, "audit-log:read")
    key = ApiKey.make_item_key(organization_id=organization.id, id=former.id)
    table.write_transaction([Write("Put", key, item={**load_item(key), "scopes": ["audit-log:write"]})])
    log = f"{organization.path}/audit-log"
    assert api.get(log, caller=former).json["items"]
    assert api.get(organization.path, caller=former).status_and_code == "403 insufficient_scope"
    reader = create_api_key(api, organization, "audit-log:read", "api-keys:write")
    rotated = rotate_api_key(api, organization, former, caller=reader).expect(200).json
    assert rotated["scopes"] == ["audit-log:write"]
    assert api.get(log, caller=rotated["key"]).status == 200


class TestCredential:
    @pytest.mark.parametrize("malformed_key", MALFORMED_KEYS)
    def test_a_malformed_key_is_rejected_before_any_read(self, api, organization, malformed_key):
        for path in ("/organizations", organization.path, "/status"):
            answer = api.get(path, headers={"Authorization": f"Bearer {malformed_key}"})
            assert (answer.status_and_code, answer.calls.call_names) == ("401 unauthenticated", [])
        assert api.get("/organizations", caller=WELL_FORMED_KEY).status_and_code == "401 unauthenticated"

    def test_an_ended_key_gets_its_own_problem_code_before_any_other_problem(self, api, organization, clock):
        expiring_key, revoked_key = (
            create_api_key(api, organization, expiresAt=after(now(), hours=1)) for _ in range(2)
        )
        assert api.get(organization.path, caller=expiring_key).status == 200
        revoke_api_key(api, organization, revoked_key)
        clock.shift(hours=1, seconds=1)
        assert api.get(organization.path, caller=expiring_key).status_and_code == "401 api_key_expired"
        for path in (organization.path, "/status", "/organizations/01939d3c-0000-7000-8000-00000000000a"):
            assert api.get(path, caller=revoked_key).status_and_code == REVOKED
        assert api.post("/organizations", caller=revoked_key, json={"name": "x"}).status_and_code == REVOKED

    def test_a_key_works_only_from_its_networks_whatever_the_client_claims(self, api, organization):
        key = create_api_key(api, organization, allowedIps=["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"])
        headers = {"X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.7", "X-Real-IP": "203.0.113.7"}
        for ip in ("192.0.3.1", "203.0.113.8", "2001:db9::1", "::1"):
            answer = api.get(organization.path, caller=key, ip=ip, headers=headers)
            assert answer.status_and_code == "403 ip_not_allowed", ip
        record = api.get(organization.api_key_path(key), caller=organization.owner).json
        assert record["lastUsedAt"] is None, "a rejected request does not count as a use"
        for ip in ("192.0.2.1", "192.0.2.255", "2001:db8::1", "203.0.113.7", "::ffff:192.0.2.9"):
            assert api.get(organization.path, caller=key, ip=ip).status == 200, ip
        unlimited_key = create_api_key(api, organization)
        assert api.get(organization.path, caller=unlimited_key, ip="198.51.100.9").status == 200

    def test_the_last_use_is_stored_to_the_minute_and_never_goes_back(self, api, organization, clock):
        key = create_api_key(api, organization)
        clock.freeze("2026-11-20T09:30:45.678Z")
        for seconds, minute in ((0, 30), (10, 30), (10, 31), (-300, 31)):
            clock.shift(seconds=seconds)
            api.get(organization.path, caller=key)
            record = api.get(organization.api_key_path(key), caller=organization.owner).json
            assert record["lastUsedAt"] == f"2026-11-20T09:{minute}:00.000Z"

    def test_storing_the_last_use_is_no_change_of_the_key_and_no_call_within_the_request(self, api, organization, ada):
        created = post_api_key(api, organization)
        calls = api.get(organization.path, caller=created.json["key"]).calls
        assert calls.call_names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
        fetched = api.get(created.location, caller=ada)
        assert fetched.json["lastUsedAt"] is not None
        assert (fetched.json["version"], fetched.json["updatedAt"]) == (1, created.json["updatedAt"])
        api.post(f"{created.location}/rotate", caller=ada, headers={"If-Match": created.etag}).expect(200)


class TestQuota:
    @pytest.fixture
    def quota_of_three(self, monkeypatch):
        monkeypatch.setattr(ApiKey, "quota", replace(ApiKey.quota, limit=3))

    def test_an_organization_has_at_most_100_active_keys(self, api, organization, ada):
        create_api_key(api, organization)
        set_quota_count(ApiKey, f"O#{organization.id}", 99)
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        assert post_api_key(api, create_organization(api, ada)).status == 201

    @pytest.mark.usefixtures("quota_of_three")
    def test_a_rotation_does_not_count_and_a_repeated_revocation_frees_the_quota_once(self, api, organization):
        key, *_ = [create_api_key(api, organization) for _ in range(3)]
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        assert rotate_api_key(api, organization, key).status == 200
        for _ in range(2):
            assert revoke_api_key(api, organization, key).status == 204
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("quota_of_three")
    def test_expired_keys_do_not_count_and_their_revocation_frees_nothing(self, api, organization, run_tasks_after):
        for _ in range(2):
            create_api_key(api, organization)
        expiring_key = create_api_key(api, organization, expiresAt=after(now(), hours=1))
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        run_tasks_after(hours=2)
        assert post_api_key(api, organization).status == 201
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"
        assert revoke_api_key(api, organization, expiring_key).status == 204
        assert post_api_key(api, organization).status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("quota_of_three")
    def test_concurrent_requests_respect_the_quota(self, api, organization, ada):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda _: post_api_key(api, organization), range(6)))
        assert sorted(answer.status for answer in answers) == [201, 201, 201, 409, 409, 409]
        assert len(api.get_items(organization.api_keys_path, caller=ada)) == 3
