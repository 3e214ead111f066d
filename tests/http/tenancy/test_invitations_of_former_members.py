import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import (
    REVOKED_PROBLEM,
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    leave_organization,
    remove_member,
    revoke_api_key,
)


@pytest.fixture
def by_grace(api, organization, grace, stranger):
    """Grace's invitation to Sophie."""
    return create_invitation(api, organization, stranger, caller=grace)


@pytest.fixture
def by_ada(api, organization):
    """Ada's invitation to another address."""
    return create_invitation(api, organization, SOPHIE_EMAIL)


@pytest.fixture
def await_revocation(clock, workers):
    """A function that runs the workers a minute later."""

    def await_revocation() -> None:
        clock.shift(minutes=1)
        workers.run_until_idle()

    return await_revocation


class TestInvitationsOfAFormerMember:
    @pytest.mark.parametrize("depart", [remove_member, leave_organization])
    def test_an_invitation_is_rejected_as_soon_as_the_inviter_is_gone(
        self, api, organization, grace, stranger, by_grace, by_ada, depart
    ):
        depart(api, organization, grace)
        for caller in (None, stranger):
            assert open_invitation(api, by_grace, caller).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, by_grace) == "revoked"
        assert open_invitation(api, by_ada).json["status"] == "pending"
        repeated = create_invitation(api, organization, stranger)
        assert accept_invitation(api, repeated, stranger)["membership"]["role"] == "member"
        assert open_invitation(api, by_grace, stranger).status_and_code == REVOKED_PROBLEM

    def test_when_the_inviter_returns_only_new_invitations_are_valid(
        self, api, organization, grace, stranger, by_grace, await_revocation
    ):
        remove_member(api, organization, grace)
        add_organization_member(organization, grace, "admin")
        new_invitation = create_invitation(api, organization, stranger, caller=grace)
        for _ in range(2):
            assert open_invitation(api, by_grace, stranger).status_and_code == REVOKED_PROBLEM
            await_revocation()
        assert accept_invitation(api, new_invitation, stranger)["invitedBy"] == grace.id

    def test_a_member_who_accepted_before_stays_a_member(
        self, api, organization, grace, by_grace, stranger, await_revocation
    ):
        accept_invitation(api, by_grace, stranger)
        remove_member(api, organization, grace)
        await_revocation()
        assert get_invitation_status(api, organization, by_grace) == "accepted"
        repeated = accept_invitation(api, by_grace, stranger)
        assert (repeated["membership"]["userId"], repeated["inviterName"]) == (stranger.id, None)

    def test_more_invitations_than_a_transaction_holds_are_all_revoked(
        self, api, organization, grace, by_ada, await_revocation
    ):
        by_grace = [create_invitation(api, organization, f"{n}@example.org", caller=grace) for n in range(42)]
        assert remove_member(api, organization, grace).status == 204
        for invitation in by_grace[::41]:
            assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        await_revocation()
        listed = api.get_items(f"{organization.path}/invitations", caller=organization.owner, query={"limit": 100})
        assert {i["id"] for i in listed if i["status"] == "pending"} == {by_ada.id}
        assert {i["status"] for i in listed if i["id"] != by_ada.id} == {"revoked"}

    @pytest.mark.usefixtures("by_grace")
    def test_no_item_of_the_departure_remains(self, api, organization, grace, workers, await_revocation):
        workers.run_until_idle()
        remove_member(api, organization, grace)
        await_revocation()
        items = [item for item in memory_aws.all_items() if item["pk"] == f"O#{organization.id}"]
        kinds = {item["kind"] for item in items if "kind" in item}
        assert kinds == {"organization", "organization.member", "organization.invitation"}

    def test_an_expired_invitation_stays_expired(self, api, organization, grace, by_grace, clock, await_revocation):
        clock.shift(days=8)
        remove_member(api, organization, grace)
        for _ in range(2):
            assert get_invitation_status(api, organization, by_grace) == "expired"
            await_revocation()
        assert invitation_events(api, organization, by_grace) == ["created", "expired"]

    def test_the_invitation_of_a_revoked_key_stays_valid(self, api, organization, stranger):
        key = create_api_key(api, organization, "admin")
        invitation = create_invitation(api, organization, stranger, caller=key)
        revoke_api_key(api, organization, key)
        assert accept_invitation(api, invitation, stranger)["inviterName"] is None


class TestWhenTheIndexOfInvitationsLags:
    @pytest.fixture(autouse=True)
    def empty_index(self, monkeypatch):
        monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])

    def test_invitations_are_rejected_at_once_and_revoked_later_by_the_service(
        self, api, organization, grace, stranger, by_grace, by_ada, await_revocation
    ):
        remove_member(api, organization, grace)
        for caller in (None, stranger):
            assert open_invitation(api, by_grace, caller).status_and_code == REVOKED_PROBLEM
        assert invitation_events(api, organization, by_grace) == ["created"]
        for _ in range(2):
            await_revocation()
        (revocation, _) = list_entries(api, organization, targetId=by_grace.id)
        assert revocation["type"] == "organization.invitation.revoked"
        assert revocation["actor"] == {"type": "system", "id": None, "name": None}
        assert revocation["context"]["operationId"] == "members.depart"
        assert revocation["changes"] == [{"field": "status", "from": "pending", "to": "revoked"}]
        statuses = [get_invitation_status(api, organization, invitation) for invitation in (by_grace, by_ada)]
        assert statuses == ["revoked", "pending"]

    def test_an_invitation_sent_after_the_return_is_not_revoked(
        self, api, organization, grace, by_grace, await_revocation
    ):
        remove_member(api, organization, grace)
        add_organization_member(organization, grace, "admin")
        assert open_invitation(api, by_grace).status_and_code == REVOKED_PROBLEM
        new_invitation = create_invitation(api, organization, "later@example.org", caller=grace)
        await_revocation()
        statuses = [get_invitation_status(api, organization, invitation) for invitation in (by_grace, new_invitation)]
        assert statuses == ["revoked", "pending"]

    def test_accepting_during_the_departure_is_rejected(
        self, api, organization, grace, stranger, by_grace, monkeypatch
    ):
        run_before_next_transaction(monkeypatch, lambda: leave_organization(api, organization, grace))
        assert decide_on_invitation(api, by_grace, stranger).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
