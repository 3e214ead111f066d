from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.features.tenancy.entities.organizations import Organization
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import (
    add_organization_member,
    create_organization,
    leave_organization,
    remove_member,
    roles_by_username,
    set_role,
    transfer_ownership,
)

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"
LIMIT_EXCEEDED = "409 limit_exceeded"


def list_owners(api, organization):
    return [username for username, role in roles_by_username(api, organization).items() if role == "owner"]


class TestTransferOwnership:
    def test_both_roles_and_the_owner_of_the_organization_change(self, api, organization, ada, mary):
        entry_count = len(list_entries(api, organization))
        answer = transfer_ownership(api, organization, ada, mary.id)
        assert (answer.status, answer.json["ownerId"], answer.json["version"]) == (200, mary.id, 2)
        roles = {"ada": "admin", "grace": "admin", "edith": "editor", "mary": "owner"}
        assert roles_by_username(api, organization) == roles
        assert api.get(organization.path, caller=ada).json == answer.json
        entry, *earlier = list_entries(api, organization)
        assert (entry["type"], len(earlier)) == ("organization.ownership_transferred", entry_count)
        expected_target = {"type": "organization", "id": organization.id, "name": organization.record["name"]}
        assert entry["target"] == expected_target
        assert entry["changes"] == [{"field": "ownerId", "from": ada.id, "to": mary.id}]

    def test_the_new_owner_gets_the_owners_rights_and_the_former_owner_an_admins(self, api, organization, ada, mary):
        transfer_ownership(api, organization, ada, mary.id)
        assert api.delete(organization.path, caller=ada).status_and_code == "403 insufficient_role"
        assert transfer_ownership(api, organization, ada, ada.id).status_and_code == "403 insufficient_role"
        assert api.get(organization.api_keys_path, caller=ada).status == 200
        protected = set_role(api, organization, mary, "member", caller=ada)
        assert protected.status_and_code == "409 owner_must_transfer"
        assert transfer_ownership(api, organization, mary, ada.id).status == 200
        assert list_owners(api, organization) == ["ada"]
        assert remove_member(api, organization, mary).status == 204

    def test_the_new_owner_must_be_a_member(self, api, organization, ada, stranger):
        for user_id in (stranger.id, UNKNOWN_ID, "", "x", None, 7, ["a"], UNKNOWN_ID + "0"):
            answer = transfer_ownership(api, organization, ada, user_id)
            assert (answer.status_and_code, [*answer.errors]) == ("422 validation_failed", ["/newOwnerId"]), user_id
        assert list_owners(api, organization) == ["ada"]

    def test_a_transfer_to_the_owner_changes_nothing(self, api, organization, ada):
        before = list_entries(api, organization)
        assert transfer_ownership(api, organization, ada, ada.id.upper()).status == 200
        assert api.get(organization.path, caller=ada).json == organization.record
        assert list_entries(api, organization) == before

    def test_one_of_several_concurrent_transfers_succeeds(self, api, organization, ada, grace, edith, mary):
        people = {person.username: person for person in (grace, edith, mary)}
        with ThreadPoolExecutor(3) as threads:
            answers = [*threads.map(lambda p: transfer_ownership(api, organization, ada, p.id), people.values())]
        assert sorted(answer.status for answer in answers) == [200, 403, 403]
        assert {a.status_and_code for a in answers if a.status == 403} == {"403 insufficient_role"}
        (owner,) = list_owners(api, organization)
        assert api.get(organization.path, caller=ada).json["ownerId"] == people[owner].id

    def test_there_is_one_owner_when_the_new_owner_leaves_concurrently(self, api, organization, ada, mary):
        with ThreadPoolExecutor(2) as threads:
            leaving = threads.submit(leave_organization, api, organization, mary)
            transfer = threads.submit(transfer_ownership, api, organization, ada, mary.id)
        assert (leaving.result().status, transfer.result().status) in ((204, 422), (409, 200))
        assert len(list_owners(api, organization)) == 1


class TestOwnedOrganizationsLimit:
    @pytest.fixture
    def create(self, api):
        """A function that requests an organization of a person and returns the response."""
        return lambda person: api.post("/organizations", caller=person, json={"name": "Guild"})

    def test_the_default_limit_is_100(self):
        assert Organization.quota is not None
        assert Organization.quota.maximum == 100

    def test_deleted_organizations_do_not_count(self, api, configure, ada, create):
        configure(max_owned_organizations="2")
        create(ada)
        deleted_path = create(ada).location
        assert create(ada).status_and_code == LIMIT_EXCEEDED
        assert api.delete(deleted_path, caller=ada).status == 204
        other_path = create(ada).location
        restoration = api.patch(deleted_path, caller=ada, json={"status": "active"})
        assert restoration.status_and_code == LIMIT_EXCEEDED
        assert api.get(deleted_path, caller=ada).status_and_code == "404 not_found"
        assert api.delete(other_path, caller=ada).status == 204
        assert api.patch(deleted_path, caller=ada, json={"status": "active"}).status == 200

    def test_concurrent_creations_do_not_exceed_the_limit(self, configure, ada, create):
        configure(max_owned_organizations="3")
        with ThreadPoolExecutor(4) as threads:
            answers = [*threads.map(lambda _: create(ada), range(8))]
        rejected = [answer.status_and_code for answer in answers if answer.status != 201]
        assert rejected == [LIMIT_EXCEEDED] * 5

    def test_a_transfer_cannot_exceed_the_limit(self, api, configure, organization, ada, mary, create):
        configure(max_owned_organizations="1")
        own_path = create(mary).location
        assert transfer_ownership(api, organization, ada, mary.id).status_and_code == LIMIT_EXCEEDED
        assert list_owners(api, organization) == ["ada"]
        assert api.delete(own_path, caller=mary).status == 204
        assert transfer_ownership(api, organization, ada, mary.id).status == 200
        assert [create(person).status for person in (ada, mary)] == [201, 409]

    def test_an_uncounted_organization_counts_after_its_transfer(self, api, configure, ada, mary, create):
        configure(max_owned_organizations="1")
        uncounted = create_organization(api, ada, name="Before")
        # Restore the items of an organization that was stored before organizations were counted.
        for item in memory_aws.all_items():
            if item["pk"] == f"O#{uncounted.id}" and item["sk"] == "#":
                memory_aws.put_item({name: value for name, value in item.items() if name != "counted"})
            if item["sk"].startswith("COUNT#organizations"):
                memory_aws.delete_item(item)
        add_organization_member(uncounted, mary, "member")
        assert api.patch(uncounted.path, caller=ada, json={"name": "Still"}).status == 200
        assert [create(ada).status for _ in range(2)] == [201, 409]
        assert transfer_ownership(api, uncounted, ada, mary.id).status == 200
        assert [create(person).status_and_code for person in (mary, ada)] == [LIMIT_EXCEEDED] * 2
