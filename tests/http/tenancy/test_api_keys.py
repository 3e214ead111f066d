import re
from typing import Any

import pytest

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Caller
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization, post_api_key


class TestCreateApiKey:
    def test_a_name_suffices_and_the_default_scope_is_read(self, api, organization, ada):
        response = api.post(organization.api_keys_path, caller=ada, json={"name": "  Nightly export "})
        assert response.status == 201
        record = response.json
        assert (record["name"], record["scopes"], record["status"]) == ("Nightly export", ["read"], "active")
        assert (record["expiresAt"], record["allowedIps"], record["lastUsedAt"]) == (None, [], None)
        assert record["createdBy"] == ada.id
        assert response.location == f"{organization.api_keys_path}/{record['id']}"

    def test_null_means_the_default(self, api, organization):
        defaults = {"scopes": None, "expiresAt": None, "allowedIps": None}
        record = api.post(organization.api_keys_path, caller=organization.owner, json={"name": "k", **defaults}).json
        assert (record["scopes"], record["expiresAt"], record["allowedIps"]) == (["read"], None, [])

    def test_the_secret_is_well_formed(self, api, organization):
        record = post_api_key(api, organization).json
        assert re.fullmatch(r"atr_[0-9A-Za-z]{38}", record["key"])
        assert api_key_format.is_well_formed(record["key"])
        assert record["hint"] == f"atr_…{record['key'][-4:]}"

    def test_the_secret_is_shown_once(self, api, organization, ada):
        created = post_api_key(api, organization).json
        fetched = api.get(f"{organization.api_keys_path}/{created['id']}", caller=ada)
        assert fetched.json == {**created, "key": None}
        assert api.get_items(organization.api_keys_path, caller=ada) == [fetched.json]

    def test_all_fields_are_accepted(self, api, organization):
        fields: dict[str, Any] = {
            "expiresAt": "2099-01-01T01:00:00+01:00",
            "allowedIps": ["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"],
        }
        record = post_api_key(api, organization, "members:read", "write", **fields).json
        assert record["scopes"] == ["members:read", "write"]
        assert record["expiresAt"] == "2099-01-01T00:00:00.000Z"
        assert record["allowedIps"] == ["192.0.2.0/24", "2001:db8::/32", "203.0.113.7/32"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("scopes", []),
            ("scopes", ["everything"]),
            ("scopes", ["members:delete"]),
            ("scopes", "read"),
            ("scopes", ["READ"]),
            ("expiresAt", "2020-01-01T00:00:00Z"),
            ("expiresAt", "tomorrow"),
            ("expiresAt", "2099-01-01T00:00:00"),
            ("expiresAt", 4070908800),
            ("allowedIps", ["192.0.2.1/24"]),
            ("allowedIps", ["example.com"]),
            ("allowedIps", ["300.0.0.1"]),
            ("allowedIps", "192.0.2.0/24"),
            ("allowedIps", [""]),
            ("allowedIps", ["192.0.2.0/33"]),
            ("name", ""),
            ("key", "atr_x"),
            ("status", "active"),
        ],
    )
    def test_an_invalid_field_is_rejected(self, api, organization, field, value):
        body = {"name": "k", field: value}
        response = api.post(organization.api_keys_path, caller=organization.owner, json=body)
        assert response.status_and_code == "422 validation_failed"
        assert all(pointer.startswith(f"/{field}") for pointer in response.errors)

    def test_an_expiry_in_the_past_is_out_of_range(self, api, organization):
        for timestamp in ("2020-01-01T00:00:00Z", now()):
            response = api.post(
                organization.api_keys_path, caller=organization.owner, json={"name": "k", "expiresAt": timestamp}
            )
            assert response.errors == {"/expiresAt": "out_of_range"}
            assert response.json["errors"][0]["detail"] == "must lie in the future"

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
        body = {"name": "k", "allowedIps": ["192.0.2.0/24", network]}
        (error,) = api.post(organization.api_keys_path, caller=organization.owner, json=body).json["errors"]
        assert error == {"pointer": "/allowedIps/1", "code": "malformed", "detail": advice}

    def test_only_admins_may_create_keys(self, api, organization, grace, edith, mary, stranger):
        assert post_api_key(api, organization, caller=grace).status == 201
        for person in (edith, mary):
            assert post_api_key(api, organization, caller=person).status_and_code == "403 insufficient_role"
        assert post_api_key(api, organization, caller=stranger).status_and_code == "404 not_found"

    def test_a_key_cannot_grant_scopes_that_it_lacks(self, api, organization):
        limited_key = create_api_key(api, organization, "api-keys:write", "read")
        assert post_api_key(api, organization, "read", "api-keys:read", caller=limited_key).status == 201
        for scope in ("write", "admin", "members:write"):
            assert (
                post_api_key(api, organization, scope, caller=limited_key).status_and_code == "403 insufficient_scope"
            )
        admin_key = create_api_key(api, organization, "admin")
        assert post_api_key(api, organization, "admin", "sites:write", caller=admin_key).status == 201

    def test_the_creator_of_a_key_may_be_a_key(self, api, organization):
        admin_key = create_api_key(api, organization, "admin")
        assert post_api_key(api, organization, caller=admin_key).json["createdBy"] == admin_key.id


class TestListAndGet:
    def test_keys_are_listed_in_the_order_of_their_creation(self, api, organization, ada):
        key_ids = [post_api_key(api, organization, name=name).json["id"] for name in "cab"]
        assert [key["id"] for key in api.get_items(organization.api_keys_path, caller=ada)] == key_ids

    def test_revoked_and_expired_keys_stay_listed(self, api, organization, ada, clock, workers):
        revoked = create_api_key(api, organization)
        create_api_key(api, organization, expiresAt=after(now(), hours=1))
        create_api_key(api, organization)
        api.delete(f"{organization.api_keys_path}/{revoked.id}", caller=ada)
        clock.shift(hours=2)
        for _ in range(2):
            statuses = [key["status"] for key in api.get_items(organization.api_keys_path, caller=ada)]
            assert statuses == ["revoked", "expired", "active"]
            workers.run_until_idle()

    def test_expiry_is_no_change_of_the_record(self, api, organization, ada, clock, workers):
        key = post_api_key(api, organization, expiresAt=after(now(), hours=1)).json
        workers.run_until_idle()
        created = [e["type"] for e in api.get_items(f"{organization.path}/audit-log", caller=ada)]
        clock.shift(hours=2)
        workers.run_until_idle()
        assert [e["type"] for e in api.get_items(f"{organization.path}/audit-log", caller=ada)] == created
        assert api.get(f"{organization.api_keys_path}/{key['id']}", caller=ada).json["version"] == 1

    def test_a_key_of_another_organization_is_not_found(self, api, organization, ada):
        other_organization = create_organization(api, ada)
        key = create_api_key(api, other_organization)
        assert api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).status_and_code == "404 not_found"
        assert api.delete(f"{organization.api_keys_path}/{key.id}", caller=ada).status_and_code == "404 not_found"
        assert api.post(f"{organization.api_keys_path}/{key.id}/rotate", caller=ada).status_and_code == "404 not_found"
        assert api.get(other_organization.path, caller=key).status == 200


class TestRevokeApiKey:
    def test_a_revoked_key_stops_working_at_once(self, api, organization, ada):
        key = create_api_key(api, organization)
        assert api.get(organization.path, caller=key).status == 200
        assert api.delete(f"{organization.api_keys_path}/{key.id}", caller=ada).status == 204
        assert api.get(organization.path, caller=key).status_and_code == "401 api_key_revoked"
        assert api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).json["status"] == "revoked"

    def test_a_repeated_revocation_changes_nothing(self, api, organization, ada):
        key = create_api_key(api, organization)
        api.delete(f"{organization.api_keys_path}/{key.id}", caller=ada)
        created = api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).json
        assert api.delete(f"{organization.api_keys_path}/{key.id}", caller=ada).status == 204
        assert api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).json == created
        types = [e["type"] for e in api.get_items(f"{organization.path}/audit-log", caller=ada)]
        assert types.count("organization.api_key.revoked") == 1

    def test_a_key_may_revoke_itself(self, api, organization):
        key = create_api_key(api, organization, "api-keys:write")
        assert api.delete(f"{organization.api_keys_path}/{key.id}", caller=key).status == 204
        assert api.get(organization.api_keys_path, caller=key).status_and_code == "401 api_key_revoked"


class TestRotateApiKey:
    def rotate(self, api: ApiClient, organization: CreatedOrganization, key: Caller, **body: int) -> Caller:
        response = api.post(f"{organization.api_keys_path}/{key.id}/rotate", caller=organization.owner, json=body)
        assert response.status == 200, response.text
        return Caller(response.json["id"], response.json["key"])

    def test_the_key_keeps_its_id_and_scopes_and_gets_a_new_secret(self, api, organization, ada):
        created = post_api_key(api, organization, "write", "members:read").json
        response = api.post(f"{organization.api_keys_path}/{created['id']}/rotate", caller=ada)
        rotated = response.json
        assert (rotated["id"], rotated["scopes"], rotated["version"]) == (created["id"], created["scopes"], 2)
        assert rotated["key"] != created["key"]
        assert rotated["hint"] == f"atr_…{rotated['key'][-4:]}"
        assert api.get(f"{organization.api_keys_path}/{created['id']}", caller=ada).json == {**rotated, "key": None}

    def test_the_former_secret_works_for_a_day_by_default(self, api, organization, clock):
        former_key = create_api_key(api, organization)
        current_key = self.rotate(api, organization, former_key)
        for key in (former_key, current_key):
            assert api.get(organization.path, caller=key).status == 200
        clock.shift(hours=24, minutes=-1)
        assert api.get(organization.path, caller=former_key).status == 200
        clock.shift(minutes=2)
        assert api.get(organization.path, caller=former_key).status_and_code == "401 api_key_revoked"
        assert api.get(organization.path, caller=current_key).status == 200

    def test_without_grace_the_former_secret_stops_working_at_once(self, api, organization):
        former_key = create_api_key(api, organization)
        current_key = self.rotate(api, organization, former_key, graceHours=0)
        assert api.get(organization.path, caller=former_key).status_and_code == "401 api_key_revoked"
        assert api.get(organization.path, caller=current_key).status == 200

    def test_a_later_rotation_does_not_extend_the_grace_of_a_former_secret(self, api, organization, clock):
        first = create_api_key(api, organization)
        second = self.rotate(api, organization, first, graceHours=1)
        self.rotate(api, organization, second, graceHours=168)
        clock.shift(hours=2)
        assert api.get(organization.path, caller=first).status_and_code == "401 api_key_revoked"
        assert api.get(organization.path, caller=second).status == 200

    def test_rotating_without_grace_ends_all_former_secrets(self, api, organization):
        first = create_api_key(api, organization)
        second = self.rotate(api, organization, first, graceHours=168)
        third = self.rotate(api, organization, second, graceHours=0)
        statuses = [api.get(organization.path, caller=key).status for key in (first, second, third)]
        assert statuses == [401, 401, 200]

    def test_revoking_ends_all_secrets_of_the_key(self, api, organization, ada):
        former_key = create_api_key(api, organization)
        current_key = self.rotate(api, organization, former_key)
        api.delete(f"{organization.api_keys_path}/{current_key.id}", caller=ada)
        for key in (former_key, current_key):
            assert api.get(organization.path, caller=key).status_and_code == "401 api_key_revoked"

    def test_a_revoked_or_expired_key_cannot_be_rotated(self, api, organization, ada, clock):
        revoked, expiring = (
            create_api_key(api, organization),
            create_api_key(api, organization, expiresAt=after(now(), hours=1)),
        )
        api.delete(f"{organization.api_keys_path}/{revoked.id}", caller=ada)
        clock.shift(hours=2)
        for key in (revoked, expiring):
            response = api.post(f"{organization.api_keys_path}/{key.id}/rotate", caller=ada)
            assert response.status_and_code == "409 invalid_transition"

    @pytest.mark.parametrize("hours", [-1, 169, 1.5, "24", True])
    def test_grace_is_0_to_168_whole_hours(self, api, organization, ada, hours):
        key = create_api_key(api, organization)
        response = api.post(f"{organization.api_keys_path}/{key.id}/rotate", caller=ada, json={"graceHours": hours})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/graceHours"}

    def test_rotating_requires_every_scope_of_the_rotated_key(self, api, organization):
        admin_key, limited_key = (
            create_api_key(api, organization, "admin"),
            create_api_key(api, organization, "api-keys:write", "read"),
        )
        reader_key = create_api_key(api, organization, "read")
        assert (
            api.post(f"{organization.api_keys_path}/{admin_key.id}/rotate", caller=limited_key).status_and_code
            == "403 insufficient_scope"
        )
        assert api.post(f"{organization.api_keys_path}/{reader_key.id}/rotate", caller=limited_key).status == 200
        assert api.post(f"{organization.api_keys_path}/{limited_key.id}/rotate", caller=admin_key).status == 200

    def test_at_most_five_secrets_of_a_key_work_at_the_same_time(self, api, organization, ada, clock):
        first = key = create_api_key(api, organization)
        for _ in range(4):
            key = self.rotate(api, organization, key, graceHours=168)
        rejected = api.post(f"{organization.api_keys_path}/{key.id}/rotate", caller=ada, json={"graceHours": 168})
        assert rejected.status_and_code == "409 limit_exceeded"
        assert api.get(organization.path, caller=first).status == 200
        rotated = self.rotate(api, organization, key, graceHours=0)
        assert [api.get(organization.path, caller=k).status for k in (first, key, rotated)] == [401, 401, 200]
        clock.shift(seconds=1)
        assert self.rotate(api, organization, rotated, graceHours=168).id == first.id

    def test_items_of_ended_secrets_are_removed(self, api, organization, clock):
        key = create_api_key(api, organization)
        for _ in range(3):
            key = self.rotate(api, organization, key, graceHours=1)
            clock.shift(hours=2)
        self.rotate(api, organization, key, graceHours=0)
        assert sum(item["pk"].startswith("K#") for item in memory_aws.all_items()) <= 2
