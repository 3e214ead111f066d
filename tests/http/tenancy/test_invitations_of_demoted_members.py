import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    REVOKED_PROBLEM,
    CreatedInvitation,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    resend_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import CreatedOrganization, create_api_key


@pytest.fixture
def invitation(api: ApiClient, organization: CreatedOrganization, grace: Person, stranger: Person) -> CreatedInvitation:
    """An invitation to become an admin, which Grace, an admin, sent to Sophie."""
    return create_invitation(api, organization, stranger, caller=grace, role="admin")


def set_role(api: ApiClient, organization: CreatedOrganization, person: Person, role: str) -> None:
    path = f"{organization.path}/members/{person.id}"
    assert api.patch(path, caller=organization.owner, json={"role": role}).status == 200


class TestInvitationsOfADemotedMember:
    @pytest.mark.parametrize("role", ["member", "editor"])
    def test_an_invitation_above_the_new_role_is_rejected_at_once(
        self, api, organization, grace, stranger, invitation, role
    ):
        set_role(api, organization, grace, role)
        before = memory_aws.all_items()
        for caller in (None, stranger, organization.owner):
            assert open_invitation(api, invitation, caller).status_and_code == REVOKED_PROBLEM
        for decision in ("accept", "decline"):
            assert decide_on_invitation(api, invitation, stranger, decision).status_and_code == REVOKED_PROBLEM
        assert (
            api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token}).status_and_code
            == REVOKED_PROBLEM
        )
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert memory_aws.all_items() == before

    @pytest.mark.parametrize(("new_role", "role"), [("member", "member"), ("editor", "member"), ("editor", "editor")])
    def test_an_invitation_up_to_the_new_role_stays_valid(self, api, organization, grace, stranger, new_role, role):
        invitation = create_invitation(api, organization, stranger, caller=grace, role=role)
        set_role(api, organization, grace, new_role)
        assert open_invitation(api, invitation).json["status"] == "pending"
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == role

    def test_an_invitation_is_valid_again_when_the_role_is_restored(
        self, api, organization, grace, stranger, invitation, clock, workers
    ):
        set_role(api, organization, grace, "editor")
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        assert get_invitation_status(api, organization, invitation) == "pending"
        set_role(api, organization, grace, "admin")
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]

    def test_the_invitation_of_a_former_owner_stays_valid(self, api, organization, grace, stranger):
        invitation = create_invitation(api, organization, stranger, role="admin")
        body = {"newOwnerId": grace.id}
        assert api.post(f"{organization.path}/transfer-ownership", caller=organization.owner, json=body).status == 200
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"

    def test_a_member_who_accepted_before_keeps_the_role(self, api, organization, grace, stranger, invitation):
        first = accept_invitation(api, invitation, stranger)
        set_role(api, organization, grace, "member")
        assert accept_invitation(api, invitation, stranger) == first

    def test_declining_again_returns_the_same_response(self, api, organization, grace, stranger, invitation):
        first = decline_invitation(api, invitation, stranger)
        set_role(api, organization, grace, "member")
        assert decline_invitation(api, invitation, stranger) == first

    def test_an_expired_invitation_is_reported_as_expired(self, api, organization, grace, invitation, clock):
        set_role(api, organization, grace, "member")
        clock.shift(days=8)
        assert open_invitation(api, invitation).status_and_code == "410 invitation_expired"

    def test_accepting_during_the_demotion_is_rejected(
        self, api, organization, grace, stranger, invitation, monkeypatch
    ):
        run_before_next_transaction(monkeypatch, lambda: set_role(api, organization, grace, "editor"))
        assert decide_on_invitation(api, invitation, stranger).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"

    def test_an_invalid_invitation_is_not_resent_but_can_be_revoked_and_replaced(
        self, api, organization, grace, stranger, invitation, clock
    ):
        set_role(api, organization, grace, "editor")
        clock.shift(minutes=2)
        response = api.post(f"{invitation.path}/resend", caller=organization.owner)
        assert response.status_and_code == "409 invalid_transition"
        assert "cannot grant 'admin' any more" in response.json["detail"]
        assert api.delete(invitation.path, caller=organization.owner).status == 204
        assert (
            accept_invitation(api, create_invitation(api, organization, stranger, role="admin"), stranger)["status"]
            == "accepted"
        )

    def test_an_invitation_up_to_the_new_role_can_be_resent(self, api, organization, grace, stranger, clock):
        invitation = create_invitation(api, organization, stranger, caller=grace, role="editor")
        set_role(api, organization, grace, "editor")
        clock.shift(minutes=2)
        assert (
            accept_invitation(api, resend_invitation(api, organization, invitation), stranger)["membership"]["role"]
            == "editor"
        )

    def test_the_invitation_of_a_key_does_not_depend_on_its_creators_role(
        self, api, organization, grace, stranger, clock
    ):
        key = create_api_key(api, organization, "admin", caller=grace)
        invitation = create_invitation(api, organization, stranger, caller=key, role="admin")
        set_role(api, organization, grace, "member")
        api.delete(f"{organization.api_keys_path}/{key.id}", caller=organization.owner)
        clock.shift(minutes=2)
        resent = resend_invitation(api, organization, invitation)
        assert accept_invitation(api, resent, stranger)["membership"]["role"] == "admin"
