from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.features.tenancy.entities.organizations import Organization
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
)

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


def transfer_ownership(api: ApiClient, organization: CreatedOrganization, caller: Person, new_owner_id: object) -> str:
    answer = api.post(f"{organization.path}/transfer-ownership", caller=caller, json={"newOwnerId": new_owner_id})
    return answer.status_and_code if answer.status >= 400 else str(answer.status)


def list_owners(api: ApiClient, organization: CreatedOrganization, caller: Person) -> list[str]:
    return [m["username"] for m in api.get_items(f"{organization.path}/members", caller=caller) if m["role"] == "owner"]


class TestTransferOwnership:
    def test_both_roles_and_the_owner_of_the_organization_change(self, api, organization, ada, mary):
        answer = api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": mary.id})
        assert (answer.status, answer.json["ownerId"], answer.json["version"]) == (200, mary.id, 2)
        roles = {m["username"]: m["role"] for m in api.get_items(f"{organization.path}/members", caller=mary)}
        assert roles == {"ada": "admin", "grace": "admin", "edith": "editor", "mary": "owner"}
        assert api.get(organization.path, caller=ada).json == answer.json

    def test_the_new_owner_gets_the_owners_rights_and_the_former_owner_an_admins(self, api, organization, ada, mary):
        transfer_ownership(api, organization, ada, mary.id)
        assert api.delete(organization.path, caller=ada).status_and_code == "403 insufficient_role"
        assert transfer_ownership(api, organization, ada, ada.id) == "403 insufficient_role"
        assert api.get(f"{organization.path}/api-keys", caller=ada).status == 200
        assert transfer_ownership(api, organization, mary, ada.id) == "200"
        assert list_owners(api, organization, ada) == ["ada"]

    def test_only_the_owner_transfers_ownership(self, api, organization, grace, mary, stranger, operator):
        assert transfer_ownership(api, organization, grace, grace.id) == "403 insufficient_role"
        assert transfer_ownership(api, organization, mary, mary.id) == "403 insufficient_role"
        assert transfer_ownership(api, organization, stranger, stranger.id) == "404 not_found"
        assert transfer_ownership(api, organization, operator, operator.id) == "404 not_found"
        key = create_api_key(api, organization, "admin")
        answer = api.post(f"{organization.path}/transfer-ownership", caller=key, json={"newOwnerId": grace.id})
        assert answer.status_and_code == "403 forbidden"

    def test_the_new_owner_must_be_a_member(self, api, organization, ada, stranger):
        for user in (stranger.id, UNKNOWN_ID):
            answer = api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": user})
            assert answer.status_and_code == "422 validation_failed"
            assert set(answer.errors) == {"/newOwnerId"}
        assert list_owners(api, organization, ada) == ["ada"]

    @pytest.mark.parametrize("user", ["", "x", None, 7, ["a"], UNKNOWN_ID + "0"])
    def test_an_invalid_user_id_is_rejected(self, api, organization, ada, user):
        assert transfer_ownership(api, organization, ada, user) == "422 validation_failed"

    def test_a_transfer_to_the_owner_changes_nothing(self, api, organization, ada):
        before = api.get(f"{organization.path}/audit-log", caller=ada).json
        assert transfer_ownership(api, organization, ada, ada.id.upper()) == "200"
        assert api.get(organization.path, caller=ada).json == organization.record
        assert api.get(f"{organization.path}/audit-log", caller=ada).json == before

    def test_the_role_of_the_new_owner_is_protected_and_the_former_owner_can_be_removed(
        self, api, organization, ada, mary
    ):
        transfer_ownership(api, organization, ada, mary.id)
        protected = api.patch(f"{organization.path}/members/{mary.id}", caller=ada, json={"role": "member"})
        assert protected.status_and_code == "409 owner_must_transfer"
        assert api.delete(f"{organization.path}/members/{ada.id}", caller=mary).status == 204

    def test_a_transfer_adds_one_entry(self, api, organization, ada, mary):
        transfer_ownership(api, organization, ada, mary.id)
        entry = api.get(f"{organization.path}/audit-log", caller=mary, query={"limit": 1}).json["items"][0]
        assert entry["type"] == "organization.ownership_transferred"
        assert entry["target"] == {
            "type": "organization",
            "id": organization.id,
            "name": organization.record["name"],
        }
        assert entry["changes"] == [{"field": "ownerId", "from": ada.id, "to": mary.id}]
        entries = api.get_items(f"{organization.path}/audit-log", caller=mary)
        assert len(entries) == 5

    def test_a_stale_if_match_is_rejected(self, api, organization, ada, mary):
        stale = api.get(organization.path, caller=ada).etag
        api.patch(organization.path, caller=ada, json={"name": "New"})
        answer = api.post(
            f"{organization.path}/transfer-ownership",
            caller=ada,
            json={"newOwnerId": mary.id},
            headers={"If-Match": stale},
        )
        assert answer.status_and_code == "412 precondition_failed"
        assert list_owners(api, organization, ada) == ["ada"]

    def test_one_of_several_concurrent_transfers_succeeds(self, api, organization, ada, grace, edith, mary):
        with ThreadPoolExecutor(3) as threads:
            outcomes = list(
                threads.map(lambda p: transfer_ownership(api, organization, ada, p.id), (grace, edith, mary))
            )
        assert sorted(outcomes) == ["200", "403 insufficient_role", "403 insufficient_role"]
        (owner,) = list_owners(api, organization, ada)
        assert (
            api.get(organization.path, caller=ada).json["ownerId"]
            == {
                "grace": grace.id,
                "edith": edith.id,
                "mary": mary.id,
            }[owner]
        )

    def test_there_is_one_owner_when_the_new_owner_leaves_concurrently(self, api, organization, ada, mary):
        def leave(_: Person) -> str:
            return str(api.post(f"{organization.path}/leave", caller=mary).status)

        def transfer(_: Person) -> str:
            return transfer_ownership(api, organization, ada, mary.id)

        with ThreadPoolExecutor(2) as threads:
            leave_result, transfer_result = threads.submit(leave, mary).result, threads.submit(transfer, ada).result
            assert (leave_result(), transfer_result()) in (("204", "422 validation_failed"), ("409", "200"))
        assert len(list_owners(api, organization, ada)) == 1


class TestOwnedOrganizationsLimit:
    def create_organization(self, api: ApiClient, person: Person) -> str:
        answer = api.post("/organizations", caller=person, json={"name": "Guild"})
        return answer.status_and_code if answer.status >= 400 else str(answer.json["id"])

    def test_a_setting_determines_the_limit(self, api, configure, ada):
        configure(max_owned_organizations="2")
        first, second = self.create_organization(api, ada), self.create_organization(api, ada)
        assert self.create_organization(api, ada) == "409 limit_exceeded"
        assert api.delete(f"/organizations/{first}", caller=ada).status == 204
        assert self.create_organization(api, ada) not in (second, "409 limit_exceeded")

    def test_the_default_limit_is_100(self):
        assert Organization.quota is not None
        assert Organization.quota.maximum == 100

    def test_concurrent_creations_do_not_exceed_the_limit(self, api, configure, ada):
        configure(max_owned_organizations="3")
        with ThreadPoolExecutor(4) as threads:
            outcomes = [*threads.map(lambda _: self.create_organization(api, ada), range(8))]
        assert outcomes.count("409 limit_exceeded") == 5

    def test_a_transfer_cannot_exceed_the_limit(self, api, configure, organization, ada, mary):
        configure(max_owned_organizations="1")
        own_id = self.create_organization(api, mary)
        assert transfer_ownership(api, organization, ada, mary.id) == "409 limit_exceeded"
        assert list_owners(api, organization, ada) == ["ada"]
        assert api.delete(f"/organizations/{own_id}", caller=mary).status == 204
        assert transfer_ownership(api, organization, ada, mary.id) == "200"
        assert self.create_organization(api, ada) != "409 limit_exceeded"
        assert self.create_organization(api, mary) == "409 limit_exceeded"

    def test_a_restoration_cannot_exceed_the_limit(self, api, configure, ada):
        configure(max_owned_organizations="1")
        deleted_path = f"/organizations/{self.create_organization(api, ada)}"
        api.delete(deleted_path, caller=ada)
        other_path = f"/organizations/{self.create_organization(api, ada)}"
        response = api.patch(deleted_path, caller=ada, json={"status": "active"})
        assert response.status_and_code == "409 limit_exceeded"
        assert api.get(deleted_path, caller=ada).status_and_code == "404 not_found"
        api.delete(other_path, caller=ada)
        assert api.patch(deleted_path, caller=ada, json={"status": "active"}).status == 200

    def test_an_uncounted_organization_counts_after_its_transfer(self, api, configure, ada, mary):
        configure(max_owned_organizations="1")
        uncounted = create_organization(api, ada, name="Before")
        for (
            item
        ) in memory_aws.all_items():  # Restore the items of an organization stored before organizations were counted.
            if item["pk"] == f"O#{uncounted.id}" and item["sk"] == "#":
                memory_aws.put_item({name: value for name, value in item.items() if name != "counted"})
            if item["sk"].startswith("COUNT#organizations"):
                memory_aws.delete_item(item)
        add_organization_member(uncounted, mary, "member")
        assert api.patch(uncounted.path, caller=ada, json={"name": "Still"}).status == 200
        assert self.create_organization(api, ada) != "409 limit_exceeded"
        assert self.create_organization(api, ada) == "409 limit_exceeded"
        assert transfer_ownership(api, uncounted, ada, mary.id) == "200"
        assert self.create_organization(api, mary) == "409 limit_exceeded"
        assert self.create_organization(api, ada) == "409 limit_exceeded"
