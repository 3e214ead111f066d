import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    accept_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    run_before_next_transaction,
)
from tests.harness.organizations import CreatedOrganization, add_organization_member


def role_of(api: ApiClient, organization: CreatedOrganization, person: Person) -> str:
    return str(api.get(f"{organization.path}/members/{person.id}", caller=organization.owner).json["role"])


class TestInvitationsOfCurrentMembers:
    def test_the_rejection_names_the_request_that_raises_the_role(self, api, organization, invitation, stranger):
        add_organization_member(organization, stranger, "member")
        before = memory_aws.all_items()
        for response in (
            decide_on_invitation(api, invitation, stranger),
            api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token}),
        ):
            assert response.status_and_code == "409 already_member"
            assert "as 'member'" in response.json["detail"]
            assert f"PATCH {organization.path}/members/{stranger.id}" in response.json["detail"]
        assert memory_aws.all_items() == before
        assert get_invitation_status(api, organization, invitation) == "pending"
        assert decline_invitation(api, invitation, stranger)["membership"] is None
        assert role_of(api, organization, stranger) == "member"

    def test_a_member_accepts_once_their_role_covers_the_invitation(self, api, organization, invitation, ada, stranger):
        add_organization_member(organization, stranger, "member")
        assert decide_on_invitation(api, invitation, stranger).status_and_code == "409 already_member"
        api.patch(f"{organization.path}/members/{stranger.id}", caller=ada, json={"role": "editor"})
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "editor"
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]

    @pytest.mark.parametrize("role", ["editor", "admin"])
    def test_a_role_that_covers_the_invitation_is_unchanged(self, api, organization, invitation, stranger, role):
        member = add_organization_member(organization, stranger, role)
        response = accept_invitation(api, invitation, stranger)
        assert (response["status"], response["membership"]["id"]) == ("accepted", member.id)
        assert role_of(api, organization, stranger) == role

    def test_a_concurrent_demotion_rejects_the_acceptance(
        self, api, organization, invitation, ada, stranger, monkeypatch
    ):
        add_organization_member(organization, stranger, "editor")
        path = f"{organization.path}/members/{stranger.id}"
        run_before_next_transaction(monkeypatch, lambda: api.patch(path, caller=ada, json={"role": "member"}))
        assert decide_on_invitation(api, invitation, stranger).status_and_code == "409 already_member"
        assert get_invitation_status(api, organization, invitation) == "pending"
