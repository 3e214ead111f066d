import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import (
    REVOKED,
    SOPHIE,
    Invited,
    accepts,
    before_the_next_write,
    decides,
    history,
    invite,
    opens,
    status_of,
)
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, joins, make_key
from tests.harness.workers import Workers


@pytest.fixture
def invitations(api: Api, organization: Founded, grace: Person, stranger: Person) -> tuple[Invited, Invited]:
    """Two invitations: Grace's, and Ada's to another address."""
    return invite(api, organization, stranger, as_=grace), invite(api, organization, SOPHIE)


class TestInvitationsOfAFormerMember:
    @pytest.mark.parametrize("departure", ["removed", "left"])
    def test_an_invitation_is_rejected_as_soon_as_the_inviter_is_gone(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invitations: tuple[Invited, Invited],
        departure: str,
    ) -> None:
        if departure == "removed":
            api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        else:
            api.post(f"{organization.path}/leave", as_=grace)
        by_grace, by_ada = invitations
        for caller in (None, stranger):
            assert opens(api, by_grace, caller).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert status_of(api, organization, by_grace) == "revoked"
        assert opens(api, by_ada).json["status"] == "pending"

    def test_its_address_is_free_at_once(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invitations: tuple[Invited, Invited]
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        repeated = invite(api, organization, stranger)
        assert accepts(api, repeated, stranger)["membership"]["role"] == "member"
        assert opens(api, invitations[0], stranger).code == REVOKED

    def test_it_stays_rejected_when_the_inviter_returns(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invitations: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        joins(organization, grace, "admin")
        for _ in range(2):
            assert opens(api, invitations[0], stranger).code == REVOKED
            clock.shift(minutes=1)
            workers.settle()

    def test_an_invitation_sent_after_the_return_is_valid(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, clock: Clock, workers: Workers
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        joins(organization, grace, "admin")
        invitation = invite(api, organization, stranger, as_=grace)
        clock.shift(minutes=1)
        workers.settle()
        assert accepts(api, invitation, stranger)["invitedBy"] == grace.id

    def test_a_member_who_accepted_before_stays_a_member(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        invitations: tuple[Invited, Invited],
        stranger: Person,
        clock: Clock,
        workers: Workers,
    ) -> None:
        accepts(api, invitations[0], stranger)
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        clock.shift(minutes=1)
        workers.settle()
        assert status_of(api, organization, invitations[0]) == "accepted"
        repeated = accepts(api, invitations[0], stranger)
        assert (repeated["membership"]["userId"], repeated["inviterName"]) == (stranger.id, None)

    def test_ninety_invitations_are_all_revoked(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers
    ) -> None:
        by_ada = invite(api, organization, SOPHIE)
        by_grace = [invite(api, organization, f"{n}@example.org", as_=grace) for n in range(90)]
        assert api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner).status == 204
        for invitation in by_grace:
            assert opens(api, invitation).code == REVOKED
        clock.shift(minutes=1)
        workers.settle()
        listed = api.items(f"{organization.path}/invitations", as_=organization.owner, query={"limit": 100})
        assert {i["id"] for i in listed if i["status"] == "pending"} == {by_ada.id}
        assert {i["status"] for i in listed if i["id"] != by_ada.id} == {"revoked"}

    def test_no_item_of_the_departure_remains(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers
    ) -> None:
        invite(api, organization, SOPHIE, as_=grace)
        workers.settle()
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        clock.shift(minutes=1)
        workers.settle()
        record_types = {
            item["kind"] for item in cloud.stored() if item["pk"] == f"O#{organization.id}" and "kind" in item
        }
        assert record_types == {"organization", "organization.member", "organization.invitation"}

    def test_an_expired_invitation_stays_expired(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers
    ) -> None:
        invitation = invite(api, organization, SOPHIE, as_=grace)
        clock.shift(days=8)
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        for _ in range(2):
            assert status_of(api, organization, invitation) == "expired"
            clock.shift(minutes=1)
            workers.settle()
        assert history(api, organization, invitation) == ["created", "expired"]

    def test_the_invitation_of_a_revoked_key_stays_valid(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        key = make_key(api, organization, "admin")
        invitation = invite(api, organization, stranger, as_=key)
        api.delete(f"{organization.keys}/{key.id}", as_=organization.owner)
        assert accepts(api, invitation, stranger)["inviterName"] is None


class TestWhenTheIndexOfInvitationsLags:
    @pytest.fixture(autouse=True)
    def _empty_index(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])

    def test_invitations_are_rejected_at_once_and_revoked_later(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invitations: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        by_grace, by_ada = invitations
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        for caller in (None, stranger):
            assert opens(api, by_grace, caller).code == REVOKED
        assert history(api, organization, by_grace) == ["created"]
        clock.shift(minutes=1)
        workers.settle()
        workers.settle()
        assert history(api, organization, by_grace) == ["created", "revoked"]
        assert [status_of(api, organization, invitation) for invitation in (by_grace, by_ada)] == ["revoked", "pending"]

    def test_the_service_is_the_actor_of_the_revocation(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        invitations: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        api.post(f"{organization.path}/leave", as_=grace)
        clock.shift(minutes=1)
        workers.settle()
        (revocation, _) = log_of(api, organization, targetId=invitations[0].id)
        assert revocation["actor"] == {"type": "system", "id": None, "name": None}
        assert revocation["context"]["operationId"] == "members.depart"
        assert revocation["changes"] == [{"field": "status", "from": "pending", "to": "revoked"}]

    def test_an_invitation_sent_after_the_return_is_not_revoked(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        invitations: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        joins(organization, grace, "admin")
        assert opens(api, invitations[0]).code == REVOKED
        new_invitation = invite(api, organization, "later@example.org", as_=grace)
        clock.shift(minutes=1)
        workers.settle()
        assert [status_of(api, organization, invitation) for invitation in (invitations[0], new_invitation)] == [
            "revoked",
            "pending",
        ]

    def test_accepting_during_the_departure_is_rejected(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invitations: tuple[Invited, Invited],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before_the_next_write(monkeypatch, lambda: api.post(f"{organization.path}/leave", as_=grace))
        assert decides(api, invitations[0], stranger).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
