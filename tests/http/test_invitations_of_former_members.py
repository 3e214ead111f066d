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
def twice(api: Api, organization: Founded, grace: Person, stranger: Person) -> tuple[Invited, Invited]:
    """Two invitations: Grace's and, to the same person's other address, Ada's."""
    return invite(api, organization, stranger, as_=grace), invite(api, organization, SOPHIE)


class TestWhatAFormerMemberInvited:
    @pytest.mark.parametrize("way", ["removed", "left"])
    def test_it_is_dead_as_soon_as_they_are_gone(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, twice: tuple[Invited, Invited], way: str
    ) -> None:
        if way == "removed":
            api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        else:
            api.post(f"{organization.path}/leave", as_=grace)
        graces, adas = twice
        for caller in (None, stranger):
            assert opens(api, graces, caller).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert status_of(api, organization, graces) == "revoked"
        assert opens(api, adas).json["status"] == "pending"

    def test_its_address_is_free_at_once_and_it_counts_no_more(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, twice: tuple[Invited, Invited]
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        again = invite(api, organization, stranger)
        assert accepts(api, again, stranger)["membership"]["role"] == "member"
        assert opens(api, twice[0], stranger).code == REVOKED

    def test_it_stays_dead_though_they_come_back(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        twice: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        joins(organization, grace, "admin")
        for _ in range(2):
            assert opens(api, twice[0], stranger).code == REVOKED
            clock.shift(minutes=1)
            workers.settle()

    def test_what_they_invite_once_they_are_back_is_alive(
        self, api: Api, organization: Founded, grace: Person, stranger: Person, clock: Clock, workers: Workers
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        joins(organization, grace, "admin")
        invited = invite(api, organization, stranger, as_=grace)
        clock.shift(minutes=1)
        workers.settle()
        assert accepts(api, invited, stranger)["invitedBy"] == grace.id

    def test_who_accepted_before_stays_a_member(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        twice: tuple[Invited, Invited],
        stranger: Person,
        clock: Clock,
        workers: Workers,
    ) -> None:
        accepts(api, twice[0], stranger)
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        clock.shift(minutes=1)
        workers.settle()
        assert status_of(api, organization, twice[0]) == "accepted"
        again = accepts(api, twice[0], stranger)
        assert (again["membership"]["userId"], again["inviterName"]) == (stranger.id, None)

    def test_however_many_they_are(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers
    ) -> None:
        adas = invite(api, organization, SOPHIE)
        theirs = [invite(api, organization, f"{n}@example.org", as_=grace) for n in range(90)]
        assert api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner).status == 204
        for invited in theirs:
            assert opens(api, invited).code == REVOKED
        clock.shift(minutes=1)
        workers.settle()
        listed = api.items(f"{organization.path}/invitations", as_=organization.owner, query={"limit": 100})
        assert {i["id"] for i in listed if i["status"] == "pending"} == {adas.id}
        assert {i["status"] for i in listed if i["id"] != adas.id} == {"revoked"}

    def test_nothing_of_the_departure_is_left(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers
    ) -> None:
        invite(api, organization, SOPHIE, as_=grace)
        workers.settle()
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        clock.shift(minutes=1)
        workers.settle()
        kinds = {item["kind"] for item in cloud.stored() if item["pk"] == f"O#{organization.id}" and "kind" in item}
        assert kinds == {"organization", "organization.member", "organization.invitation"}

    def test_what_had_expired_before_is_still_expired(
        self, api: Api, organization: Founded, grace: Person, clock: Clock, workers: Workers
    ) -> None:
        invited = invite(api, organization, SOPHIE, as_=grace)
        clock.shift(days=8)
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        for _ in range(2):
            assert status_of(api, organization, invited) == "expired"
            clock.shift(minutes=1)
            workers.settle()
        assert history(api, organization, invited) == ["created", "expired"]

    def test_what_a_key_invited_lives_on_when_the_key_is_revoked(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        key = make_key(api, organization, "admin")
        invited = invite(api, organization, stranger, as_=key)
        api.delete(f"{organization.keys}/{key.id}", as_=organization.owner)
        assert accepts(api, invited, stranger)["inviterName"] is None


class TestWhenTheIndexOfThemIsLate:
    @pytest.fixture(autouse=True)
    def _late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])

    def test_they_are_dead_at_once_all_the_same_and_revoked_soon(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        twice: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        graces, adas = twice
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        for caller in (None, stranger):
            assert opens(api, graces, caller).code == REVOKED
        assert history(api, organization, graces) == ["created"]
        clock.shift(minutes=1)
        workers.settle()
        workers.settle()
        assert history(api, organization, graces) == ["created", "revoked"]
        assert [status_of(api, organization, invited) for invited in (graces, adas)] == ["revoked", "pending"]

    def test_the_service_revokes_them_and_says_so(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        twice: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        api.post(f"{organization.path}/leave", as_=grace)
        clock.shift(minutes=1)
        workers.settle()
        (revoked, _) = log_of(api, organization, targetId=twice[0].id)
        assert revoked["actor"] == {"type": "system", "id": None, "name": None}
        assert revoked["context"]["operationId"] == "members.depart"
        assert revoked["changes"] == [{"field": "status", "from": "pending", "to": "revoked"}]

    def test_what_they_invite_once_they_are_back_is_not_among_them(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        twice: tuple[Invited, Invited],
        clock: Clock,
        workers: Workers,
    ) -> None:
        api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        joins(organization, grace, "admin")
        assert opens(api, twice[0]).code == REVOKED
        later = invite(api, organization, "later@example.org", as_=grace)
        clock.shift(minutes=1)
        workers.settle()
        assert [status_of(api, organization, invited) for invited in (twice[0], later)] == ["revoked", "pending"]

    def test_who_accepts_while_they_leave_comes_too_late(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        stranger: Person,
        twice: tuple[Invited, Invited],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before_the_next_write(monkeypatch, lambda: api.post(f"{organization.path}/leave", as_=grace))
        assert decides(api, twice[0], stranger).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
