"""Erasures of the owner, who cannot be erased, and of people who share an email address with the owner."""

from dataclasses import replace

import pytest

from tests.harness import snapshots
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock, ago
from tests.harness.erasures import begin_erasure, erased, finish, found_at, left_of
from tests.harness.invitations import accepts, invite
from tests.harness.organizations import Founded, joins
from tests.harness.workers import Workers

OWNER_ERROR = (
    "This person owns the organization. Transfer the ownership to another member, then create the erasure again."
)


def transfer_ownership(api: Api, organization: Founded, new_owner: Person) -> None:
    path = f"{organization.path}/transfer-ownership"
    assert api.post(path, as_=organization.owner, json={"newOwnerId": new_owner.id}).status == 200


class TestErasureOfTheOwner:
    @pytest.fixture
    def owned_by_returned_ada(
        self, api: Api, organization: Founded, ada: Person, grace: Person, issuer: Issuer
    ) -> Founded:
        """The organization, owned by Ada again, whose email address has changed since she created it."""
        ada_with_new_email = issuer.person("ada", "Ada Lovelace", email="ada@lovelace.example")
        transfer_ownership(api, organization, grace)
        api.post(f"{organization.path}/leave", as_=ada)
        owned_by_grace = replace(organization, owner=grace)
        accepts(api, invite(api, owned_by_grace, ada_with_new_email), ada_with_new_email)
        transfer_ownership(api, owned_by_grace, ada)
        return replace(organization, owner=ada_with_new_email)

    def test_the_former_email_address_of_the_owner_does_not_erase_them(
        self, api: Api, organization: Founded, owned_by_returned_ada: Founded, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, owned_by_returned_ada, email="ada@example.com")
        finish(workers, clock)
        self._assert_failed(api, organization, path)

    def test_a_member_who_becomes_the_owner_is_not_erased(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        transfer_ownership(api, organization, grace)
        finish(workers, clock)
        self._assert_failed(api, replace(organization, owner=grace), path)

    def test_an_owner_who_joined_during_the_completion_stays_and_the_erasure_reports_it(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        workers.deliver()
        with ago(minutes=1):
            joins(organization, grace, "admin")
        transfer_ownership(api, organization, grace)
        finish(workers, clock)
        record = found_at(api, replace(organization, owner=grace), path)
        assert (record["status"], record["error"]) == ("completed", OWNER_ERROR)

    def test_another_user_with_the_former_email_address_of_the_owner_can_be_erased(
        self,
        api: Api,
        organization: Founded,
        owned_by_returned_ada: Founded,
        issuer: Issuer,
        workers: Workers,
        clock: Clock,
    ) -> None:
        emmy = issuer.person("emmy", "Emmy Noether", email="ada@example.com")
        accepts(api, invite(api, owned_by_returned_ada, emmy), emmy)
        path = begin_erasure(api, owned_by_returned_ada, email=emmy.email)
        finish(workers, clock)
        assert found_at(api, owned_by_returned_ada, path)["error"] == OWNER_ERROR
        erased(api, workers, clock, owned_by_returned_ada, userId=emmy.id)
        assert left_of(emmy.id, emmy.email) == []
        assert api.get(organization.path, as_=owned_by_returned_ada.owner).status == 200

    @staticmethod
    def _assert_failed(api: Api, organization: Founded, path: str) -> None:
        record = found_at(api, organization, path)
        assert (record["status"], record["erasedRecords"], record["erasedEntries"]) == ("failed", 0, 0)
        assert record["error"] == OWNER_ERROR
        assert [m["role"] for m in api.items(f"{organization.path}/members", as_=organization.owner)].count(
            "owner"
        ) == 1
        (stored,) = [
            item for (pk, sk), item in snapshots.stored().items() if pk == f"O#{organization.id}" and sk[:2] == "Z#"
        ]
        assert (stored["user_ids"], stored["emails"], stored.get("position")) == ([], [], None)
