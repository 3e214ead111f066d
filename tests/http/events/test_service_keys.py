"""Service keys: creating, using, rotating and revoking them, and the operations that they may call."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.events.service_keys.entities import ServiceKey
from chalicelib.features.events.service_keys.models import MAX_LIFETIME_DAYS
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage.log_ids import system_log_id
from tests.harness import memory_aws
from tests.harness.callers import Caller
from tests.harness.service_keys import (
    PATH,
    create_service_key,
    post_service_key,
    revoke_service_key,
    rotate_service_key,
    service_key_path,
)
from tests.harness.stored_records import set_quota_count

REVOKED = "401 api_key_revoked"
INVALID_VALUES = {
    "scopes": [[], ["read"], ["admin"], ["events:delete"], ["sites:read"], "events:write"],
    "expiresAt": ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "tomorrow"],
    "allowedIps": [["192.0.2.1/24"], ["example.com"]],
    "types": [
        [],
        ["invoice"],
        ["*"],
        ["Invoice.approved"],
        ["page.*"],
        ["invoice.*.paid"],
        ["invoice."],
        ["invoice.v2"],
        ["a." + "b" * 99],
        "a.b",
    ],
    "name": [""],
}


class TestCreateServiceKey:
    def test_a_name_suffices_and_the_key_expires_in_a_year(self, api, operator):
        answer = api.post(PATH, caller=operator, json={"name": "Billing"}).expect(201)
        record = answer.json
        assert answer.location == f"{PATH}/{record['id']}"
        assert api_key_format.is_well_formed(record["key"])
        assert record["expiresAt"] == after(record["createdAt"], days=MAX_LIFETIME_DAYS)
        expected = {"scopes": ["events:write"], "types": None, "allowedIps": [], "createdBy": operator.id}
        assert record | expected | {"status": "active", "lastUsedAt": None} == record

    def test_the_secret_is_shown_once(self, api, operator):
        created = post_service_key(api, operator, "events:read", types=["invoice.*", "patient_file.opened"]).expect(201)
        assert created.json["hint"] == f"atr_…{created.json['key'][-4:]}"
        fetched = api.get(created.location, caller=operator).json
        assert fetched == {**created.json, "key": None}
        assert api.get_items(PATH, caller=operator) == [fetched]
        assert created.json["key"] not in str(memory_aws.all_items())

    @pytest.mark.parametrize(("field", "values"), INVALID_VALUES.items())
    def test_an_invalid_field_is_rejected(self, api, operator, field, values):
        for value in values:
            answer = api.post(PATH, caller=operator, json={"name": "k", field: value})
            assert answer.status_and_code == "422 validation_failed", value
            assert all(pointer.startswith(f"/{field}") for pointer in answer.errors), value

    @pytest.mark.parametrize(
        ("name", "code"), [("invoice2.*", "malformed"), ("Invoice.*", "malformed"), ("a." + "b" * 99, "too_long")]
    )
    def test_a_name_that_no_event_type_can_have_is_rejected_where_it_is(self, api, operator, name, code):
        answer = post_service_key(api, operator, types=["invoice.*", name])
        assert answer.validation_errors == {"/types/1": code}

    def test_an_expiry_after_more_than_a_year_is_out_of_range(self, api, operator):
        post_service_key(api, operator, expiresAt=after(now(), days=MAX_LIFETIME_DAYS)).expect(201)
        (error,) = post_service_key(api, operator, expiresAt=after(now(), days=366)).json["errors"]
        assert error == {"pointer": "/expiresAt", "code": "out_of_range", "detail": "must lie at most 365 days ahead"}


def test_each_change_is_logged_outside_of_organizations_without_the_secret(api, operator):
    key = create_service_key(api, operator)
    rotated = rotate_service_key(api, operator, key).expect(200).json
    revoke_service_key(api, operator, key).expect(204)
    entries = api.get_items("/system/audit-log", caller=operator, query={"targetId": key.id})
    assert [entry["type"].rpartition(".")[2] for entry in entries] == ["revoked", "rotated", "created"]
    assert {entry["type"].rpartition(".")[0] for entry in entries} == {"system.service_key"}
    assert {entry["organizationId"] for entry in entries} == {None}
    assert {entry["actor"]["type"] for entry in entries} == {"operator"}
    assert entries[1]["data"] == {**rotated, "key": None}
    assert key.credential not in str(entries)
    assert system_log_id(key.id).startswith("system-")


class TestCredential:
    def test_the_caller_sees_what_the_key_may_do(self, api, operator):
        options = {"expiresAt": after(now(), days=30), "allowedIps": ["192.0.2.0/24"]}
        key = create_service_key(api, operator, "events:read", **options)
        me = api.get("/me", caller=key).expect(200).json
        assert (me["id"], me["name"], me["isOperator"], me["organizations"]) == (key.id, "Billing", False, [])
        credential = {"type": "service_key", "scopes": ["events:read"], "createdBy": operator.id, "audiences": None}
        assert me["credential"] == {**credential, **options}

    def test_its_record_is_the_only_additional_read(self, api, operator):
        key = create_service_key(api, operator)
        assert api.get("/me", caller=key).calls.call_names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
        assert api.get("/me", caller=key).calls.call_names == ["dynamodb:BatchGetItem"]

    def test_a_revoked_key_stops_working_at_once_and_a_repetition_changes_nothing(self, api, operator):
        key = create_service_key(api, operator)
        assert api.get("/me", caller=key).status == 200
        revoke_service_key(api, operator, key).expect(204)
        api.get("/me", caller=key).expect_problem(REVOKED, "The service key was revoked.")
        record = api.get(service_key_path(key), caller=operator).json
        assert record["status"] == "revoked"
        revoke_service_key(api, operator, key).expect(204)
        assert api.get(service_key_path(key), caller=operator).json == record
        rotate_service_key(api, operator, key).expect_problem("409 invalid_transition", "The service key is revoked.")

    def test_an_expired_key_is_rejected_and_cannot_be_rotated(self, api, operator, clock):
        key = create_service_key(api, operator, expiresAt=after(now(), hours=1))
        clock.shift(hours=2)
        api.get("/me", caller=key).expect_problem("401 api_key_expired", "The service key has expired.")
        assert rotate_service_key(api, operator, key).status_and_code == "409 invalid_transition"

    def test_it_works_only_from_its_networks(self, api, operator):
        key = create_service_key(api, operator, allowedIps=["192.0.2.0/24"])
        api.get("/me", caller=key, ip="198.51.100.1").expect_problem("403 ip_not_allowed", "This service key")
        assert api.get("/me", caller=key, ip="192.0.2.9").status == 200

    def test_the_last_use_is_stored_to_the_minute_without_a_new_version(self, api, operator, clock):
        key = create_service_key(api, operator)
        clock.freeze("2026-11-29T09:30:45.678Z")
        api.get("/me", caller=key).expect(200)
        record = api.get(service_key_path(key), caller=operator).json
        assert (record["lastUsedAt"], record["version"]) == ("2026-11-29T09:30:00.000Z", 1)

    def test_requests_count_against_the_quota_of_the_key(self, api, operator, configure):
        configure(requests_per_minute="5")
        keys = [create_service_key(api, operator) for _ in range(2)]
        assert [api.get("/me", caller=keys[0]).status for _ in range(6)] == [200] * 5 + [429]
        assert api.get("/me", caller=keys[1]).status == 200

    def test_rejected_requests_are_limited_by_network(self, api, operator, configure, clock):
        clock.freeze()
        configure(network_requests_per_minute="10")
        key = create_service_key(api, operator)
        revoke_service_key(api, operator, key)
        answers = [api.get("/me", caller=key).status_and_code for _ in range(request_quota.BATCH_SIZE)]
        assert answers[0] == REVOKED
        assert answers[-1] == "429 rate_limited"


class TestRotation:
    @pytest.fixture
    def rotate(self, api, operator):
        """A function that rotates a key and returns it with its new secret."""

        def rotate(key: Caller, **body: Any) -> Caller:
            return Caller(key.id, rotate_service_key(api, operator, key, **body).expect(200).json["key"])

        return rotate

    def test_the_former_secret_works_for_the_grace_and_ends_with_the_revocation(self, api, operator, clock, rotate):
        first = create_service_key(api, operator)
        second = rotate(first, graceHours=2)
        third = rotate(second, graceHours=168)
        assert [api.get("/me", caller=key).status for key in (first, second, third)] == [200] * 3
        ended_at = api.get("/me", caller=first).json["credential"]["expiresAt"]
        clock.shift(hours=2)
        detail = f"A rotation of the service key replaced this secret, which stopped working at {ended_at}."
        api.get("/me", caller=first).expect_problem(REVOKED, detail)
        assert [api.get("/me", caller=key).status for key in (second, third)] == [200] * 2
        revoke_service_key(api, operator, third)
        assert {api.get("/me", caller=key).status_and_code for key in (first, second, third)} == {REVOKED}

    def test_without_grace_the_former_secret_ends_at_once_and_the_expiry_stays(self, api, operator, rotate):
        key = create_service_key(api, operator, expiresAt=after(now(), days=3))
        before = api.get(service_key_path(key), caller=operator).json
        rotated = rotate(key, graceHours=0)
        assert [api.get("/me", caller=each).status for each in (key, rotated)] == [401, 200]
        assert api.get(service_key_path(key), caller=operator).json["expiresAt"] == before["expiresAt"]

    def test_at_most_five_secrets_work_at_the_same_time(self, api, operator, rotate):
        key = create_service_key(api, operator)
        for _ in range(4):
            key = rotate(key, graceHours=168)
        assert rotate_service_key(api, operator, key, graceHours=168).status_and_code == "409 limit_exceeded"
        rotate(key, graceHours=0)


class TestQuota:
    def test_at_most_100_keys_are_live_and_a_revocation_makes_room(self, api, operator):
        key = create_service_key(api, operator)
        set_quota_count(ServiceKey, "SERVICE-KEYS", 100)
        assert post_service_key(api, operator).status_and_code == "409 limit_exceeded"
        revoke_service_key(api, operator, key).expect(204)
        post_service_key(api, operator).expect(201)
        assert post_service_key(api, operator).status_and_code == "409 limit_exceeded"

    def test_expired_keys_do_not_count_and_their_revocation_frees_nothing(
        self, api, operator, run_tasks_after, monkeypatch
    ):
        monkeypatch.setattr(ServiceKey, "quota", replace(ServiceKey.quota, limit=1))
        key = create_service_key(api, operator, expiresAt=after(now(), hours=1))
        assert post_service_key(api, operator).status_and_code == "409 limit_exceeded"
        run_tasks_after(hours=2)
        assert post_service_key(api, operator).status == 201
        revoke_service_key(api, operator, key).expect(204)
        assert post_service_key(api, operator).status_and_code == "409 limit_exceeded"


def test_another_operator_can_rotate_and_revoke_a_key(api, operator, issuer):
    key = create_service_key(api, operator)
    other = issuer.create_person("emmy", "Emmy Noether", groups=["operators"])
    rotate_service_key(api, other, key).expect(200)
    revoke_service_key(api, other, key).expect(204)
