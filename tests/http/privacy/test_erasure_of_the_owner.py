"""Erasures of the owner, who cannot be erased, and of people who share an email address with the owner."""

from dataclasses import replace

import pytest

from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.clock import backdate
from tests.harness.erasures import (
    complete_erasure,
    create_erasure,
    finish_erasures,
    get_erasure,
    keys_of_items_containing,
)
from tests.harness.invitations import accept_invitation, create_invitation
from tests.harness.organizations import CreatedOrganization, add_organization_member

OWNER_ERROR = (
    "This person owns the organization. Transfer the ownership to another member, then create the erasure again."
)


def transfer_ownership(api: ApiClient, organization: CreatedOrganization, new_owner: Person) -> None:
    path = f"{organization.path}/transfer-ownership"
    assert api.post(path, caller=organization.owner, json={"newOwnerId": new_owner.id}).status == 200


class TestErasureOfTheOwner:
    @pytest.fixture
    def owned_by_returned_ada(
        self, api: ApiClient, organization: CreatedOrganization, ada: Person, grace: Person, issuer: Issuer
    ) -> CreatedOrganization:
        """The organization, owned by Ada again, whose email address has changed since she created it."""
        ada_with_new_email = issuer.create_person("ada", "Ada Lovelace", email="ada@lovelace.example")
        transfer_ownership(api, organization, grace)
        api.post(f"{organization.path}/leave", caller=ada)
        owned_by_grace = replace(organization, owner=grace)
        accept_invitation(api, create_invitation(api, owned_by_grace, ada_with_new_email), ada_with_new_email)
        transfer_ownership(api, owned_by_grace, ada)
        return replace(organization, owner=ada_with_new_email)

    def test_the_former_email_address_of_the_owner_does_not_erase_them(
        self, api, organization, owned_by_returned_ada, workers, clock
    ):
        path = create_erasure(api, owned_by_returned_ada, email="ada@example.com")
        finish_erasures(workers, clock)
        self._assert_failed(api, organization, path)

    def test_a_member_who_becomes_the_owner_is_not_erased(self, api, organization, grace, workers, clock):
        path = create_erasure(api, organization, userId=grace.id)
        transfer_ownership(api, organization, grace)
        finish_erasures(workers, clock)
        self._assert_failed(api, replace(organization, owner=grace), path)

    def test_an_owner_who_joined_during_the_completion_stays_and_the_erasure_reports_it(
        self, api, organization, grace, workers, clock
    ):
        path = create_erasure(api, organization, userId=grace.id)
        workers.deliver()
        with backdate(minutes=1):
            add_organization_member(organization, grace, "admin")
        transfer_ownership(api, organization, grace)
        finish_erasures(workers, clock)
        record = get_erasure(api, replace(organization, owner=grace), path)
        assert (record["status"], record["error"]) == ("completed", OWNER_ERROR)

    def test_another_user_with_the_former_email_address_of_the_owner_can_be_erased(
        self, api, organization, owned_by_returned_ada, issuer, workers, clock
    ):
        emmy = issuer.create_person("emmy", "Emmy Noether", email="ada@example.com")
        accept_invitation(api, create_invitation(api, owned_by_returned_ada, emmy), emmy)
        path = create_erasure(api, owned_by_returned_ada, email=emmy.email)
        finish_erasures(workers, clock)
        assert get_erasure(api, owned_by_returned_ada, path)["error"] == OWNER_ERROR
        complete_erasure(api, workers, clock, owned_by_returned_ada, userId=emmy.id)
        assert keys_of_items_containing(emmy.id, emmy.email) == []
        assert api.get(organization.path, caller=owned_by_returned_ada.owner).status == 200

    @staticmethod
    def _assert_failed(api: ApiClient, organization: CreatedOrganization, path: str) -> None:
        record = get_erasure(api, organization, path)
        assert (record["status"], record["erasedRecords"], record["erasedEntries"]) == ("failed", 0, 0)
        assert record["error"] == OWNER_ERROR
        assert [m["role"] for m in api.get_items(f"{organization.path}/members", caller=organization.owner)].count(
            "owner"
        ) == 1
        (stored,) = [
            item
            for (pk, sk), item in snapshots.items_by_key().items()
            if pk == f"O#{organization.id}" and sk[:2] == "Z#"
        ]
        assert (stored["user_ids"], stored["emails"], stored.get("position")) == ([], [], None)
