import json

import pytest

from chalicelib.kernel.core.clock import after
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers, bodies

RESTORE = {"status": "active"}


def readable_paths(organization: Founded) -> list[str]:
    suffixes = ("", "/members", "/api-keys", "/audit-log", "/audit-log/verify-integrity")
    return [f"{organization.path}{suffix}" for suffix in suffixes]


class TestDeleteOrganization:
    def test_a_deleted_organization_is_not_found_by_any_caller(
        self, api: Api, organization: Founded, ada: Person, grace: Person, mary: Person
    ) -> None:
        key = make_key(api, organization, "admin")
        response = api.delete(organization.path, as_=ada)
        assert (response.status, response.text) == (204, "")
        slug = organization.record["slug"]
        for caller in (ada, grace, mary, key):
            for path in [*readable_paths(organization), f"/organizations/by-slug/{slug}"]:
                assert api.get(path, as_=caller).code == "404 not_found"
        for person in (ada, grace):
            assert api.post(f"{organization.path}/api-keys", as_=person, json={"name": "k"}).code == "404 not_found"
        assert api.patch(organization.path, as_=grace, json=RESTORE).code == "404 not_found"
        assert api.delete(organization.path, as_=ada).code == "404 not_found"
        assert api.post(f"{organization.path}/leave", as_=mary).code == "404 not_found"

    def test_a_key_of_a_deleted_organization_lists_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        key = make_key(api, organization, "admin")
        api.delete(organization.path, as_=ada)
        for status in ("active", "pending_deletion"):
            assert api.items("/organizations", as_=key, query={"status": status}) == []

    def test_only_the_owner_may_delete(
        self, api: Api, organization: Founded, grace: Person, mary: Person, stranger: Person
    ) -> None:
        key = make_key(api, organization, "admin")
        assert api.delete(organization.path, as_=grace).code == "403 insufficient_role"
        assert api.delete(organization.path, as_=mary).code == "403 insufficient_role"
        assert api.delete(organization.path, as_=key).code == "403 forbidden"
        assert api.delete(organization.path, as_=stranger).code == "404 not_found"
        assert api.delete(organization.path).code == "401 unauthenticated"
        assert api.get(organization.path, as_=grace).status == 200

    def test_the_owner_sees_when_the_organization_will_be_purged(self, api: Api, ada: Person, clock: Clock) -> None:
        organization = found(api, ada)
        timestamp = clock.freeze()
        api.delete(organization.path, as_=ada)
        (deleted,) = api.items("/organizations", as_=ada, query={"status": "pending_deletion"})
        assert (deleted["status"], deleted["version"]) == ("pending_deletion", 2)
        assert deleted["deletionDueAt"] == after(timestamp, days=30)

    def test_the_slug_stays_reserved_while_the_organization_can_be_restored(
        self, api: Api, ada: Person, stranger: Person
    ) -> None:
        organization = found(api, ada, slug="engines")
        api.delete(organization.path, as_=ada)
        assert api.post("/organizations", as_=stranger, json={"name": "x", "slug": "engines"}).code == "409 slug_taken"


class TestRestoreOrganization:
    def test_the_owner_restores_the_organization_completely(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        key = make_key(api, organization, "read")
        api.delete(organization.path, as_=ada)
        response = api.patch(organization.path, as_=ada, json=RESTORE)
        assert response.status == 200
        expected = {**organization.record, "version": 3, "updatedAt": response.json["updatedAt"]}
        assert response.json == expected
        assert api.get(organization.path, as_=mary).json == expected
        assert api.get(organization.path, as_=key).json == expected
        assert [m["role"] for m in api.items(f"{organization.path}/members", as_=ada)] == [
            "owner",
            "admin",
            "editor",
            "member",
        ]
        for person in (ada, mary):
            assert api.items("/organizations", as_=person) == [expected]
        assert api.items("/organizations", as_=ada, query={"status": "pending_deletion"}) == []

    def test_deletion_and_restore_are_in_the_log(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        api.patch(organization.path, as_=ada, json=RESTORE)
        restored, deleted, _ = api.items(f"{organization.path}/audit-log", as_=ada)
        assert (deleted["type"], restored["type"]) == ("organization.deleted", "organization.restored")
        assert {c["field"]: (c["from"], c["to"]) for c in deleted["changes"]}["status"] == (
            "active",
            "pending_deletion",
        )
        changed = {c["field"]: (c["from"], c["to"]) for c in restored["changes"]}
        assert changed["status"] == ("pending_deletion", "active")
        assert changed["deletionDueAt"][1] is None

    def test_only_a_restore_finds_a_deleted_organization(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        for body in (
            {},
            {"name": "New"},
            {"status": "pending_deletion"},
            {"status": None},
            {"status": "gone"},
            {"x": 1},
        ):
            assert api.patch(organization.path, as_=ada, json=body).code == "404 not_found"
        for raw_body in (b"", b"{", b"[]", b'"active"'):
            assert api.patch(organization.path, as_=ada, body=raw_body).code == "404 not_found"

    def test_a_restore_may_change_other_fields(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        assert api.patch(organization.path, as_=ada, json=RESTORE | {"x": 1}).faults == {"/x": "unknown_field"}
        assert api.patch(organization.path, as_=ada, json=RESTORE | {"name": "Back"}).json["name"] == "Back"

    def test_a_former_owner_cannot_restore(self, api: Api, organization: Founded, ada: Person, grace: Person) -> None:
        api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
        api.delete(organization.path, as_=grace)
        assert api.patch(organization.path, as_=ada, json=RESTORE).code == "404 not_found"
        assert api.patch(organization.path, as_=grace, json=RESTORE).status == 200

    @pytest.mark.parametrize(("minutes", "status"), [(-1, 200), (1, 404)])
    def test_an_organization_can_be_restored_for_30_days(
        self, api: Api, ada: Person, clock: Clock, minutes: int, status: int
    ) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=minutes)
        assert api.patch(organization.path, as_=ada, json=RESTORE).status == status

    def test_a_second_deletion_starts_another_30_days(self, api: Api, ada: Person, clock: Clock) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        clock.shift(days=29)
        api.patch(organization.path, as_=ada, json=RESTORE)
        api.delete(organization.path, as_=ada)
        clock.shift(days=29)
        assert api.patch(organization.path, as_=ada, json=RESTORE).status == 200

    def test_a_restore_compares_if_match(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        stale = api.get(organization.path, as_=ada).etag
        api.delete(organization.path, as_=ada)
        response = api.patch(organization.path, as_=ada, json=RESTORE, headers={"If-Match": stale})
        assert response.code == "412 precondition_failed"


class TestPurge:
    def test_only_the_log_remains_after_30_days(
        self, api: Api, organization: Founded, ada: Person, workers: Workers, clock: Clock
    ) -> None:
        for n in range(12):
            make_key(api, organization, "read", name=f"Key {n}")
        for key in api.items(f"{organization.path}/api-keys", as_=ada):
            for _ in range(4):
                api.post(f"{organization.path}/api-keys/{key['id']}/rotate", as_=ada)
        api.patch(organization.path, as_=ada, json={"slug": "renamed"})
        workers.settle()
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=5)
        workers.settle()
        workers.settle()
        remaining = [item for item in cloud.stored() if organization.id in json.dumps(item, default=repr)]
        assert {item["pk"][:2] for item in remaining if "ttl" not in item} == {"A#", "Q#"}
        assert [item["pk"] for item in remaining if "ttl" in item] == ["U#organization-slug#analytical-engines"]
        assert not [item for item in cloud.stored() if item["pk"].startswith("K#")]
        assert api.items("/organizations", as_=ada, query={"status": "pending_deletion"}) == []

    def test_the_log_is_complete_and_ends_with_the_purge(
        self, api: Api, organization: Founded, ada: Person, workers: Workers, clock: Clock
    ) -> None:
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=5)
        workers.settle()
        workers.settle()
        log = [item for item in cloud.stored() if item["pk"] == f"A#{organization.id}"]
        last = json.loads(max(log, key=lambda item: item["sequence"])["body"])
        assert (last["type"], last["actor"]["type"], last["data"]["name"]) == (
            "organization.purged",
            "system",
            organization.record["name"],
        )
        assert sorted(item["sequence"] for item in log) == list(range(1, 7))

    def test_the_purge_frees_the_slug(
        self, api: Api, ada: Person, stranger: Person, workers: Workers, clock: Clock
    ) -> None:
        organization = found(api, ada, slug="engines")
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=5)
        workers.settle()
        assert found(api, stranger, slug="engines").record["slug"] == "engines"

    def test_nothing_is_purged_before_30_days(self, api: Api, ada: Person, workers: Workers, clock: Clock) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=-1)
        workers.settle()
        assert api.patch(organization.path, as_=ada, json=RESTORE).status == 200

    def test_a_restored_organization_is_not_purged_by_an_earlier_message(
        self, api: Api, ada: Person, workers: Workers, clock: Clock
    ) -> None:
        organization = found(api, ada)
        workers.settle()
        api.delete(organization.path, as_=ada)
        clock.shift(days=30)
        workers.sweep()
        assert any("organizations.purge" in body for body in bodies("jobs"))
        clock.shift(minutes=-2)
        assert api.patch(organization.path, as_=ada, json=RESTORE).status == 200
        clock.shift(minutes=10)
        workers.settle()
        assert api.get(organization.path, as_=ada).status == 200

    def test_repeated_messages_purge_once(self, api: Api, ada: Person, workers: Workers, clock: Clock) -> None:
        organization = found(api, ada)
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=5)
        workers.sweep()
        clock.shift(minutes=2)
        workers.sweep()
        assert sum("organizations.purge" in body for body in bodies("jobs")) == 2
        workers.deliver()
        types = [item["type"] for item in cloud.stored() if item["pk"] == f"A#{organization.id}"]
        assert types.count("organization.purged") == 1
