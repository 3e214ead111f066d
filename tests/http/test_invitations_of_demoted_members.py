import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import (
    ACCEPTANCE,
    REVOKED,
    Invited,
    accepts,
    before_the_next_write,
    decides,
    declines,
    history,
    invite,
    opens,
    resend,
    status_of,
)
from tests.harness.organizations import Founded, make_key
from tests.harness.workers import Workers


@pytest.fixture
def invitation(api: Api, organization: Founded, grace: Person, stranger: Person) -> Invited:
    """An invitation to become an admin, which Grace, an admin, sent to Sophie."""
    return invite(api, organization, stranger, as_=grace, role="admin")


def set_role(api: Api, organization: Founded, person: Person, role: str) -> None:
    path = f"{organization.path}/members/{person.id}"
    assert api.patch(path, as_=organization.owner, json={"role": role}).status == 200


class TestInvitationsOfADemotedMember:
    @pytest.mark.parametrize("role", ["member", "editor"])
    def test_an_invitation_above_the_new_role_is_rejected_at_once(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invitation: Invited, role: str
    ) -> None:
        set_role(api, organization, grace, role)
        before = cloud.stored()
        for caller in (None, stranger, organization.owner):
            assert opens(api, invitation, caller).code == REVOKED
        for decision in ("accept", "decline"):
            assert decides(api, invitation, stranger, decision).code == REVOKED
        assert api.post(ACCEPTANCE, as_=stranger, json={"token": invitation.token}).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert cloud.stored() == before

    @pytest.mark.parametrize(("new_role", "role"), [("member", "member"), ("editor", "member"), ("editor", "editor")])
    def test_an_invitation_up_to_the_new_role_stays_valid(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, new_role: str, role: str
    ) -> None:
        invitation = invite(api, organization, stranger, as_=grace, role=role)
        set_role(api, organization, grace, new_role)
        assert opens(api, invitation).json["status"] == "pending"
        assert accepts(api, invitation, stranger)["membership"]["role"] == role

    def test_an_invitation_is_valid_again_when_the_role_is_restored(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invitation: Invited,
        clock: Clock,
        workers: Workers,
    ) -> None:
        set_role(api, organization, grace, "editor")
        clock.shift(minutes=1)
        workers.settle()
        assert opens(api, invitation).code == REVOKED
        assert status_of(api, organization, invitation) == "pending"
        set_role(api, organization, grace, "admin")
        assert accepts(api, invitation, stranger)["membership"]["role"] == "admin"
        assert history(api, organization, invitation) == ["created", "accepted"]

    def test_the_invitation_of_a_former_owner_stays_valid(
        self, api: Api, organization: Founded, grace: Person, stranger: Person
    ) -> None:
        invitation = invite(api, organization, stranger, role="admin")
        body = {"newOwnerId": grace.id}
        assert api.post(f"{organization.path}/transfer-ownership", as_=organization.owner, json=body).status == 200
        assert accepts(api, invitation, stranger)["membership"]["role"] == "admin"

    def test_a_member_who_accepted_before_keeps_the_role(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invitation: Invited
    ) -> None:
        first = accepts(api, invitation, stranger)
        set_role(api, organization, grace, "member")
        assert accepts(api, invitation, stranger) == first

    def test_declining_again_returns_the_same_response(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invitation: Invited
    ) -> None:
        first = declines(api, invitation, stranger)
        set_role(api, organization, grace, "member")
        assert declines(api, invitation, stranger) == first

    def test_an_expired_invitation_is_reported_as_expired(
        self, api: Api, organization: Founded, grace: Person, invitation: Invited, clock: Clock
    ) -> None:
        set_role(api, organization, grace, "member")
        clock.shift(days=8)
        assert opens(api, invitation).code == "410 invitation_expired"

    def test_accepting_during_the_demotion_is_rejected(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invitation: Invited,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before_the_next_write(monkeypatch, lambda: set_role(api, organization, grace, "editor"))
        assert decides(api, invitation, stranger).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"

    def test_an_invalid_invitation_is_not_resent_but_can_be_revoked_and_replaced(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invitation: Invited, clock: Clock
    ) -> None:
        set_role(api, organization, grace, "editor")
        clock.shift(minutes=2)
        response = api.post(f"{invitation.path}/resend", as_=organization.owner)
        assert response.code == "409 invalid_transition"
        assert "cannot grant 'admin' any more" in response.json["detail"]
        assert api.delete(invitation.path, as_=organization.owner).status == 204
        assert accepts(api, invite(api, organization, stranger, role="admin"), stranger)["status"] == "accepted"

    def test_an_invitation_up_to_the_new_role_can_be_resent(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, stranger, as_=grace, role="editor")
        set_role(api, organization, grace, "editor")
        clock.shift(minutes=2)
        assert accepts(api, resend(api, organization, invitation), stranger)["membership"]["role"] == "editor"

    def test_the_invitation_of_a_key_does_not_depend_on_its_creators_role(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, clock: Clock
    ) -> None:
        key = make_key(api, organization, "admin", as_=grace)
        invitation = invite(api, organization, stranger, as_=key, role="admin")
        set_role(api, organization, grace, "member")
        api.delete(f"{organization.keys}/{key.id}", as_=organization.owner)
        clock.shift(minutes=2)
        resent = resend(api, organization, invitation)
        assert accepts(api, resent, stranger)["membership"]["role"] == "admin"
