import json

import pytest

from chalicelib.kernel.core.clock import after
from tests.harness import memory_aws
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.workers import queued_bodies

RESTORE = {"status": "active"}


def readable_paths(organization: CreatedOrganization) -> list[str]:
    suffixes = ("", "/members", "/api-keys", "/audit-log", "/audit-log/verify-integrity")
    return [f"{organization.path}{suffix}" for suffix in suffixes]


class TestDeleteOrganization:
    def test_a_deleted_organization_is_not_found_by_any_caller(self, api, organization, ada, grace, mary):
        key = create_api_key(api, organization, "admin")
        response = api.delete(organization.path, caller=ada)
        assert (response.status, response.text) == (204, "")
        slug = organization.record["slug"]
        for caller in (ada, grace, mary, key):
            for path in [*readable_paths(organization), f"/organizations/by-slug/{slug}"]:
                assert api.get(path, caller=caller).status_and_code == "404 not_found"
        for person in (ada, grace):
            assert (
                api.post(f"{organization.path}/api-keys", caller=person, json={"name": "k"}).status_and_code
                == "404 not_found"
            )
        assert api.patch(organization.path, caller=grace, json=RESTORE).status_and_code == "404 not_found"
        assert api.delete(organization.path, caller=ada).status_and_code == "404 not_found"
        assert api.post(f"{organization.path}/leave", caller=mary).status_and_code == "404 not_found"

    def test_a_key_of_a_deleted_organization_lists_nothing(self, api, organization, ada):
        key = create_api_key(api, organization, "admin")
        api.delete(organization.path, caller=ada)
        for status in ("active", "pending_deletion"):
            assert api.get_items("/organizations", caller=key, query={"status": status}) == []

    def test_only_the_owner_may_delete(self, api, organization, grace, mary, stranger):
        key = create_api_key(api, organization, "admin")
        assert api.delete(organization.path, caller=grace).status_and_code == "403 insufficient_role"
        assert api.delete(organization.path, caller=mary).status_and_code == "403 insufficient_role"
        assert api.delete(organization.path, caller=key).status_and_code == "403 forbidden"
        assert api.delete(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert api.delete(organization.path).status_and_code == "401 unauthenticated"
        assert api.get(organization.path, caller=grace).status == 200

    def test_the_owner_sees_when_the_organization_will_be_purged(self, api, ada, clock):
        organization = create_organization(api, ada)
        timestamp = clock.freeze()
        api.delete(organization.path, caller=ada)
        (deleted,) = api.get_items("/organizations", caller=ada, query={"status": "pending_deletion"})
        assert (deleted["status"], deleted["version"]) == ("pending_deletion", 2)
        assert deleted["deletionDueAt"] == after(timestamp, days=30)

    def test_the_slug_stays_reserved_while_the_organization_can_be_restored(self, api, ada, stranger):
        organization = create_organization(api, ada, slug="engines")
        api.delete(organization.path, caller=ada)
        assert (
            api.post("/organizations", caller=stranger, json={"name": "x", "slug": "engines"}).status_and_code
            == "409 slug_taken"
        )


class TestRestoreOrganization:
    def test_the_owner_restores_the_organization_completely(self, api, organization, ada, mary):
        key = create_api_key(api, organization, "read")
        api.delete(organization.path, caller=ada)
        response = api.patch(organization.path, caller=ada, json=RESTORE)
        assert response.status == 200
        expected = {**organization.record, "version": 3, "updatedAt": response.json["updatedAt"]}
        assert response.json == expected
        assert api.get(organization.path, caller=mary).json == expected
        assert api.get(organization.path, caller=key).json == expected
        assert [m["role"] for m in api.get_items(f"{organization.path}/members", caller=ada)] == [
            "owner",
            "admin",
            "editor",
            "member",
        ]
        for person in (ada, mary):
            assert api.get_items("/organizations", caller=person) == [expected]
        assert api.get_items("/organizations", caller=ada, query={"status": "pending_deletion"}) == []

    def test_deletion_and_restore_are_in_the_log(self, api, ada):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        api.patch(organization.path, caller=ada, json=RESTORE)
        restored, deleted, _ = api.get_items(f"{organization.path}/audit-log", caller=ada)
        assert (deleted["type"], restored["type"]) == ("organization.deleted", "organization.restored")
        assert {c["field"]: (c["from"], c["to"]) for c in deleted["changes"]}["status"] == (
            "active",
            "pending_deletion",
        )
        changed = {c["field"]: (c["from"], c["to"]) for c in restored["changes"]}
        assert changed["status"] == ("pending_deletion", "active")
        assert changed["deletionDueAt"][1] is None

    def test_only_a_restore_finds_a_deleted_organization(self, api, ada):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        for body in (
            {},
            {"name": "New"},
            {"status": "pending_deletion"},
            {"status": None},
            {"status": "gone"},
            {"x": 1},
        ):
            assert api.patch(organization.path, caller=ada, json=body).status_and_code == "404 not_found"
        for raw_body in (b"", b"{", b"[]", b'"active"'):
            assert api.patch(organization.path, caller=ada, body=raw_body).status_and_code == "404 not_found"

    def test_a_restore_may_change_other_fields(self, api, ada):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        assert api.patch(organization.path, caller=ada, json=RESTORE | {"x": 1}).errors == {"/x": "unknown_field"}
        assert api.patch(organization.path, caller=ada, json=RESTORE | {"name": "Back"}).json["name"] == "Back"

    def test_a_former_owner_cannot_restore(self, api, organization, ada, grace):
        api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": grace.id})
        api.delete(organization.path, caller=grace)
        assert api.patch(organization.path, caller=ada, json=RESTORE).status_and_code == "404 not_found"
        assert api.patch(organization.path, caller=grace, json=RESTORE).status == 200

    @pytest.mark.parametrize(("minutes", "status"), [(-1, 200), (1, 404)])
    def test_an_organization_can_be_restored_for_30_days(self, api, ada, clock, minutes, status):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=minutes)
        assert api.patch(organization.path, caller=ada, json=RESTORE).status == status

    def test_a_second_deletion_starts_another_30_days(self, api, ada, clock):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        clock.shift(days=29)
        api.patch(organization.path, caller=ada, json=RESTORE)
        api.delete(organization.path, caller=ada)
        clock.shift(days=29)
        assert api.patch(organization.path, caller=ada, json=RESTORE).status == 200

    def test_a_restore_compares_if_match(self, api, ada):
        organization = create_organization(api, ada)
        stale = api.get(organization.path, caller=ada).etag
        api.delete(organization.path, caller=ada)
        response = api.patch(organization.path, caller=ada, json=RESTORE, headers={"If-Match": stale})
        assert response.status_and_code == "412 precondition_failed"


class TestPurge:
    def test_only_the_log_remains_after_30_days(self, api, organization, ada, workers, clock):
        for n in range(12):
            create_api_key(api, organization, "read", name=f"Key {n}")
        for key in api.get_items(f"{organization.path}/api-keys", caller=ada):
            for _ in range(4):
                api.post(f"{organization.path}/api-keys/{key['id']}/rotate", caller=ada)
        api.patch(organization.path, caller=ada, json={"slug": "renamed"})
        workers.run_until_idle()
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=5)
        workers.run_until_idle()
        workers.run_until_idle()
        remaining = [item for item in memory_aws.all_items() if organization.id in json.dumps(item, default=repr)]
        assert {item["pk"][:2] for item in remaining if "ttl" not in item} == {"A#", "Q#"}
        assert [item["pk"] for item in remaining if "ttl" in item] == ["U#organization-slug#analytical-engines"]
        assert not [item for item in memory_aws.all_items() if item["pk"].startswith("K#")]
        assert api.get_items("/organizations", caller=ada, query={"status": "pending_deletion"}) == []

    def test_the_log_is_complete_and_ends_with_the_purge(self, api, organization, ada, workers, clock):
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=5)
        workers.run_until_idle()
        workers.run_until_idle()
        log = [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]
        last = json.loads(max(log, key=lambda item: item["sequence"])["body"])
        assert (last["type"], last["actor"]["type"], last["data"]["name"]) == (
            "organization.purged",
            "system",
            organization.record["name"],
        )
        assert sorted(item["sequence"] for item in log) == list(range(1, 7))

    def test_the_purge_frees_the_slug(self, api, ada, stranger, workers, clock):
        organization = create_organization(api, ada, slug="engines")
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=5)
        workers.run_until_idle()
        assert create_organization(api, stranger, slug="engines").record["slug"] == "engines"

    def test_nothing_is_purged_before_30_days(self, api, ada, workers, clock):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=-1)
        workers.run_until_idle()
        assert api.patch(organization.path, caller=ada, json=RESTORE).status == 200

    def test_a_restored_organization_is_not_purged_by_an_earlier_message(self, api, ada, workers, clock):
        organization = create_organization(api, ada)
        workers.run_until_idle()
        api.delete(organization.path, caller=ada)
        clock.shift(days=30)
        workers.run_sweep()
        assert any("organizations.purge" in body for body in queued_bodies("jobs"))
        clock.shift(minutes=-2)
        assert api.patch(organization.path, caller=ada, json=RESTORE).status == 200
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert api.get(organization.path, caller=ada).status == 200

    def test_repeated_messages_purge_once(self, api, ada, workers, clock):
        organization = create_organization(api, ada)
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=5)
        workers.run_sweep()
        clock.shift(minutes=2)
        workers.run_sweep()
        assert sum("organizations.purge" in body for body in queued_bodies("jobs")) == 2
        workers.deliver()
        types = [item["type"] for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]
        assert types.count("organization.purged") == 1
