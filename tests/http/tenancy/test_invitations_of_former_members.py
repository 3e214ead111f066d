import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.invitations import (
    REVOKED_PROBLEM,
    SOPHIE_EMAIL,
    CreatedInvitation,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_api_key


@pytest.fixture
def invitations(
    api: ApiClient, organization: CreatedOrganization, grace: Person, stranger: Person
) -> tuple[CreatedInvitation, CreatedInvitation]:
    """Two invitations: Grace's, and Ada's to another address."""
    return create_invitation(api, organization, stranger, caller=grace), create_invitation(
        api, organization, SOPHIE_EMAIL
    )


class TestInvitationsOfAFormerMember:
    @pytest.mark.parametrize("departure", ["removed", "left"])
    def test_an_invitation_is_rejected_as_soon_as_the_inviter_is_gone(
        self, api, organization, grace, stranger, invitations, departure
    ):
        if departure == "removed":
            api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        else:
            api.post(f"{organization.path}/leave", caller=grace)
        by_grace, by_ada = invitations
        for caller in (None, stranger):
            assert open_invitation(api, by_grace, caller).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, by_grace) == "revoked"
        assert open_invitation(api, by_ada).json["status"] == "pending"

    def test_its_address_is_free_at_once(self, api, organization, grace, stranger, invitations):
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        repeated = create_invitation(api, organization, stranger)
        assert accept_invitation(api, repeated, stranger)["membership"]["role"] == "member"
        assert open_invitation(api, invitations[0], stranger).status_and_code == REVOKED_PROBLEM

    def test_it_stays_rejected_when_the_inviter_returns(
        self, api, organization, grace, stranger, invitations, clock, workers
    ):
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        add_organization_member(organization, grace, "admin")
        for _ in range(2):
            assert open_invitation(api, invitations[0], stranger).status_and_code == REVOKED_PROBLEM
            clock.shift(minutes=1)
            workers.run_until_idle()

    def test_an_invitation_sent_after_the_return_is_valid(self, api, organization, grace, stranger, clock, workers):
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        add_organization_member(organization, grace, "admin")
        invitation = create_invitation(api, organization, stranger, caller=grace)
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert accept_invitation(api, invitation, stranger)["invitedBy"] == grace.id

    def test_a_member_who_accepted_before_stays_a_member(
        self, api, organization, grace, invitations, stranger, clock, workers
    ):
        accept_invitation(api, invitations[0], stranger)
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert get_invitation_status(api, organization, invitations[0]) == "accepted"
        repeated = accept_invitation(api, invitations[0], stranger)
        assert (repeated["membership"]["userId"], repeated["inviterName"]) == (stranger.id, None)

    def test_ninety_invitations_are_all_revoked(self, api, organization, grace, clock, workers):
        by_ada = create_invitation(api, organization, SOPHIE_EMAIL)
        by_grace = [create_invitation(api, organization, f"{n}@example.org", caller=grace) for n in range(90)]
        assert api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner).status == 204
        for invitation in by_grace:
            assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        clock.shift(minutes=1)
        workers.run_until_idle()
        listed = api.get_items(f"{organization.path}/invitations", caller=organization.owner, query={"limit": 100})
        assert {i["id"] for i in listed if i["status"] == "pending"} == {by_ada.id}
        assert {i["status"] for i in listed if i["id"] != by_ada.id} == {"revoked"}

    def test_no_item_of_the_departure_remains(self, api, organization, grace, clock, workers):
        create_invitation(api, organization, SOPHIE_EMAIL, caller=grace)
        workers.run_until_idle()
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        clock.shift(minutes=1)
        workers.run_until_idle()
        record_types = {
            item["kind"] for item in memory_aws.all_items() if item["pk"] == f"O#{organization.id}" and "kind" in item
        }
        assert record_types == {"organization", "organization.member", "organization.invitation"}

    def test_an_expired_invitation_stays_expired(self, api, organization, grace, clock, workers):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL, caller=grace)
        clock.shift(days=8)
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        for _ in range(2):
            assert get_invitation_status(api, organization, invitation) == "expired"
            clock.shift(minutes=1)
            workers.run_until_idle()
        assert invitation_events(api, organization, invitation) == ["created", "expired"]

    def test_the_invitation_of_a_revoked_key_stays_valid(self, api, organization, stranger):
        key = create_api_key(api, organization, "admin")
        invitation = create_invitation(api, organization, stranger, caller=key)
        api.delete(f"{organization.api_keys_path}/{key.id}", caller=organization.owner)
        assert accept_invitation(api, invitation, stranger)["inviterName"] is None


class TestWhenTheIndexOfInvitationsLags:
    @pytest.fixture(autouse=True)
    def _empty_index(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])

    def test_invitations_are_rejected_at_once_and_revoked_later(
        self, api, organization, grace, stranger, invitations, clock, workers
    ):
        by_grace, by_ada = invitations
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        for caller in (None, stranger):
            assert open_invitation(api, by_grace, caller).status_and_code == REVOKED_PROBLEM
        assert invitation_events(api, organization, by_grace) == ["created"]
        clock.shift(minutes=1)
        workers.run_until_idle()
        workers.run_until_idle()
        assert invitation_events(api, organization, by_grace) == ["created", "revoked"]
        assert [get_invitation_status(api, organization, invitation) for invitation in (by_grace, by_ada)] == [
            "revoked",
            "pending",
        ]

    def test_the_service_is_the_actor_of_the_revocation(self, api, organization, grace, invitations, clock, workers):
        api.post(f"{organization.path}/leave", caller=grace)
        clock.shift(minutes=1)
        workers.run_until_idle()
        (revocation, _) = list_entries(api, organization, targetId=invitations[0].id)
        assert revocation["actor"] == {"type": "system", "id": None, "name": None}
        assert revocation["context"]["operationId"] == "members.depart"
        assert revocation["changes"] == [{"field": "status", "from": "pending", "to": "revoked"}]

    def test_an_invitation_sent_after_the_return_is_not_revoked(
        self, api, organization, grace, invitations, clock, workers
    ):
        api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        add_organization_member(organization, grace, "admin")
        assert open_invitation(api, invitations[0]).status_and_code == REVOKED_PROBLEM
        new_invitation = create_invitation(api, organization, "later@example.org", caller=grace)
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert [
            get_invitation_status(api, organization, invitation) for invitation in (invitations[0], new_invitation)
        ] == [
            "revoked",
            "pending",
        ]

    def test_accepting_during_the_departure_is_rejected(
        self, api, organization, grace, stranger, invitations, monkeypatch
    ):
        run_before_next_transaction(monkeypatch, lambda: api.post(f"{organization.path}/leave", caller=grace))
        assert decide_on_invitation(api, invitations[0], stranger).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
