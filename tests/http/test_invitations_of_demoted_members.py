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
def invited(api: Api, organization: Founded, grace: Person, stranger: Person) -> Invited:
    """Sophie's invitation to become an admin, by Grace, who is one."""
    return invite(api, organization, stranger, as_=grace, role="admin")


def becomes(api: Api, organization: Founded, person: Person, role: str) -> None:
    path = f"{organization.path}/members/{person.id}"
    assert api.patch(path, as_=organization.owner, json={"role": role}).status == 200


class TestWhatADemotedMemberInvited:
    @pytest.mark.parametrize("role", ["member", "editor"])
    def test_above_their_new_role_it_is_dead_at_once(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invited: Invited, role: str
    ) -> None:
        becomes(api, organization, grace, role)
        before = cloud.stored()
        for caller in (None, stranger, organization.owner):
            assert opens(api, invited, caller).code == REVOKED
        for decision in ("accept", "decline"):
            assert decides(api, invited, stranger, decision).code == REVOKED
        assert api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token}).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert cloud.stored() == before

    @pytest.mark.parametrize(("became", "role"), [("member", "member"), ("editor", "member"), ("editor", "editor")])
    def test_up_to_their_new_role_it_is_alive(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, became: str, role: str
    ) -> None:
        invited = invite(api, organization, stranger, as_=grace, role=role)
        becomes(api, organization, grace, became)
        assert opens(api, invited).json["status"] == "pending"
        assert accepts(api, invited, stranger)["membership"]["role"] == role

    def test_it_lives_again_once_they_are_what_they_were(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invited: Invited,
        clock: Clock,
        workers: Workers,
    ) -> None:
        becomes(api, organization, grace, "editor")
        clock.shift(minutes=1)
        workers.settle()
        assert opens(api, invited).code == REVOKED
        assert status_of(api, organization, invited) == "pending"
        becomes(api, organization, grace, "admin")
        assert accepts(api, invited, stranger)["membership"]["role"] == "admin"
        assert history(api, organization, invited) == ["created", "accepted"]

    def test_what_a_former_owner_invited_is_alive(
        self, api: Api, organization: Founded, grace: Person, stranger: Person
    ) -> None:
        invited = invite(api, organization, stranger, role="admin")
        body = {"newOwnerId": grace.id}
        assert api.post(f"{organization.path}/transfer-ownership", as_=organization.owner, json=body).status == 200
        assert accepts(api, invited, stranger)["membership"]["role"] == "admin"

    def test_who_accepted_before_keeps_what_they_were_given(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invited: Invited
    ) -> None:
        first = accepts(api, invited, stranger)
        becomes(api, organization, grace, "member")
        assert accepts(api, invited, stranger) == first

    def test_who_declined_before_is_answered_so(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invited: Invited
    ) -> None:
        first = declines(api, invited, stranger)
        becomes(api, organization, grace, "member")
        assert declines(api, invited, stranger) == first

    def test_once_its_time_is_over_that_is_what_is_said(
        self, api: Api, organization: Founded, grace: Person, invited: Invited, clock: Clock
    ) -> None:
        becomes(api, organization, grace, "member")
        clock.shift(days=8)
        assert opens(api, invited).code == "410 invitation_expired"

    def test_who_accepts_while_they_are_demoted_comes_too_late(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        invited: Invited,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before_the_next_write(monkeypatch, lambda: becomes(api, organization, grace, "editor"))
        assert decides(api, invited, stranger).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"

    def test_it_is_not_sent_again_and_can_be_revoked_and_sent_by_another(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, invited: Invited, clock: Clock
    ) -> None:
        becomes(api, organization, grace, "editor")
        clock.shift(minutes=2)
        refused = api.post(f"{invited.path}/resend", as_=organization.owner)
        assert refused.code == "409 invalid_transition"
        assert "cannot grant 'admin' any more" in refused.json["detail"]
        assert api.delete(invited.path, as_=organization.owner).status == 204
        assert accepts(api, invite(api, organization, stranger, role="admin"), stranger)["status"] == "accepted"

    def test_what_they_may_still_give_is_sent_again(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, stranger, as_=grace, role="editor")
        becomes(api, organization, grace, "editor")
        clock.shift(minutes=2)
        assert accepts(api, resend(api, organization, invited), stranger)["membership"]["role"] == "editor"

    def test_what_a_key_invited_asks_nobody_for_a_role(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, clock: Clock
    ) -> None:
        key = make_key(api, organization, "admin", as_=grace)
        invited = invite(api, organization, stranger, as_=key, role="admin")
        becomes(api, organization, grace, "member")
        api.delete(f"{organization.keys}/{key.id}", as_=organization.owner)
        clock.shift(minutes=2)
        again = resend(api, organization, invited)
        assert accepts(api, again, stranger)["membership"]["role"] == "admin"
