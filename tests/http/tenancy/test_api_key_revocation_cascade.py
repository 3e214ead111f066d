"""API keys made by others: they have at most their creator's bounds, and are revoked with their creator."""

from typing import Any

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.api_keys.logic import key_revocation
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.audit_logs import get_last_entry, list_entries
from tests.harness.callers import Caller
from tests.harness.invitations import (
    REVOKED_PROBLEM,
    create_invitation,
    get_invitation_status,
    open_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import (
    create_api_key,
    leave_organization,
    post_api_key,
    remove_member,
    revoke_api_key,
    rotate_api_key,
    set_role,
)

SOON, LATER = "2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"
NETWORK = "192.0.2.0/24"
BOUNDS: dict[str, Any] = {"expiresAt": SOON, "allowedIps": [NETWORK]}


def ids_of(keys):
    return [key["id"] if isinstance(key, dict) else key.id for key in keys or []]


@pytest.fixture
def is_valid(api, organization):
    """A function that returns whether a key is accepted."""

    def is_valid(key: Caller) -> bool:
        answer = api.get(organization.path, caller=key)
        assert answer.status == 200 or answer.status_and_code in ("401 api_key_revoked", "403 insufficient_scope")
        return answer.status != 401

    return is_valid


@pytest.fixture
def reason_of(api, organization, is_valid):
    """A function that returns why a key was revoked, and the id of the cause."""

    def reason_of(key: Caller) -> tuple[str, str | None] | None:
        record = api.get(organization.api_key_path(key), caller=organization.owner).json
        assert (record["status"] == "revoked") == (not is_valid(key))
        return record["revokedBecause"] and (record["revokedBecause"]["reason"], record["revokedBecause"]["id"])

    return reason_of


class TestKeysMadeByAKey:
    @pytest.fixture
    def bounded_key(self, api, organization):
        """A key that expires soon and works from few networks."""
        return create_api_key(api, organization, "api-keys:write", "read", **BOUNDS)

    def test_a_key_inherits_the_bounds_of_its_creator_or_has_narrower_ones(self, api, organization, bounded_key):
        networks, nulls = ["192.0.2.0/25", "192.0.2.200/32"], dict[str, Any](expiresAt=None, allowedIps=[])
        narrower = {"expiresAt": "2026-12-24T00:00:00.000Z", "allowedIps": networks}
        for fields, bounds in (({}, BOUNDS), (nulls, BOUNDS), (narrower, narrower)):
            record = post_api_key(api, organization, "read", caller=bounded_key, **fields).json
            assert {name: record[name] for name in BOUNDS} == bounds

    @pytest.mark.parametrize(
        ("fields", "bound"),
        [
            ({"expiresAt": LATER}, SOON),
            *[({"allowedIps": [each]}, NETWORK) for each in ("192.0.0.0/16", "::/0", "0.0.0.0/0")],
            ({"allowedIps": [NETWORK, "203.0.113.7"]}, NETWORK),
        ],
    )
    def test_a_key_cannot_exceed_the_bounds_of_its_creator(self, api, organization, bounded_key, fields, bound):
        answer = post_api_key(api, organization, "read", caller=bounded_key, **fields)
        assert [*answer.expect_problem("403 forbidden", bound).errors] == [f"/{name}" for name in fields]

    def test_a_key_cannot_rotate_keys_with_wider_bounds(self, api, organization, bounded_key, is_valid):
        for expiry in (None, SOON):
            wider_key = create_api_key(api, organization, "read", expiresAt=expiry)
            assert rotate_api_key(api, organization, wider_key, caller=bounded_key).status == 403
        narrower_key = create_api_key(api, organization, "read", expiresAt=SOON, allowedIps=["192.0.2.7"])
        for key in (narrower_key, bounded_key):
            assert rotate_api_key(api, organization, key, caller=bounded_key, graceHours=24).status == 200
        assert is_valid(bounded_key)

    def test_the_children_of_a_key_expire_with_it_and_may_span_its_adjacent_networks(self, api, organization, clock):
        bounds = {"expiresAt": after(now(), seconds=20), "allowedIps": ["192.0.2.0/25", "192.0.2.128/25"]}
        parent = create_api_key(api, organization, "admin", **bounds)
        child = create_api_key(api, organization, "read", caller=parent, allowedIps=[NETWORK])
        clock.shift(seconds=21)
        assert api.get(organization.path, caller=child).status_and_code == "401 api_key_expired"


class TestRevokedKeys:
    def test_revoking_a_key_revokes_all_keys_that_it_made_or_rotated(self, api, organization, is_valid, reason_of):
        parent = create_api_key(api, organization, "admin")
        child = create_api_key(api, organization, "admin", caller=parent)
        grandchild = create_api_key(api, organization, "read", caller=child)
        rotated_key, unaffected_key = (create_api_key(api, organization, "read") for _ in range(2))
        assert rotate_api_key(api, organization, rotated_key, caller=child).status == 200
        assert revoke_api_key(api, organization, parent).status == 204
        revoked_keys = get_last_entry(api, organization)["data"]["revokedKeys"]
        assert ids_of(revoked_keys) == ids_of([child, grandchild, rotated_key])
        assert reason_of(child) == ("parent_revoked", parent.id)
        for key in (grandchild, rotated_key):
            assert reason_of(key) in [("parent_revoked", parent.id), ("parent_revoked", child.id)]
        assert reason_of(parent) is None
        assert (is_valid(parent), is_valid(unaffected_key)) == (False, True)
        assert api.get(organization.api_key_path(parent), caller=organization.owner).json["revokedKeys"] is None

    def test_no_key_is_made_by_a_key_during_its_revocation(self, api, organization, is_valid, monkeypatch):
        parent = create_api_key(api, organization, "admin")
        child = create_api_key(api, organization, "admin", caller=parent)
        run_before_next_transaction(monkeypatch, lambda: revoke_api_key(api, organization, parent))
        assert post_api_key(api, organization, "read", caller=parent).status_and_code == "401 api_key_revoked"
        assert not is_valid(child)
        keys = [create_api_key(api, organization, "admin")]
        run_before_next_transaction(
            monkeypatch, lambda: keys.append(create_api_key(api, organization, "read", caller=keys[0]))
        )
        assert revoke_api_key(api, organization, keys[0]).status == 204
        assert [is_valid(key) for key in keys] == [False, False]


class TestKeysOfAMember:
    @pytest.fixture
    def keys(self, api, organization, grace):
        """Grace's keys as an admin by scope, and `child`, which the first of them made."""
        scopes = ("admin", "write", "read", "members:read")
        keys = {scope: create_api_key(api, organization, scope, caller=grace) for scope in scopes}
        return {**keys, "child": create_api_key(api, organization, "read", caller=keys["admin"])}

    @pytest.mark.parametrize("departure", ["removed", "left"])
    def test_keys_that_a_former_member_made_or_rotated_are_revoked(
        self, api, organization, grace, keys, departure, is_valid, reason_of
    ):
        rotated_key, other_key = (create_api_key(api, organization, "read") for _ in range(2))
        assert rotate_api_key(api, organization, rotated_key, caller=grace, graceHours=0).status == 200
        depart = remove_member if departure == "removed" else leave_organization
        assert depart(api, organization, grace).status == 204
        revoked_keys = get_last_entry(api, organization)["data"]["revokedKeys"]
        assert ids_of(revoked_keys) == ids_of([*keys.values(), rotated_key])
        reason = (f"member_{departure}", grace.id)
        assert reason_of(keys.pop("child")) in [reason, ("parent_revoked", keys["admin"].id)]
        assert {reason_of(key) for key in (*keys.values(), rotated_key)} == {reason}
        assert is_valid(other_key)

    @pytest.mark.parametrize(
        ("new_role", "revoked"),
        [
            ("admin", []),
            ("editor", ["admin", "members:read", "child"]),
            ("member", ["admin", "write", "members:read", "child"]),
        ],
    )
    def test_keys_beyond_the_creators_new_role_are_revoked(
        self, api, organization, grace, keys, new_role, revoked, is_valid, reason_of
    ):
        revoked_ids = ids_of(set_role(api, organization, grace, new_role).json["revokedKeys"])
        assert revoked_ids == [keys[name].id for name in revoked]
        assert ids_of(get_last_entry(api, organization)["data"]["revokedKeys"]) == revoked_ids
        assert [name for name, key in keys.items() if not is_valid(key)] == revoked
        if new_role == "editor":
            assert reason_of(keys["admin"]) == ("member_demoted", grace.id)
            second_answer = set_role(api, organization, grace, "member")
            assert ids_of(second_answer.json["revokedKeys"]) == [keys["write"].id]

    def test_keys_kept_by_an_admin_are_revoked_with_them(self, api, organization, grace, edith, keys, is_valid):
        assert set_role(api, organization, edith, "admin").status == 200
        assert remove_member(api, organization, grace, caller=edith, keys="keep").status == 204
        entry = get_last_entry(api, organization)
        assert (entry["target"]["type"], entry["data"]["revokedKeys"]) == ("organization.member", None)
        assert all(is_valid(key) for key in keys.values())
        assert remove_member(api, organization, edith).status == 204
        assert not any(is_valid(key) for key in keys.values())

    def test_neither_the_member_nor_a_key_can_keep_them(self, api, organization, grace, keys, is_valid):
        key = create_api_key(api, organization, "admin")
        answers = [
            set_role(api, organization, grace, "editor", caller=grace, keys="keep"),
            remove_member(api, organization, grace, caller=grace, keys="keep"),
            remove_member(api, organization, grace, caller=key, keys="keep"),
        ]
        assert [answer.status_and_code for answer in answers] == ["403 forbidden"] * 3
        assert remove_member(api, organization, grace, keys="perhaps").errors == {"query/keys": "not_one_of"}
        assert api.post(f"{organization.path}/leave", caller=grace, query={"keys": "keep"}).status == 204
        assert not any(is_valid(key) for key in keys.values())

    def test_no_key_is_made_during_the_removal_of_its_creator(self, api, organization, grace, is_valid, monkeypatch):
        keys = [create_api_key(api, organization, "read", caller=grace)]
        run_before_next_transaction(
            monkeypatch, lambda: keys.append(create_api_key(api, organization, "read", caller=grace))
        )
        assert remove_member(api, organization, grace).status == 204
        assert [is_valid(key) for key in keys] == [False, False]

    def test_erasing_their_creator_revokes_keys(self, api, organization, grace, keys, workers, is_valid, reason_of):
        api.post(f"{organization.path}/erasures", caller=organization.owner, json={"userId": grace.id}).expect(202)
        workers.run_until_idle()
        assert reason_of(keys["write"]) == ("person_erased", None)
        assert not any(is_valid(key) for key in keys.values())
        item_keys = [ApiKey.make_item_key(organization_id=organization.id, id=key.id) for key in keys.values()]
        assert grace.id not in str(table.get_all(item_keys))


def test_keys_are_rejected_before_a_task_revokes_them(
    api, organization, grace, workers, is_valid, reason_of, monkeypatch
):
    monkeypatch.setattr(key_revocation, "MAX_KEYS_PER_TRANSACTION", 3)
    keys = [create_api_key(api, organization, "read", caller=grace) for _ in range(5)]
    parent = create_api_key(api, organization, "admin")
    children = [create_api_key(api, organization, "read", caller=parent) for _ in range(5)]
    assert remove_member(api, organization, grace).status == 204
    assert ids_of(get_last_entry(api, organization)["data"]["revokedKeys"]) == ids_of(keys)
    assert revoke_api_key(api, organization, parent).status == 204
    assert not any(is_valid(key) for key in [*keys, *children])
    assert post_api_key(api, organization, caller=keys[-1]).status_and_code == "401 api_key_revoked"
    workers.run_until_idle()
    assert {reason_of(key) for key in keys} == {("member_removed", grace.id)}
    assert {reason_of(key) for key in children} == {("parent_revoked", parent.id)}
    assert table.get((f"O#{organization.id}", "ENDING-KEYS")) is None
    assert list_entries(api, organization, targetId=keys[4].id)


def test_more_keys_and_invitations_than_fit_are_revoked(api, organization, grace, run_tasks_after, is_valid):
    keys = [create_api_key(api, organization, "read", caller=grace) for _ in range(32)]
    invitations = [create_invitation(api, organization, f"{n}@example.org", caller=grace) for n in range(12)]
    assert remove_member(api, organization, grace).status == 204
    assert not any(is_valid(key) for key in keys)
    assert {open_invitation(api, each).status_and_code for each in invitations} == {REVOKED_PROBLEM}
    statuses = [get_invitation_status(api, organization, each) for each in invitations]
    assert sorted(statuses) == ["pending"] * 5 + ["revoked"] * 7
    run_tasks_after(minutes=1)
    for name in ("api-keys", "invitations"):
        listed = api.get_items(f"{organization.path}/{name}", caller=organization.owner)
        assert {record["status"] for record in listed} == {"revoked"}


def test_older_keys_keep_their_rights_until_they_are_rotated(api, organization, grace, is_valid, reason_of):
    older_key, rotated_key = (create_api_key(api, organization, "admin", caller=grace) for _ in range(2))
    for key in (older_key, rotated_key):
        record = ApiKey.from_item(table.get(ApiKey.make_item_key(organization_id=organization.id, id=key.id)) or {})
        changes = UnitOfWork(now())
        changes.update_untracked(record, grantor_ids=None)
        changes.commit()
    child = create_api_key(api, organization, "read", caller=older_key)
    assert rotate_api_key(api, organization, rotated_key).status == 200
    assert remove_member(api, organization, grace).status == 204
    assert [is_valid(key) for key in (older_key, child, rotated_key)] == [True, True, False]
    assert revoke_api_key(api, organization, older_key).status == 204
    assert reason_of(child) == ("parent_revoked", older_key.id)
