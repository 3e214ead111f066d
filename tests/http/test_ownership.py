from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.features.tenancy.entities.organizations import Organization
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, found, joins, make_key

NOBODY = "01939d3c-0000-4000-8000-00000000000a"


def transfer(api: Api, organization: Founded, by: Person, to: object) -> str:
    answer = api.post(f"{organization.path}/transfer-ownership", as_=by, json={"newOwnerId": to})
    return answer.code if answer.status >= 400 else str(answer.status)


def owners(api: Api, organization: Founded, as_: Person) -> list[str]:
    return [m["username"] for m in api.items(f"{organization.path}/members", as_=as_) if m["role"] == "owner"]


class TestTransferOwnership:
    def test_both_roles_change_and_the_organization_names_its_new_owner(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        answer = api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": mary.id})
        assert (answer.status, answer.json["ownerId"], answer.json["version"]) == (200, mary.id, 2)
        roles = {m["username"]: m["role"] for m in api.items(f"{organization.path}/members", as_=mary)}
        assert roles == {"ada": "admin", "grace": "admin", "edith": "editor", "mary": "owner"}
        assert api.get(organization.path, as_=ada).json == answer.json

    def test_the_new_owner_has_the_owners_rights_and_the_former_an_admins(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        transfer(api, organization, ada, mary.id)
        assert api.delete(organization.path, as_=ada).code == "403 insufficient_role"
        assert transfer(api, organization, ada, ada.id) == "403 insufficient_role"
        assert api.get(f"{organization.path}/api-keys", as_=ada).status == 200
        assert transfer(api, organization, mary, ada.id) == "200"
        assert owners(api, organization, ada) == ["ada"]

    def test_only_the_owner_may(
        self, api: Api, organization: Founded, grace: Person, mary: Person, stranger: Person, operator: Person
    ) -> None:
        assert transfer(api, organization, grace, grace.id) == "403 insufficient_role"
        assert transfer(api, organization, mary, mary.id) == "403 insufficient_role"
        assert transfer(api, organization, stranger, stranger.id) == "404 not_found"
        assert transfer(api, organization, operator, operator.id) == "404 not_found"
        key = make_key(api, organization, "admin")
        answer = api.post(f"{organization.path}/transfer-ownership", as_=key, json={"newOwnerId": grace.id})
        assert answer.code == "403 forbidden"

    def test_the_new_owner_has_to_be_a_member(
        self, api: Api, organization: Founded, ada: Person, stranger: Person
    ) -> None:
        for user in (stranger.id, NOBODY):
            answer = api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": user})
            assert answer.code == "422 validation_failed"
            assert set(answer.faults) == {"/newOwnerId"}
        assert owners(api, organization, ada) == ["ada"]

    @pytest.mark.parametrize("user", ["", "x", None, 7, ["a"], NOBODY + "0"])
    def test_what_is_no_user_is_refused(self, api: Api, organization: Founded, ada: Person, user: object) -> None:
        assert transfer(api, organization, ada, user) == "422 validation_failed"

    def test_to_oneself_it_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        before = api.get(f"{organization.path}/audit-log", as_=ada).json
        assert transfer(api, organization, ada, ada.id.upper()) == "200"
        assert api.get(organization.path, as_=ada).json == organization.record
        assert api.get(f"{organization.path}/audit-log", as_=ada).json == before

    def test_the_new_owners_record_is_protected_and_the_former_ones_no_more(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        transfer(api, organization, ada, mary.id)
        protected = api.patch(f"{organization.path}/members/{mary.id}", as_=ada, json={"role": "member"})
        assert protected.code == "409 owner_must_transfer"
        assert api.delete(f"{organization.path}/members/{ada.id}", as_=mary).status == 204

    def test_one_entry_tells_of_it(self, api: Api, organization: Founded, ada: Person, mary: Person) -> None:
        transfer(api, organization, ada, mary.id)
        entry = api.get(f"{organization.path}/audit-log", as_=mary, query={"limit": 1}).json["items"][0]
        assert entry["type"] == "organization.ownership_transferred"
        assert entry["target"] == {
            "type": "organization",
            "id": organization.id,
            "name": organization.record["name"],
        }
        assert entry["changes"] == [{"field": "ownerId", "from": ada.id, "to": mary.id}]
        every = api.items(f"{organization.path}/audit-log", as_=mary)
        assert len(every) == 5

    def test_a_stale_if_match_is_refused(self, api: Api, organization: Founded, ada: Person, mary: Person) -> None:
        stale = api.get(organization.path, as_=ada).etag
        api.patch(organization.path, as_=ada, json={"name": "New"})
        answer = api.post(
            f"{organization.path}/transfer-ownership",
            as_=ada,
            json={"newOwnerId": mary.id},
            headers={"If-Match": stale},
        )
        assert answer.code == "412 precondition_failed"
        assert owners(api, organization, ada) == ["ada"]

    def test_of_several_at_once_one_wins_and_there_is_one_owner(
        self, api: Api, organization: Founded, ada: Person, grace: Person, edith: Person, mary: Person
    ) -> None:
        with ThreadPoolExecutor(3) as threads:
            outcomes = list(threads.map(lambda p: transfer(api, organization, ada, p.id), (grace, edith, mary)))
        assert sorted(outcomes) == ["200", "403 insufficient_role", "403 insufficient_role"]
        (owner,) = owners(api, organization, ada)
        assert (
            api.get(organization.path, as_=ada).json["ownerId"]
            == {
                "grace": grace.id,
                "edith": edith.id,
                "mary": mary.id,
            }[owner]
        )

    def test_while_the_chosen_one_leaves_there_is_always_one_owner(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        def leave(_: Person) -> str:
            return str(api.post(f"{organization.path}/leave", as_=mary).status)

        def give(_: Person) -> str:
            return transfer(api, organization, ada, mary.id)

        with ThreadPoolExecutor(2) as threads:
            left, given = threads.submit(leave, mary).result, threads.submit(give, ada).result
            assert (left(), given()) in (("204", "422 validation_failed"), ("409", "200"))
        assert len(owners(api, organization, ada)) == 1


class TestHowManyOrganizationsAUserOwns:
    def create(self, api: Api, person: Person) -> str:
        answer = api.post("/organizations", as_=person, json={"name": "Guild"})
        return answer.code if answer.status >= 400 else str(answer.json["id"])

    def test_is_limited_by_a_setting(self, api: Api, configure: Configure, ada: Person) -> None:
        configure(max_owned_organizations="2")
        first, second = self.create(api, ada), self.create(api, ada)
        assert self.create(api, ada) == "409 limit_exceeded"
        assert api.delete(f"/organizations/{first}", as_=ada).status == 204
        assert self.create(api, ada) not in (second, "409 limit_exceeded")

    def test_is_100_unless_it_is_set(self) -> None:
        assert Organization.quota is not None
        assert Organization.quota.maximum == 100

    def test_two_at_once_do_not_pass_it(self, api: Api, configure: Configure, ada: Person) -> None:
        configure(max_owned_organizations="3")
        with ThreadPoolExecutor(4) as threads:
            created = [*threads.map(lambda _: self.create(api, ada), range(8))]
        assert created.count("409 limit_exceeded") == 5

    def test_holds_for_whoever_is_to_own_another(
        self, api: Api, configure: Configure, organization: Founded, ada: Person, mary: Person
    ) -> None:
        configure(max_owned_organizations="1")
        own = self.create(api, mary)
        assert transfer(api, organization, ada, mary.id) == "409 limit_exceeded"
        assert owners(api, organization, ada) == ["ada"]
        assert api.delete(f"/organizations/{own}", as_=mary).status == 204
        assert transfer(api, organization, ada, mary.id) == "200"
        assert self.create(api, ada) != "409 limit_exceeded"
        assert self.create(api, mary) == "409 limit_exceeded"

    def test_holds_for_what_is_restored(self, api: Api, configure: Configure, ada: Person) -> None:
        configure(max_owned_organizations="1")
        deleted = f"/organizations/{self.create(api, ada)}"
        api.delete(deleted, as_=ada)
        other = f"/organizations/{self.create(api, ada)}"
        restored = api.patch(deleted, as_=ada, json={"status": "active"})
        assert restored.code == "409 limit_exceeded"
        assert api.get(deleted, as_=ada).code == "404 not_found"
        api.delete(other, as_=ada)
        assert api.patch(deleted, as_=ada, json={"status": "active"}).status == 200

    def test_does_not_count_what_was_there_before_the_limit_until_it_changes_hands(
        self, api: Api, configure: Configure, ada: Person, mary: Person
    ) -> None:
        configure(max_owned_organizations="1")
        former = found(api, ada, name="Before")
        for item in cloud.stored():  # As it was stored, and nothing counted it.
            if item["pk"] == f"O#{former.id}" and item["sk"] == "#":
                cloud.put({name: value for name, value in item.items() if name != "counted"})
            if item["sk"].startswith("COUNT#organizations"):
                cloud.remove(item)
        joins(former, mary, "member")
        assert api.patch(former.path, as_=ada, json={"name": "Still"}).status == 200
        assert self.create(api, ada) != "409 limit_exceeded"
        assert self.create(api, ada) == "409 limit_exceeded"
        assert transfer(api, former, ada, mary.id) == "200"
        assert self.create(api, mary) == "409 limit_exceeded"
        assert self.create(api, ada) == "409 limit_exceeded"
