"""API keys that others made: within what these are, and for as long as these are."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.api_keys.logic import key_revocation
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.api import Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.invitations import before_the_next_write
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, created_key, make_key
from tests.harness.workers import Workers

SOON, LATER = "2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"
HERE = "192.0.2.0/24"


def record(api: Api, organization: Founded, key: Caller) -> Json:
    return dict(api.get(f"{organization.keys}/{key.id}", as_=organization.owner).json)


def works(api: Api, organization: Founded, key: Caller) -> bool:
    answer = api.get(organization.path, as_=key)
    assert answer.status == 200 or answer.code in ("401 api_key_revoked", "403 insufficient_scope")
    return answer.status != 401


def because(api: Api, organization: Founded, key: Caller) -> tuple[str, str | None] | None:
    told = record(api, organization, key)
    assert (told["status"] == "revoked") == (not works(api, organization, key))
    return told["revokedBecause"] and (told["revokedBecause"]["reason"], told["revokedBecause"]["id"])


def role(api: Api, organization: Founded, person: Person, role: str, as_: Caller | None = None, **query: str) -> Any:
    path = f"{organization.path}/members/{person.id}"
    return api.patch(path, as_=as_ or organization.owner, json={"role": role}, query=query)


def remove(api: Api, organization: Founded, person: Person, as_: Caller | None = None, **query: str) -> Any:
    return api.delete(f"{organization.path}/members/{person.id}", as_=as_ or organization.owner, query=query)


def newest(api: Api, organization: Founded) -> Json:
    return dict(log_of(api, organization)[0])


class TestWhatAKeyMakes:
    @pytest.fixture
    def bound(self, api: Api, organization: Founded) -> Caller:
        """A key that ends soon and works from few networks."""
        return make_key(api, organization, "api-keys:write", "read", expiresAt=SOON, allowedIps=[HERE])

    def test_has_its_bounds_unless_it_is_told_narrower_ones(
        self, api: Api, organization: Founded, bound: Caller
    ) -> None:
        left_out: list[Json] = [{}, {"expiresAt": None, "allowedIps": []}]
        for fields in left_out:
            made = created_key(api, organization, "read", as_=bound, **fields).json
            assert (made["expiresAt"], made["allowedIps"]) == (SOON, [HERE])
        earlier, part = "2026-12-24T00:00:00.000Z", ["192.0.2.0/25", "192.0.2.200/32"]
        made = created_key(api, organization, "read", as_=bound, expiresAt=earlier, allowedIps=part).json
        assert (made["expiresAt"], made["allowedIps"]) == (earlier, part)

    @pytest.mark.parametrize(
        ("fields", "pointer", "told"),
        [
            ({"expiresAt": LATER}, "/expiresAt", SOON),
            ({"allowedIps": ["192.0.0.0/16"]}, "/allowedIps", HERE),
            ({"allowedIps": [HERE, "203.0.113.7"]}, "/allowedIps", HERE),
            ({"allowedIps": ["::/0"]}, "/allowedIps", HERE),
            ({"allowedIps": ["0.0.0.0/0"]}, "/allowedIps", HERE),
        ],
    )
    def test_never_goes_beyond_them(
        self, api: Api, organization: Founded, bound: Caller, fields: Json, pointer: str, told: str
    ) -> None:
        answer = created_key(api, organization, "read", as_=bound, **fields)
        assert answer.code == "403 forbidden"
        assert list(answer.faults) == [pointer]
        assert told in answer.json["detail"]

    def test_can_be_in_networks_that_lie_side_by_side(self, api: Api, organization: Founded) -> None:
        halves = make_key(api, organization, "admin", allowedIps=["192.0.2.0/25", "192.0.2.128/25"])
        assert created_key(api, organization, "read", as_=halves, allowedIps=[HERE]).status == 201

    def test_is_rotated_by_none_with_narrower_bounds(self, api: Api, organization: Founded, bound: Caller) -> None:
        free, ends = make_key(api, organization, "read"), make_key(api, organization, "read", expiresAt=SOON)
        within = make_key(api, organization, "read", expiresAt=SOON, allowedIps=["192.0.2.7"])
        for key, status in ((free, 403), (ends, 403), (within, 200), (bound, 200)):
            answer = api.post(f"{organization.keys}/{key.id}/rotate", as_=bound, json={"graceHours": 24})
            assert answer.status == status
        assert works(api, organization, bound)


class TestAKeyThatIsRevoked:
    def test_takes_with_it_all_that_it_made_and_rotated(self, api: Api, organization: Founded) -> None:
        parent = make_key(api, organization, "admin")
        child = make_key(api, organization, "admin", as_=parent)
        grandchild, other = make_key(api, organization, "read", as_=child), make_key(api, organization, "read")
        rotated, left = make_key(api, organization, "read"), make_key(api, organization, "read")
        assert api.post(f"{organization.keys}/{rotated.id}/rotate", as_=child, json={}).status == 200
        assert api.delete(f"{organization.keys}/{parent.id}", as_=organization.owner).status == 204
        entry = newest(api, organization)
        assert (entry["type"], entry["target"]["id"]) == ("organization.api_key.revoked", parent.id)
        ended = [child, grandchild, rotated]
        assert [key["id"] for key in entry["data"]["revokedKeys"]] == [key.id for key in ended]
        assert because(api, organization, child) == ("parent_revoked", parent.id)
        assert because(api, organization, grandchild) in [("parent_revoked", each.id) for each in (parent, child)]
        assert because(api, organization, rotated) in [("parent_revoked", each.id) for each in (parent, child)]
        assert because(api, organization, parent) is None
        assert [works(api, organization, key) for key in (parent, other, left)] == [False, True, True]
        assert record(api, organization, parent)["revokedKeys"] is None

    def test_that_made_none_takes_no_more_reads(self, api: Api, organization: Founded) -> None:
        key = make_key(api, organization, "admin")
        api.get(organization.path, as_=organization.owner)
        answer = api.delete(f"{organization.keys}/{key.id}", as_=organization.owner)
        assert len(answer.calls.reads) == 1

    def test_makes_none_while_it_is_revoked(
        self, api: Api, organization: Founded, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parent, path = make_key(api, organization, "admin"), f"{organization.keys}/"
        child = make_key(api, organization, "admin", as_=parent)
        before_the_next_write(monkeypatch, lambda: api.delete(path + parent.id, as_=organization.owner))
        assert created_key(api, organization, "read", as_=parent).code == "401 api_key_revoked"
        other = make_key(api, organization, "admin")
        made: list[Caller] = []
        before_the_next_write(monkeypatch, lambda: made.append(make_key(api, organization, "read", as_=other)))
        assert api.delete(path + other.id, as_=organization.owner).status == 204
        assert [works(api, organization, key) for key in (child, *made)] == [False, False]


class TestAPersonsKeys:
    @pytest.fixture
    def keys(self, api: Api, organization: Founded, grace: Person) -> dict[str, Caller]:
        """What Grace made as an admin, by their scopes, and `child`, made by the first."""
        scopes = ("admin", "write", "read", "members:read")
        keys = {scope: make_key(api, organization, scope, as_=grace) for scope in scopes}
        return {**keys, "child": make_key(api, organization, "read", as_=keys["admin"])}

    @pytest.mark.parametrize("way", ["removed", "left"])
    def test_end_when_they_are_no_member_any_more(
        self, api: Api, organization: Founded, grace: Person, keys: dict[str, Caller], way: str
    ) -> None:
        others = make_key(api, organization, "read")
        if way == "removed":
            assert remove(api, organization, grace).status == 204
        else:
            assert api.post(f"{organization.path}/leave", as_=grace).status == 204
        entry = newest(api, organization)
        assert entry["type"] == "organization.member.removed"
        assert [key["id"] for key in entry["data"]["revokedKeys"]] == [key.id for key in keys.values()]
        for name, key in keys.items():
            parent = ("parent_revoked", keys["admin"].id)
            allowed = [(f"member_{way}", grace.id), parent] if name == "child" else [(f"member_{way}", grace.id)]
            assert because(api, organization, key) in allowed
        assert works(api, organization, others)

    @pytest.mark.parametrize(("to", "left"), [("editor", {"write", "read"}), ("member", {"read"}), ("admin", None)])
    def test_end_when_they_could_not_give_them_any_more(
        self, api: Api, organization: Founded, grace: Person, keys: dict[str, Caller], to: str, left: set[str] | None
    ) -> None:
        answer = role(api, organization, grace, to)
        assert answer.status == 200
        ended = [key for name, key in keys.items() if left is not None and name not in left]
        named = [key["id"] for key in answer.json["revokedKeys"] or []]
        assert named == [key.id for key in ended]
        assert [key["id"] for key in newest(api, organization)["data"]["revokedKeys"] or []] == named
        for name, key in keys.items():
            assert works(api, organization, key) == (key not in ended), name
        if to == "editor":
            assert because(api, organization, keys["admin"]) == ("member_demoted", grace.id)
            assert [key["id"] for key in role(api, organization, grace, "member").json["revokedKeys"]] == [
                keys["write"].id
            ]

    def test_are_kept_by_another_admin_who_answers_for_them_from_then_on(
        self, api: Api, organization: Founded, grace: Person, edith: Person, keys: dict[str, Caller]
    ) -> None:
        assert role(api, organization, edith, "admin").status == 200
        assert remove(api, organization, grace, as_=edith, keys="keep").status == 204
        assert newest(api, organization)["data"]["revokedKeys"] is None
        assert all(works(api, organization, key) for key in keys.values())
        assert remove(api, organization, edith).status == 204
        assert not any(works(api, organization, key) for key in keys.values())

    def test_are_not_kept_by_themselves_nor_by_a_key(
        self, api: Api, organization: Founded, grace: Person, keys: dict[str, Caller]
    ) -> None:
        key = make_key(api, organization, "admin")
        refused = [
            role(api, organization, grace, "editor", as_=grace, keys="keep"),
            remove(api, organization, grace, as_=grace, keys="keep"),
            remove(api, organization, grace, as_=key, keys="keep"),
        ]
        assert [answer.code for answer in refused] == ["403 forbidden"] * 3
        assert remove(api, organization, grace, keys="perhaps").faults == {"query/keys": "not_one_of"}
        assert api.post(f"{organization.path}/leave", as_=grace, query={"keys": "keep"}).status == 204
        assert not any(works(api, organization, each) for each in keys.values())

    def test_end_with_who_rotated_them_too(self, api: Api, organization: Founded, grace: Person) -> None:
        key = make_key(api, organization, "read")
        assert api.post(f"{organization.keys}/{key.id}/rotate", as_=grace, json={"graceHours": 0}).status == 200
        assert remove(api, organization, grace).status == 204
        assert because(api, organization, replace(key)) == ("member_removed", grace.id)

    def test_none_is_made_while_they_are_removed(
        self, api: Api, organization: Founded, grace: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Caller] = [make_key(api, organization, "read", as_=grace)]
        before_the_next_write(monkeypatch, lambda: made.append(make_key(api, organization, "read", as_=grace)))
        assert remove(api, organization, grace).status == 204
        assert [works(api, organization, key) for key in made] == [False, False]

    def test_end_with_an_erasure(
        self, api: Api, organization: Founded, grace: Person, keys: dict[str, Caller], workers: Workers
    ) -> None:
        erased = api.post(f"{organization.path}/erasures", as_=organization.owner, json={"userId": grace.id})
        assert erased.status == 202
        workers.settle()
        assert because(api, organization, keys["write"]) == ("person_erased", None)
        assert not any(works(api, organization, key) for key in keys.values())
        stored = [ApiKey.make_item_key(organization_id=organization.id, id=key.id) for key in keys.values()]
        assert grace.id not in str(table.get_all(stored))


class TestMoreThanATransactionHolds:
    def test_are_kept_out_at_once_and_revoked_by_a_task(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(key_revocation, "MAX_KEYS_PER_TRANSACTION", 3)
        keys = [make_key(api, organization, "read", as_=grace) for _ in range(5)]
        own = make_key(api, organization, "admin")
        children = [make_key(api, organization, "read", as_=own) for _ in range(5)]
        assert remove(api, organization, grace).status == 204
        assert [key["id"] for key in newest(api, organization)["data"]["revokedKeys"]] == [key.id for key in keys]
        assert api.delete(f"{organization.keys}/{own.id}", as_=organization.owner).status == 204
        assert not any(works(api, organization, key) for key in [*keys, *children])
        assert api.post(organization.keys, as_=keys[-1], json={"name": "x"}).code == "401 api_key_revoked"
        workers.settle()
        assert [because(api, organization, key) for key in keys] == [("member_removed", grace.id)] * 5
        assert [because(api, organization, key) for key in children] == [("parent_revoked", own.id)] * 5
        assert table.get((f"O#{organization.id}", "ENDING-KEYS")) is None
        assert api.items(f"{organization.path}/audit-log", as_=organization.owner, query={"targetId": keys[4].id})

    def test_a_hundred_keys_with_invitations_fit_into_one_transaction(
        self, api: Api, organization: Founded, grace: Person, workers: Workers
    ) -> None:
        keys = [make_key(api, organization, "read", as_=grace) for _ in range(60)]
        for number in range(30):
            body = {"email": f"guest-{number}@example.org"}
            assert api.post(f"{organization.path}/invite", as_=grace, json=body).status == 201
        assert remove(api, organization, grace).status == 204
        assert not any(works(api, organization, key) for key in keys)
        workers.settle()
        assert {record(api, organization, key)["status"] for key in keys} == {"revoked"}


class TestKeysFromBefore:
    def test_keep_their_rights_until_they_are_rotated(self, api: Api, organization: Founded, grace: Person) -> None:
        former, rotated = (make_key(api, organization, "admin", as_=grace) for _ in range(2))
        for key in (former, rotated):
            stored = ApiKey.from_item(table.get(ApiKey.make_item_key(organization_id=organization.id, id=key.id)) or {})
            changes = UnitOfWork(now())
            changes.update_untracked(stored, grantor_ids=None)
            changes.commit()
        child = make_key(api, organization, "read", as_=former)
        assert api.post(f"{organization.keys}/{rotated.id}/rotate", as_=organization.owner, json={}).status == 200
        assert remove(api, organization, grace).status == 204
        assert [works(api, organization, key) for key in (former, child, rotated)] == [True, True, False]
        assert api.delete(f"{organization.keys}/{former.id}", as_=organization.owner).status == 204
        assert because(api, organization, child) == ("parent_revoked", former.id)


def test_an_expired_parent_ends_with_its_children(api: Api, organization: Founded, clock: Clock) -> None:
    parent = make_key(api, organization, "admin", expiresAt=after(now(), seconds=20))
    child = make_key(api, organization, "read", as_=parent)
    clock.shift(seconds=21)
    assert api.get(organization.path, as_=child).code == "401 api_key_expired"
