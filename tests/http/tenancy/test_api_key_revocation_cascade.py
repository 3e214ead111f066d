"""API keys made by others: they have at most their creator's bounds, and are revoked with their creator."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.api_keys.logic import key_revocation
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller, Person
from tests.harness.invitations import run_before_next_transaction
from tests.harness.organizations import CreatedOrganization, create_api_key, post_api_key

SOON, LATER = "2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"
NETWORK = "192.0.2.0/24"


def get_key(api: ApiClient, organization: CreatedOrganization, key: Caller) -> Json:
    return dict(api.get(f"{organization.api_keys_path}/{key.id}", caller=organization.owner).json)


def is_valid(api: ApiClient, organization: CreatedOrganization, key: Caller) -> bool:
    answer = api.get(organization.path, caller=key)
    assert answer.status == 200 or answer.status_and_code in ("401 api_key_revoked", "403 insufficient_scope")
    return answer.status != 401


def get_revocation_reason(
    api: ApiClient, organization: CreatedOrganization, key: Caller
) -> tuple[str, str | None] | None:
    record = get_key(api, organization, key)
    assert (record["status"] == "revoked") == (not is_valid(api, organization, key))
    return record["revokedBecause"] and (record["revokedBecause"]["reason"], record["revokedBecause"]["id"])


def set_role(
    api: ApiClient,
    organization: CreatedOrganization,
    person: Person,
    role: str,
    caller: Caller | None = None,
    **query: str,
) -> Any:
    path = f"{organization.path}/members/{person.id}"
    return api.patch(path, caller=caller or organization.owner, json={"role": role}, query=query)


def remove_member(
    api: ApiClient, organization: CreatedOrganization, person: Person, caller: Caller | None = None, **query: str
) -> Any:
    return api.delete(f"{organization.path}/members/{person.id}", caller=caller or organization.owner, query=query)


def get_last_entry(api: ApiClient, organization: CreatedOrganization) -> Json:
    return dict(list_entries(api, organization)[0])


class TestKeysMadeByAKey:
    @pytest.fixture
    def bounded_key(self, api: ApiClient, organization: CreatedOrganization) -> Caller:
        """A key that expires soon and works from few networks."""
        return create_api_key(api, organization, "api-keys:write", "read", expiresAt=SOON, allowedIps=[NETWORK])

    def test_a_key_inherits_the_bounds_of_its_creator_unless_it_has_narrower_ones(self, api, organization, bounded_key):
        default_fields: list[Json] = [{}, {"expiresAt": None, "allowedIps": []}]
        for fields in default_fields:
            key_record = post_api_key(api, organization, "read", caller=bounded_key, **fields).json
            assert (key_record["expiresAt"], key_record["allowedIps"]) == (SOON, [NETWORK])
        earlier_expiry, subnetworks = "2026-12-24T00:00:00.000Z", ["192.0.2.0/25", "192.0.2.200/32"]
        key_record = post_api_key(
            api, organization, "read", caller=bounded_key, expiresAt=earlier_expiry, allowedIps=subnetworks
        ).json
        assert (key_record["expiresAt"], key_record["allowedIps"]) == (earlier_expiry, subnetworks)

    @pytest.mark.parametrize(
        ("fields", "pointer", "bound"),
        [
            ({"expiresAt": LATER}, "/expiresAt", SOON),
            ({"allowedIps": ["192.0.0.0/16"]}, "/allowedIps", NETWORK),
            ({"allowedIps": [NETWORK, "203.0.113.7"]}, "/allowedIps", NETWORK),
            ({"allowedIps": ["::/0"]}, "/allowedIps", NETWORK),
            ({"allowedIps": ["0.0.0.0/0"]}, "/allowedIps", NETWORK),
        ],
    )
    def test_a_key_cannot_exceed_the_bounds_of_its_creator(
        self, api, organization, bounded_key, fields, pointer, bound
    ):
        answer = post_api_key(api, organization, "read", caller=bounded_key, **fields)
        assert answer.status_and_code == "403 forbidden"
        assert list(answer.errors) == [pointer]
        assert bound in answer.json["detail"]

    def test_a_network_can_span_adjacent_networks_of_the_creator(self, api, organization):
        split_key = create_api_key(api, organization, "admin", allowedIps=["192.0.2.0/25", "192.0.2.128/25"])
        assert post_api_key(api, organization, "read", caller=split_key, allowedIps=[NETWORK]).status == 201

    def test_a_key_cannot_rotate_keys_with_wider_bounds(self, api, organization, bounded_key):
        unbounded_key, expiring_key = (
            create_api_key(api, organization, "read"),
            create_api_key(api, organization, "read", expiresAt=SOON),
        )
        narrower_key = create_api_key(api, organization, "read", expiresAt=SOON, allowedIps=["192.0.2.7"])
        for key, status in ((unbounded_key, 403), (expiring_key, 403), (narrower_key, 200), (bounded_key, 200)):
            answer = api.post(
                f"{organization.api_keys_path}/{key.id}/rotate", caller=bounded_key, json={"graceHours": 24}
            )
            assert answer.status == status
        assert is_valid(api, organization, bounded_key)


class TestRevokedKeys:
    def test_revoking_a_key_revokes_all_keys_that_it_made_or_rotated(self, api, organization):
        parent = create_api_key(api, organization, "admin")
        child = create_api_key(api, organization, "admin", caller=parent)
        grandchild, other = (
            create_api_key(api, organization, "read", caller=child),
            create_api_key(api, organization, "read"),
        )
        rotated_key, unaffected_key = (
            create_api_key(api, organization, "read"),
            create_api_key(api, organization, "read"),
        )
        assert api.post(f"{organization.api_keys_path}/{rotated_key.id}/rotate", caller=child, json={}).status == 200
        assert api.delete(f"{organization.api_keys_path}/{parent.id}", caller=organization.owner).status == 204
        entry = get_last_entry(api, organization)
        assert (entry["type"], entry["target"]["id"]) == ("organization.api_key.revoked", parent.id)
        revoked_keys = [child, grandchild, rotated_key]
        assert [key["id"] for key in entry["data"]["revokedKeys"]] == [key.id for key in revoked_keys]
        assert get_revocation_reason(api, organization, child) == ("parent_revoked", parent.id)
        assert get_revocation_reason(api, organization, grandchild) in [
            ("parent_revoked", key.id) for key in (parent, child)
        ]
        assert get_revocation_reason(api, organization, rotated_key) in [
            ("parent_revoked", key.id) for key in (parent, child)
        ]
        assert get_revocation_reason(api, organization, parent) is None
        assert [is_valid(api, organization, key) for key in (parent, other, unaffected_key)] == [False, True, True]
        assert get_key(api, organization, parent)["revokedKeys"] is None

    def test_revoking_a_key_without_children_takes_one_read(self, api, organization):
        key = create_api_key(api, organization, "admin")
        api.get(organization.path, caller=organization.owner)
        answer = api.delete(f"{organization.api_keys_path}/{key.id}", caller=organization.owner)
        assert len(answer.calls.read_names) == 1

    def test_no_key_is_made_by_a_key_during_its_revocation(self, api, organization, monkeypatch):
        parent, path = create_api_key(api, organization, "admin"), f"{organization.api_keys_path}/"
        child = create_api_key(api, organization, "admin", caller=parent)
        run_before_next_transaction(monkeypatch, lambda: api.delete(path + parent.id, caller=organization.owner))
        assert post_api_key(api, organization, "read", caller=parent).status_and_code == "401 api_key_revoked"
        other = create_api_key(api, organization, "admin")
        new_keys: list[Caller] = []
        run_before_next_transaction(
            monkeypatch, lambda: new_keys.append(create_api_key(api, organization, "read", caller=other))
        )
        assert api.delete(path + other.id, caller=organization.owner).status == 204
        assert [is_valid(api, organization, key) for key in (child, *new_keys)] == [False, False]


class TestKeysOfAMember:
    @pytest.fixture
    def keys(self, api: ApiClient, organization: CreatedOrganization, grace: Person) -> dict[str, Caller]:
        """Grace's keys as an admin by scope, and `child`, which the first of them made."""
        scopes = ("admin", "write", "read", "members:read")
        keys = {scope: create_api_key(api, organization, scope, caller=grace) for scope in scopes}
        return {**keys, "child": create_api_key(api, organization, "read", caller=keys["admin"])}

    @pytest.mark.parametrize("departure", ["removed", "left"])
    def test_keys_are_revoked_when_their_creator_is_no_longer_a_member(self, api, organization, grace, keys, departure):
        others = create_api_key(api, organization, "read")
        if departure == "removed":
            assert remove_member(api, organization, grace).status == 204
        else:
            assert api.post(f"{organization.path}/leave", caller=grace).status == 204
        entry = get_last_entry(api, organization)
        assert entry["type"] == "organization.member.removed"
        assert [key["id"] for key in entry["data"]["revokedKeys"]] == [key.id for key in keys.values()]
        for name, key in keys.items():
            parent = ("parent_revoked", keys["admin"].id)
            allowed = (
                [(f"member_{departure}", grace.id), parent] if name == "child" else [(f"member_{departure}", grace.id)]
            )
            assert get_revocation_reason(api, organization, key) in allowed
        assert is_valid(api, organization, others)

    @pytest.mark.parametrize(
        ("new_role", "remaining_scopes"), [("editor", {"write", "read"}), ("member", {"read"}), ("admin", None)]
    )
    def test_keys_beyond_the_creators_new_role_are_revoked(
        self, api, organization, grace, keys, new_role, remaining_scopes
    ):
        answer = set_role(api, organization, grace, new_role)
        assert answer.status == 200
        revoked_keys = [
            key for name, key in keys.items() if remaining_scopes is not None and name not in remaining_scopes
        ]
        revoked_ids = [key["id"] for key in answer.json["revokedKeys"] or []]
        assert revoked_ids == [key.id for key in revoked_keys]
        assert [key["id"] for key in get_last_entry(api, organization)["data"]["revokedKeys"] or []] == revoked_ids
        for name, key in keys.items():
            assert is_valid(api, organization, key) == (key not in revoked_keys), name
        if new_role == "editor":
            assert get_revocation_reason(api, organization, keys["admin"]) == ("member_demoted", grace.id)
            assert [key["id"] for key in set_role(api, organization, grace, "member").json["revokedKeys"]] == [
                keys["write"].id
            ]

    def test_keys_kept_by_another_admin_are_revoked_with_that_admin(self, api, organization, grace, edith, keys):
        assert set_role(api, organization, edith, "admin").status == 200
        assert remove_member(api, organization, grace, caller=edith, keys="keep").status == 204
        assert get_last_entry(api, organization)["data"]["revokedKeys"] is None
        assert all(is_valid(api, organization, key) for key in keys.values())
        assert remove_member(api, organization, edith).status == 204
        assert not any(is_valid(api, organization, key) for key in keys.values())

    def test_neither_the_member_nor_a_key_can_keep_them(self, api, organization, grace, keys):
        key = create_api_key(api, organization, "admin")
        responses = [
            set_role(api, organization, grace, "editor", caller=grace, keys="keep"),
            remove_member(api, organization, grace, caller=grace, keys="keep"),
            remove_member(api, organization, grace, caller=key, keys="keep"),
        ]
        assert [answer.status_and_code for answer in responses] == ["403 forbidden"] * 3
        assert remove_member(api, organization, grace, keys="perhaps").errors == {"query/keys": "not_one_of"}
        assert api.post(f"{organization.path}/leave", caller=grace, query={"keys": "keep"}).status == 204
        assert not any(is_valid(api, organization, key) for key in keys.values())

    def test_keys_are_revoked_with_the_member_who_rotated_them(self, api, organization, grace):
        key = create_api_key(api, organization, "read")
        assert (
            api.post(f"{organization.api_keys_path}/{key.id}/rotate", caller=grace, json={"graceHours": 0}).status
            == 200
        )
        assert remove_member(api, organization, grace).status == 204
        assert get_revocation_reason(api, organization, replace(key)) == ("member_removed", grace.id)

    def test_no_key_is_made_during_the_removal_of_its_creator(self, api, organization, grace, monkeypatch):
        new_keys: list[Caller] = [create_api_key(api, organization, "read", caller=grace)]
        run_before_next_transaction(
            monkeypatch, lambda: new_keys.append(create_api_key(api, organization, "read", caller=grace))
        )
        assert remove_member(api, organization, grace).status == 204
        assert [is_valid(api, organization, key) for key in new_keys] == [False, False]

    def test_keys_are_revoked_by_the_erasure_of_their_creator(self, api, organization, grace, keys, workers):
        erased = api.post(f"{organization.path}/erasures", caller=organization.owner, json={"userId": grace.id})
        assert erased.status == 202
        workers.run_until_idle()
        assert get_revocation_reason(api, organization, keys["write"]) == ("person_erased", None)
        assert not any(is_valid(api, organization, key) for key in keys.values())
        item_keys = [ApiKey.make_item_key(organization_id=organization.id, id=key.id) for key in keys.values()]
        assert grace.id not in str(table.get_all(item_keys))


class TestMoreKeysThanATransactionHolds:
    def test_keys_are_rejected_at_once_and_revoked_by_a_task(self, api, organization, grace, workers, monkeypatch):
        monkeypatch.setattr(key_revocation, "MAX_KEYS_PER_TRANSACTION", 3)
        keys = [create_api_key(api, organization, "read", caller=grace) for _ in range(5)]
        parent = create_api_key(api, organization, "admin")
        children = [create_api_key(api, organization, "read", caller=parent) for _ in range(5)]
        assert remove_member(api, organization, grace).status == 204
        assert [key["id"] for key in get_last_entry(api, organization)["data"]["revokedKeys"]] == [
            key.id for key in keys
        ]
        assert api.delete(f"{organization.api_keys_path}/{parent.id}", caller=organization.owner).status == 204
        assert not any(is_valid(api, organization, key) for key in [*keys, *children])
        assert (
            api.post(organization.api_keys_path, caller=keys[-1], json={"name": "x"}).status_and_code
            == "401 api_key_revoked"
        )
        workers.run_until_idle()
        assert [get_revocation_reason(api, organization, key) for key in keys] == [("member_removed", grace.id)] * 5
        assert [get_revocation_reason(api, organization, key) for key in children] == [
            ("parent_revoked", parent.id)
        ] * 5
        assert table.get((f"O#{organization.id}", "ENDING-KEYS")) is None
        assert api.get_items(
            f"{organization.path}/audit-log", caller=organization.owner, query={"targetId": keys[4].id}
        )

    def test_a_hundred_keys_with_invitations_fit_into_one_transaction(self, api, organization, grace, workers):
        keys = [create_api_key(api, organization, "read", caller=grace) for _ in range(60)]
        for number in range(30):
            body = {"email": f"guest-{number}@example.org"}
            assert api.post(f"{organization.path}/invite", caller=grace, json=body).status == 201
        assert remove_member(api, organization, grace).status == 204
        assert not any(is_valid(api, organization, key) for key in keys)
        workers.run_until_idle()
        assert {get_key(api, organization, key)["status"] for key in keys} == {"revoked"}


class TestKeysWithoutGrantors:
    def test_older_keys_keep_their_rights_until_they_are_rotated(self, api, organization, grace):
        older_key, rotated_key = (create_api_key(api, organization, "admin", caller=grace) for _ in range(2))
        for key in (older_key, rotated_key):
            record = ApiKey.from_item(table.get(ApiKey.make_item_key(organization_id=organization.id, id=key.id)) or {})
            changes = UnitOfWork(now())
            changes.update_untracked(record, grantor_ids=None)
            changes.commit()
        child = create_api_key(api, organization, "read", caller=older_key)
        assert (
            api.post(f"{organization.api_keys_path}/{rotated_key.id}/rotate", caller=organization.owner, json={}).status
            == 200
        )
        assert remove_member(api, organization, grace).status == 204
        assert [is_valid(api, organization, key) for key in (older_key, child, rotated_key)] == [True, True, False]
        assert api.delete(f"{organization.api_keys_path}/{older_key.id}", caller=organization.owner).status == 204
        assert get_revocation_reason(api, organization, child) == ("parent_revoked", older_key.id)


def test_the_children_of_an_expired_key_expire_with_it(api, organization, clock):
    parent = create_api_key(api, organization, "admin", expiresAt=after(now(), seconds=20))
    child = create_api_key(api, organization, "read", caller=parent)
    clock.shift(seconds=21)
    assert api.get(organization.path, caller=child).status_and_code == "401 api_key_expired"
