import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, created_key, found, make_key
from tests.harness.workers import Workers


class TestCreateApiKey:
    def test_a_name_is_enough_and_it_may_read(self, api: Api, organization: Founded, ada: Person) -> None:
        answer = api.post(organization.keys, as_=ada, json={"name": "  Nightly export "})
        assert answer.status == 201
        record = answer.json
        assert (record["name"], record["scopes"], record["status"]) == ("Nightly export", ["read"], "active")
        assert (record["expiresAt"], record["allowedIps"], record["lastUsedAt"]) == (None, [], None)
        assert record["createdBy"] == ada.id
        assert answer.location == f"{organization.keys}/{record['id']}"

    def test_null_is_what_was_left_out(self, api: Api, organization: Founded) -> None:
        nothing = {"scopes": None, "expiresAt": None, "allowedIps": None}
        record = api.post(organization.keys, as_=organization.owner, json={"name": "k", **nothing}).json
        assert (record["scopes"], record["expiresAt"], record["allowedIps"]) == (["read"], None, [])

    def test_the_secret_is_of_the_form_that_can_be_checked_at_sight(self, api: Api, organization: Founded) -> None:
        record = created_key(api, organization).json
        assert re.fullmatch(r"atr_[0-9A-Za-z]{38}", record["key"])
        assert api_key_format.is_well_formed(record["key"])
        assert record["hint"] == f"atr_…{record['key'][-4:]}"

    def test_the_secret_is_shown_once(self, api: Api, organization: Founded, ada: Person) -> None:
        created = created_key(api, organization).json
        read = api.get(f"{organization.keys}/{created['id']}", as_=ada)
        assert read.json == {**created, "key": None}
        assert api.items(organization.keys, as_=ada) == [read.json]

    def test_everything_listed_is_accepted(self, api: Api, organization: Founded) -> None:
        fields: dict[str, Any] = {
            "expiresAt": "2099-01-01T01:00:00+01:00",
            "allowedIps": ["192.0.2.0/24", "2001:db8::/32", "203.0.113.7"],
        }
        record = created_key(api, organization, "members:read", "write", **fields).json
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
    def test_what_makes_no_sense_is_refused(self, api: Api, organization: Founded, field: str, value: object) -> None:
        body = {"name": "k", field: value}
        answer = api.post(organization.keys, as_=organization.owner, json=body)
        assert answer.code == "422 validation_failed"
        assert all(pointer.startswith(f"/{field}") for pointer in answer.faults)

    def test_what_has_expired_by_then_is_well_formed_and_out_of_range(self, api: Api, organization: Founded) -> None:
        for moment in ("2020-01-01T00:00:00Z", now()):
            answer = api.post(organization.keys, as_=organization.owner, json={"name": "k", "expiresAt": moment})
            assert answer.faults == {"/expiresAt": "out_of_range"}
            assert answer.json["errors"][0]["detail"] == "must lie in the future"

    @pytest.mark.parametrize(
        ("network", "advice"),
        [
            ("10.0.0.1/8", "must be 10.0.0.0/8 for that network, or 10.0.0.1 for one address"),
            ("2001:db8::7/32", "must be 2001:db8::/32 for that network, or 2001:db8::7 for one address"),
            ("x", "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"),
            ("10.0.0.1/33", "must be an address or a network, such as 192.0.2.7 or 192.0.2.0/24"),
        ],
    )
    def test_what_is_no_network_is_told_what_to_write(
        self, api: Api, organization: Founded, network: str, advice: str
    ) -> None:
        body = {"name": "k", "allowedIps": ["192.0.2.0/24", network]}
        (fault,) = api.post(organization.keys, as_=organization.owner, json=body).json["errors"]
        assert fault == {"pointer": "/allowedIps/1", "code": "malformed", "detail": advice}

    def test_admins_may_and_lower_roles_may_not(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person, stranger: Person
    ) -> None:
        assert created_key(api, organization, as_=grace).status == 201
        for person in (edith, mary):
            assert created_key(api, organization, as_=person).code == "403 insufficient_role"
        assert created_key(api, organization, as_=stranger).code == "404 not_found"

    def test_a_key_gives_no_more_than_it_holds(self, api: Api, organization: Founded) -> None:
        area = make_key(api, organization, "api-keys:write", "read")
        assert created_key(api, organization, "read", "api-keys:read", as_=area).status == 201
        for beyond in ("write", "admin", "members:write"):
            assert created_key(api, organization, beyond, as_=area).code == "403 insufficient_scope"
        full = make_key(api, organization, "admin")
        assert created_key(api, organization, "admin", "sites:write", as_=full).status == 201

    def test_a_key_made_by_a_key_names_it(self, api: Api, organization: Founded) -> None:
        full = make_key(api, organization, "admin")
        assert created_key(api, organization, as_=full).json["createdBy"] == full.id


@pytest.fixture
def at_most_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApiKey, "quota", replace(ApiKey.quota, limit=3))


class TestLimit:
    def test_there_are_at_most_100_live_ones_in_each_organization(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        for _ in range(100):
            assert created_key(api, organization).status == 201
        assert created_key(api, organization).code == "409 limit_exceeded"
        assert len(api.items(organization.keys, as_=ada, query={"limit": 100})) == 100
        assert created_key(api, found(api, ada)).status == 201

    @pytest.mark.usefixtures("at_most_three")
    def test_revoking_makes_room_for_one_also_when_repeated(self, api: Api, organization: Founded, ada: Person) -> None:
        made = [created_key(api, organization).json["id"] for _ in range(3)]
        assert created_key(api, organization).code == "409 limit_exceeded"
        for _ in range(2):
            assert api.delete(f"{organization.keys}/{made[0]}", as_=ada).status == 204
        assert created_key(api, organization).status == 201
        assert created_key(api, organization).code == "409 limit_exceeded"

    @pytest.mark.usefixtures("at_most_three")
    def test_expired_ones_do_not_count(self, api: Api, organization: Founded, clock: Clock, workers: Workers) -> None:
        for _ in range(2):
            created_key(api, organization)
        created_key(api, organization, expiresAt=after(now(), hours=1))
        assert created_key(api, organization).code == "409 limit_exceeded"
        clock.shift(hours=2)
        workers.settle()
        assert created_key(api, organization).status == 201
        assert created_key(api, organization).code == "409 limit_exceeded"

    @pytest.mark.usefixtures("at_most_three")
    def test_revoking_an_expired_one_makes_no_more_room(
        self, api: Api, organization: Founded, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        for _ in range(2):
            created_key(api, organization)
        expired = created_key(api, organization, expiresAt=after(now(), hours=1)).json["id"]
        clock.shift(hours=2)
        workers.settle()
        assert api.delete(f"{organization.keys}/{expired}", as_=ada).status == 204
        assert created_key(api, organization).status == 201
        assert created_key(api, organization).code == "409 limit_exceeded"

    @pytest.mark.usefixtures("at_most_three")
    def test_rotating_needs_no_room(self, api: Api, organization: Founded, ada: Person) -> None:
        made = [created_key(api, organization).json["id"] for _ in range(3)]
        assert api.post(f"{organization.keys}/{made[0]}/rotate", as_=ada).status == 200

    @pytest.mark.usefixtures("at_most_three")
    def test_it_holds_when_many_are_made_at_once(self, api: Api, organization: Founded, ada: Person) -> None:
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda _: created_key(api, organization), range(6)))
        assert sorted(a.status for a in answers) == [201, 201, 201, 409, 409, 409]
        assert len(api.items(organization.keys, as_=ada)) == 3


class TestListAndGet:
    def test_they_are_listed_in_the_order_they_were_made(self, api: Api, organization: Founded, ada: Person) -> None:
        made = [created_key(api, organization, name=name).json["id"] for name in "cab"]
        assert [key["id"] for key in api.items(organization.keys, as_=ada)] == made

    def test_revoked_and_expired_ones_stay_listed(
        self, api: Api, organization: Founded, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        revoked = make_key(api, organization)
        make_key(api, organization, expiresAt=after(now(), hours=1))
        make_key(api, organization)
        api.delete(f"{organization.keys}/{revoked.id}", as_=ada)
        clock.shift(hours=2)
        for _ in range(2):
            statuses = [key["status"] for key in api.items(organization.keys, as_=ada)]
            assert statuses == ["revoked", "expired", "active"]
            workers.settle()

    def test_expiring_is_no_change_of_the_record(
        self, api: Api, organization: Founded, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        key = created_key(api, organization, expiresAt=after(now(), hours=1)).json
        workers.settle()
        before = [e["type"] for e in api.items(f"{organization.path}/audit-log", as_=ada)]
        clock.shift(hours=2)
        workers.settle()
        assert [e["type"] for e in api.items(f"{organization.path}/audit-log", as_=ada)] == before
        assert api.get(f"{organization.keys}/{key['id']}", as_=ada).json["version"] == 1

    def test_one_of_another_organization_is_not_found(self, api: Api, organization: Founded, ada: Person) -> None:
        other = found(api, ada)
        key = make_key(api, other)
        assert api.get(f"{organization.keys}/{key.id}", as_=ada).code == "404 not_found"
        assert api.delete(f"{organization.keys}/{key.id}", as_=ada).code == "404 not_found"
        assert api.post(f"{organization.keys}/{key.id}/rotate", as_=ada).code == "404 not_found"
        assert api.get(other.path, as_=key).status == 200


class TestRevokeApiKey:
    def test_it_works_no_more_at_once(self, api: Api, organization: Founded, ada: Person) -> None:
        key = make_key(api, organization)
        assert api.get(organization.path, as_=key).status == 200
        assert api.delete(f"{organization.keys}/{key.id}", as_=ada).status == 204
        assert api.get(organization.path, as_=key).code == "401 api_key_revoked"
        assert api.get(f"{organization.keys}/{key.id}", as_=ada).json["status"] == "revoked"

    def test_again_it_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        key = make_key(api, organization)
        api.delete(f"{organization.keys}/{key.id}", as_=ada)
        before = api.get(f"{organization.keys}/{key.id}", as_=ada).json
        assert api.delete(f"{organization.keys}/{key.id}", as_=ada).status == 204
        assert api.get(f"{organization.keys}/{key.id}", as_=ada).json == before
        types = [e["type"] for e in api.items(f"{organization.path}/audit-log", as_=ada)]
        assert types.count("organization.api_key.revoked") == 1

    def test_a_key_may_revoke_itself(self, api: Api, organization: Founded) -> None:
        key = make_key(api, organization, "api-keys:write")
        assert api.delete(f"{organization.keys}/{key.id}", as_=key).status == 204
        assert api.get(organization.keys, as_=key).code == "401 api_key_revoked"


class TestRotateApiKey:
    def rotate(self, api: Api, organization: Founded, key: Caller, **body: int) -> Caller:
        answer = api.post(f"{organization.keys}/{key.id}/rotate", as_=organization.owner, json=body)
        assert answer.status == 200, answer.text
        return Caller(answer.json["id"], answer.json["key"])

    def test_it_keeps_its_id_and_scopes_and_gets_a_new_secret(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        before = created_key(api, organization, "write", "members:read").json
        answer = api.post(f"{organization.keys}/{before['id']}/rotate", as_=ada)
        after_ = answer.json
        assert (after_["id"], after_["scopes"], after_["version"]) == (before["id"], before["scopes"], 2)
        assert after_["key"] != before["key"]
        assert after_["hint"] == f"atr_…{after_['key'][-4:]}"
        assert api.get(f"{organization.keys}/{before['id']}", as_=ada).json == {**after_, "key": None}

    def test_the_former_secret_works_for_a_day_unless_told_otherwise(
        self, api: Api, organization: Founded, clock: Clock
    ) -> None:
        former = make_key(api, organization)
        present = self.rotate(api, organization, former)
        for key in (former, present):
            assert api.get(organization.path, as_=key).status == 200
        clock.shift(hours=24, minutes=-1)
        assert api.get(organization.path, as_=former).status == 200
        clock.shift(minutes=2)
        assert api.get(organization.path, as_=former).code == "401 api_key_revoked"
        assert api.get(organization.path, as_=present).status == 200

    def test_without_grace_it_ends_at_once(self, api: Api, organization: Founded) -> None:
        former = make_key(api, organization)
        present = self.rotate(api, organization, former, graceHours=0)
        assert api.get(organization.path, as_=former).code == "401 api_key_revoked"
        assert api.get(organization.path, as_=present).status == 200

    def test_a_later_rotation_gives_no_secret_a_longer_grace(
        self, api: Api, organization: Founded, clock: Clock
    ) -> None:
        first = make_key(api, organization)
        second = self.rotate(api, organization, first, graceHours=1)
        self.rotate(api, organization, second, graceHours=168)
        clock.shift(hours=2)
        assert api.get(organization.path, as_=first).code == "401 api_key_revoked"
        assert api.get(organization.path, as_=second).status == 200

    def test_rotating_without_grace_ends_all_former_secrets(self, api: Api, organization: Founded) -> None:
        first = make_key(api, organization)
        second = self.rotate(api, organization, first, graceHours=168)
        third = self.rotate(api, organization, second, graceHours=0)
        statuses = [api.get(organization.path, as_=key).status for key in (first, second, third)]
        assert statuses == [401, 401, 200]

    def test_revoking_ends_all_its_secrets(self, api: Api, organization: Founded, ada: Person) -> None:
        former = make_key(api, organization)
        present = self.rotate(api, organization, former)
        api.delete(f"{organization.keys}/{present.id}", as_=ada)
        for key in (former, present):
            assert api.get(organization.path, as_=key).code == "401 api_key_revoked"

    def test_what_has_ended_can_not_be_rotated(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        revoked, expiring = make_key(api, organization), make_key(api, organization, expiresAt=after(now(), hours=1))
        api.delete(f"{organization.keys}/{revoked.id}", as_=ada)
        clock.shift(hours=2)
        for key in (revoked, expiring):
            answer = api.post(f"{organization.keys}/{key.id}/rotate", as_=ada)
            assert answer.code == "409 invalid_transition"

    @pytest.mark.parametrize("hours", [-1, 169, 1.5, "24", True])
    def test_grace_is_0_to_168_whole_hours(self, api: Api, organization: Founded, ada: Person, hours: object) -> None:
        key = make_key(api, organization)
        answer = api.post(f"{organization.keys}/{key.id}/rotate", as_=ada, json={"graceHours": hours})
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {"/graceHours"}

    def test_it_takes_every_scope_of_the_rotated_key(self, api: Api, organization: Founded) -> None:
        full, area = make_key(api, organization, "admin"), make_key(api, organization, "api-keys:write", "read")
        plain = make_key(api, organization, "read")
        assert api.post(f"{organization.keys}/{full.id}/rotate", as_=area).code == "403 insufficient_scope"
        assert api.post(f"{organization.keys}/{plain.id}/rotate", as_=area).status == 200
        assert api.post(f"{organization.keys}/{area.id}/rotate", as_=full).status == 200

    def test_at_most_five_of_its_secrets_work_at_once(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        first = key = make_key(api, organization)
        for _ in range(4):
            key = self.rotate(api, organization, key, graceHours=168)
        refused = api.post(f"{organization.keys}/{key.id}/rotate", as_=ada, json={"graceHours": 168})
        assert refused.code == "409 limit_exceeded"
        assert api.get(organization.path, as_=first).status == 200
        at_once = self.rotate(api, organization, key, graceHours=0)
        assert [api.get(organization.path, as_=k).status for k in (first, key, at_once)] == [401, 401, 200]
        clock.shift(seconds=1)
        assert self.rotate(api, organization, at_once, graceHours=168).id == first.id

    def test_pointers_of_ended_secrets_are_cleared_away(self, api: Api, organization: Founded, clock: Clock) -> None:
        key = make_key(api, organization)
        for _ in range(3):
            key = self.rotate(api, organization, key, graceHours=1)
            clock.shift(hours=2)
        self.rotate(api, organization, key, graceHours=0)
        assert sum(item["pk"].startswith("K#") for item in cloud.stored()) <= 2
