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
def invited(api: Api, organization: Founded, stranger: Person) -> Invited:
    """The invitation to become an editor of somebody who joins by other means before they answer it."""
    return invite(api, organization, stranger, role="editor")


def role_of(api: Api, organization: Founded, person: Person) -> str:
    return str(api.get(f"{organization.path}/members/{person.id}", as_=organization.owner).json["role"])


class TestWhoIsAMemberByThen:
    def test_is_told_who_can_give_them_a_higher_role(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        before = cloud.stored()
        for answer in (
            decides(api, invited, stranger),
            api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token}),
        ):
            assert answer.code == "409 already_member"
            assert "as 'member'" in answer.json["detail"]
            assert f"PATCH {organization.path}/members/{stranger.id}" in answer.json["detail"]
        assert cloud.stored() == before
        assert status_of(api, organization, invited) == "pending"
        assert declines(api, invited, stranger)["membership"] is None
        assert role_of(api, organization, stranger) == "member"

    def test_accepts_it_once_their_role_covers_it(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        assert decides(api, invited, stranger).code == "409 already_member"
        api.patch(f"{organization.path}/members/{stranger.id}", as_=ada, json={"role": "editor"})
        assert accepts(api, invited, stranger)["membership"]["role"] == "editor"
        assert history(api, organization, invited) == ["created", "accepted"]

    @pytest.mark.parametrize("role", ["editor", "admin"])
    def test_keeps_a_role_that_covers_it(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person, role: str
    ) -> None:
        member = joins(organization, stranger, role)
        answer = accepts(api, invited, stranger)
        assert (answer["status"], answer["membership"]["id"]) == ("accepted", member.id)
        assert role_of(api, organization, stranger) == role

    def test_is_told_so_if_they_are_demoted_meanwhile(
        self,
        api: Api,
        organization: Founded,
        invited: Invited,
        ada: Person,
        stranger: Person,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        joins(organization, stranger, "editor")
        path = f"{organization.path}/members/{stranger.id}"
        before_the_next_write(monkeypatch, lambda: api.patch(path, as_=ada, json={"role": "member"}))
        assert decides(api, invited, stranger).code == "409 already_member"
        assert status_of(api, organization, invited) == "pending"
