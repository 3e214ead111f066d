import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE,
    Invited,
    accepts,
    before_the_next_write,
    decides,
    declines,
    history,
    invite,
    status_of,
)
from tests.harness.organizations import Founded, joins


@pytest.fixture
def invitation(api: Api, organization: Founded, stranger: Person) -> Invited:
    """Sophie's invitation as an editor. She joins by other means before she responds."""
    return invite(api, organization, stranger, role="editor")


def role_of(api: Api, organization: Founded, person: Person) -> str:
    return str(api.get(f"{organization.path}/members/{person.id}", as_=organization.owner).json["role"])


class TestInvitationsOfCurrentMembers:
    def test_the_rejection_names_the_request_that_raises_the_role(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        before = cloud.stored()
        for response in (
            decides(api, invitation, stranger),
            api.post(ACCEPTANCE, as_=stranger, json={"token": invitation.token}),
        ):
            assert response.code == "409 already_member"
            assert "as 'member'" in response.json["detail"]
            assert f"PATCH {organization.path}/members/{stranger.id}" in response.json["detail"]
        assert cloud.stored() == before
        assert status_of(api, organization, invitation) == "pending"
        assert declines(api, invitation, stranger)["membership"] is None
        assert role_of(api, organization, stranger) == "member"

    def test_a_member_accepts_once_their_role_covers_the_invitation(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        assert decides(api, invitation, stranger).code == "409 already_member"
        api.patch(f"{organization.path}/members/{stranger.id}", as_=ada, json={"role": "editor"})
        assert accepts(api, invitation, stranger)["membership"]["role"] == "editor"
        assert history(api, organization, invitation) == ["created", "accepted"]

    @pytest.mark.parametrize("role", ["editor", "admin"])
    def test_a_role_that_covers_the_invitation_is_unchanged(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person, role: str
    ) -> None:
        member = joins(organization, stranger, role)
        response = accepts(api, invitation, stranger)
        assert (response["status"], response["membership"]["id"]) == ("accepted", member.id)
        assert role_of(api, organization, stranger) == role

    def test_a_concurrent_demotion_rejects_the_acceptance(
        self,
        api: Api,
        organization: Founded,
        invitation: Invited,
        ada: Person,
        stranger: Person,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        joins(organization, stranger, "editor")
        path = f"{organization.path}/members/{stranger.id}"
        before_the_next_write(monkeypatch, lambda: api.patch(path, as_=ada, json={"role": "member"}))
        assert decides(api, invitation, stranger).code == "409 already_member"
        assert status_of(api, organization, invitation) == "pending"
