import json

import pytest

from chalicelib.kernel.core.clock import after
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import (
    create_api_key,
    create_organization,
    post_api_key,
    rotate_api_key,
    transfer_ownership,
)
from tests.harness.workers import queued_bodies

RESTORE = {"status": "active"}
DELETED = {"status": "pending_deletion"}


@pytest.fixture
def restore(api, organization):
    """A function that requests the restoration of the organization, by default as its owner."""
    return lambda caller=organization.owner, **fields: api.patch(
        organization.path, caller=caller, json={**RESTORE, **fields}
    )


@pytest.fixture
def delete(api, organization):
    return lambda: api.delete(organization.path, caller=organization.owner)


def stored_entries(organization):
    return [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]


def test_a_deleted_organization_is_not_found_by_any_caller(api, organization, ada, grace, mary, restore, delete):
    key = create_api_key(api, organization, "admin")
    answer = delete()
    assert (answer.status, answer.text) == (204, "")
    suffixes = ("", "/members", "/api-keys", "/audit-log", "/audit-log/verify-integrity")
    paths = [f"{organization.path}{suffix}" for suffix in suffixes]
    for caller in (ada, grace, mary, key):
        for path in [*paths, f"/organizations/by-slug/{organization.record['slug']}"]:
            assert api.get(path, caller=caller).status_and_code == "404 not_found"
    answers = [
        *(post_api_key(api, organization, caller=person) for person in (ada, grace)),
        restore(grace),
        delete(),
        api.post(f"{organization.path}/leave", caller=mary),
    ]
    assert {answer.status_and_code for answer in answers} == {"404 not_found"}
    for query in (RESTORE, DELETED):
        assert api.get_items("/organizations", caller=key, query=query) == []


def test_only_the_owner_lists_a_deleted_organization_with_the_time_of_its_purge(
    api, organization, ada, grace, stranger, clock, delete
):
    timestamp = clock.freeze()
    delete()
    assert api.get_items("/organizations", caller=ada) == []
    (deleted,) = api.get_items("/organizations", caller=ada, query=DELETED)
    expected = {**DELETED, "id": organization.id, "version": 2, "deletionDueAt": after(timestamp, days=30)}
    assert deleted | expected == deleted
    for query in (RESTORE, DELETED):
        assert api.get_items("/organizations", caller=grace, query=query) == []
    assert api.get("/organizations", caller=ada, query={"status": "gone"}).errors == {"query/status": "not_one_of"}
    body = {"name": "x", "slug": organization.record["slug"]}
    assert api.post("/organizations", caller=stranger, json=body).status_and_code == "409 slug_taken"


class TestRestoreOrganization:
    def test_the_owner_restores_the_organization_completely(self, api, organization, ada, mary, restore, delete):
        key = create_api_key(api, organization, "read")
        members = api.get_items(f"{organization.path}/members", caller=ada)
        delete()
        answer = restore()
        expected = {**organization.record, "version": 3, "updatedAt": answer.json["updatedAt"]}
        assert (answer.status, answer.json) == (200, expected)
        assert api.get_items(f"{organization.path}/members", caller=ada) == members
        for caller in (ada, mary, key):
            assert api.get(organization.path, caller=caller).json == expected
            (listed,) = api.get_items("/organizations", caller=caller)
            assert listed == expected | {"role": listed["role"]}
        assert api.get_items("/organizations", caller=ada, query=DELETED) == []
        restored, deleted, *_ = list_entries(api, organization)
        assert (deleted["type"], restored["type"]) == ("organization.deleted", "organization.restored")
        changes = {change["field"]: (change["from"], change["to"]) for change in restored["changes"]}
        assert changes["status"] == ("pending_deletion", "active")
        assert changes["deletionDueAt"][1] is None

    def test_only_a_restore_finds_a_deleted_organization(self, api, organization, ada, restore, delete):
        stale = api.get(organization.path, caller=ada).etag
        delete()
        for body in ({}, {"name": "New"}, DELETED, {"status": None}, {"status": "gone"}, {"x": 1}):
            assert api.patch(organization.path, caller=ada, json=body).status_and_code == "404 not_found"
        for raw_body in (b"", b"{", b"[]", b'"active"'):
            assert api.patch(organization.path, caller=ada, body=raw_body).status_and_code == "404 not_found"
        answer = api.patch(organization.path, caller=ada, json=RESTORE, headers={"If-Match": stale})
        assert answer.status_and_code == "412 precondition_failed"
        assert restore(x=1).errors == {"/x": "unknown_field"}
        assert restore(name="Back").json["name"] == "Back"

    def test_a_former_owner_cannot_restore(self, api, organization, ada, grace, restore):
        transfer_ownership(api, organization, ada, grace.id)
        api.delete(organization.path, caller=grace)
        assert restore().status_and_code == "404 not_found"
        assert restore(grace).status == 200

    def test_an_organization_can_be_restored_for_30_days_after_its_last_deletion(self, clock, workers, restore, delete):
        delete()
        clock.shift(days=29)
        restore()
        delete()
        clock.shift(days=30, minutes=-1)
        workers.run_until_idle()
        assert restore().status == 200
        delete()
        clock.shift(days=30, minutes=1)
        assert restore().status == 404


class TestPurge:
    def test_only_the_log_remains_after_30_days(self, api, organization, ada, stranger, workers, clock, delete):
        key, *_ = [create_api_key(api, organization) for _ in range(12)]
        for _ in range(4):
            rotate_api_key(api, organization, key, graceHours=24)
        api.patch(organization.path, caller=ada, json={"slug": "renamed"})
        workers.run_until_idle()
        entry_count = len(stored_entries(organization))
        delete()
        clock.shift(days=30, minutes=5)
        for _ in range(2):
            workers.run_until_idle()
        remaining = [item for item in memory_aws.all_items() if organization.id in json.dumps(item, default=repr)]
        assert {item["pk"][:2] for item in remaining if "ttl" not in item} == {"A#", "Q#"}
        assert [item["pk"] for item in remaining if "ttl" in item] == ["U#organization-slug#analytical-engines"]
        assert not [item for item in memory_aws.all_items() if item["pk"].startswith("K#")]
        assert api.get_items("/organizations", caller=ada, query=DELETED) == []
        log = stored_entries(organization)
        assert sorted(item["sequence"] for item in log) == list(range(1, entry_count + 3))
        last = json.loads(max(log, key=lambda item: item["sequence"])["body"])
        assert (last["type"], last["actor"]["type"]) == ("organization.purged", "system")
        assert last["data"]["name"] == organization.record["name"]
        assert create_organization(api, stranger, slug="renamed").record["slug"] == "renamed"

    def test_a_restored_organization_is_not_purged_and_repeated_messages_purge_once(
        self, api, organization, ada, workers, clock, run_tasks_after, restore, delete
    ):
        workers.run_until_idle()
        delete()
        clock.shift(days=30)
        workers.run_sweep()
        assert any("organizations.purge" in body for body in queued_bodies("jobs"))
        clock.shift(minutes=-2)
        assert restore().status == 200
        run_tasks_after(minutes=10)
        assert api.get(organization.path, caller=ada).status == 200
        delete()
        clock.shift(days=30, minutes=5)
        for _ in range(2):
            workers.run_sweep()
            clock.shift(minutes=2)
        assert sum("organizations.purge" in body for body in queued_bodies("jobs")) == 2
        workers.deliver()
        assert [item["type"] for item in stored_entries(organization)].count("organization.purged") == 1
