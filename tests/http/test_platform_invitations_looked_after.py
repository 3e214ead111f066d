"""Invitations to a platform: who manages them, and how they end."""

from collections.abc import Callable

import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import left_of
from tests.harness.invitations import (
    REVOKED,
    SOPHIE,
    Invited,
    accepts,
    history,
    invite,
    listed,
    opens,
    status_of,
)
from tests.harness.organizations import Founded, found
from tests.harness.platforms import Running, is_made, run_platform, takes_part
from tests.harness.workers import Workers


class TestManagement:
    def test_platform_admins_list_only_invitations_to_their_platforms(
        self, api: Api, organization: Founded, platform: Running, elsewhere: Running, emmy: Person, invited: Invited
    ) -> None:
        own_ids = [invited.id]
        for n in range(3):
            invite(api, organization, f"{n}@example.org")
            own_ids.append(invite(api, platform, f"{n}@example.org").id)
            other = invite(api, elsewhere, f"{n}@example.org")
        for limit in (1, 2, 100):
            assert listed(api, organization, emmy, limit) == own_ids
            assert listed(api, organization, emmy, limit, platformId=platform.id.upper()) == own_ids
        for query in ({"platformId": elsewhere.id}, {"platformId": "x"}):
            answer = api.get(f"{organization.path}/invitations", as_=emmy, query=query)
            assert answer.code == "404 not_found"
        takes_part(elsewhere, emmy, "admin")
        listed_ids = listed(api, organization, emmy, 2)
        assert (len(listed_ids), listed_ids[-1]) == (7, other.id)
        assert listed_ids == sorted(listed_ids)

    def test_organization_admins_list_all_invitations_and_filter_by_platform(
        self, api: Api, organization: Founded, platform: Running, grace: Person, stranger: Person, invited: Invited
    ) -> None:
        other = invite(api, organization, SOPHIE)
        foreign_platform = run_platform(api, found(api, stranger))
        invite(api, foreign_platform, SOPHIE)
        for limit in (1, 100):
            assert listed(api, organization, grace, limit) == [invited.id, other.id]
        assert listed(api, organization, grace, platformId=platform.id) == [invited.id]
        assert listed(api, organization, grace, platformId=foreign_platform.id) == []
        answer = api.get(f"{organization.path}/invitations", as_=grace, query={"platformId": "x"})
        assert answer.faults == {"query/platformId": "malformed"}

    def test_platform_admins_resend_and_revoke_only_invitations_to_their_platforms(
        self, api: Api, organization: Founded, elsewhere: Running, emmy: Person, invited: Invited, clock: Clock
    ) -> None:
        others = [invite(api, container, SOPHIE) for container in (organization, elsewhere)]
        clock.shift(minutes=2)
        for other in others:
            responses = [
                api.get(other.path, as_=emmy),
                api.delete(other.path, as_=emmy),
                api.post(f"{other.path}/resend", as_=emmy),
            ]
            assert [answer.code for answer in responses] == ["404 not_found"] * 3
        resent = api.post(f"{invited.path}/resend", as_=emmy)
        assert resent.status == 200
        assert len(resent.calls.reads) == 3  # The limit for resend_invitation in tests/catalogue/test_budgets.py.
        assert opens(api, invited).code == REVOKED
        assert api.delete(invited.path, as_=emmy).status == 204
        assert history(api, organization, invited) == [
            "platform.invitation.created",
            "platform.invitation.resent",
            "platform.invitation.revoked",
        ]

    def test_organization_members_who_are_platform_admins_manage_its_invitations(
        self, api: Api, organization: Founded, platform: Running, mary: Person, edith: Person, invited: Invited
    ) -> None:
        other = invite(api, organization, SOPHIE)
        takes_part(platform, mary, "admin")
        takes_part(platform, edith, "editor")
        assert listed(api, organization, mary) == [invited.id]
        assert api.get(invited.path, as_=mary).status == 200
        for person, path in ((mary, other.path), (edith, invited.path), (edith, f"{organization.path}/invitations")):
            assert api.get(path, as_=person).code == "403 insufficient_role"

    def test_strangers_and_former_admins_get_not_found(
        self, api: Api, organization: Founded, platform: Running, emmy: Person, stranger: Person, invited: Invited
    ) -> None:
        assert api.post(f"{platform.path}/leave", as_=emmy).status == 204
        for person in (emmy, stranger):
            for path in (invited.path, f"{organization.path}/invitations"):
                assert api.get(path, as_=person).code == "404 not_found"

    def test_invitations_of_a_deleted_organization_are_not_found(
        self, api: Api, organization: Founded, emmy: Person, invited: Invited
    ) -> None:
        assert api.delete(organization.path, as_=organization.owner).status == 204
        for path in (invited.path, f"{organization.path}/invitations"):
            assert api.get(path, as_=emmy).code == "404 not_found"

    def test_an_organization_admin_resends_an_invitation_while_its_inviter_is_an_admin(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        grace: Person,
        emmy: Person,
        invited: Invited,
        clock: Clock,
    ) -> None:
        clock.shift(minutes=2)
        resent = api.post(f"{invited.path}/resend", as_=grace)
        assert (resent.status, len(resent.calls.reads)) == (200, 3)
        clock.shift(minutes=2)
        is_made(api, platform, emmy, "member")
        assert api.post(f"{invited.path}/resend", as_=grace).code == "409 invalid_transition"
        assert status_of(api, organization, invited) == "pending"


class TestDepartureOfTheInviter:
    @pytest.fixture
    def wait(self, workers: Workers, clock: Clock) -> Callable[[], None]:
        """A function that waits until a departure is complete."""

        def wait() -> None:
            for _ in range(2):
                clock.shift(minutes=1, seconds=10)
                workers.settle()

        return wait

    @pytest.mark.parametrize("index_lags", [False, True])
    def test_the_invitation_is_rejected_at_once_and_stays_revoked_when_the_inviter_returns(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        invited: Invited,
        emmy: Person,
        wait: Callable[[], None],
        monkeypatch: pytest.MonkeyPatch,
        *,
        index_lags: bool,
    ) -> None:
        if index_lags:
            monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
        assert api.delete(f"{platform.path}/members/{emmy.id}", as_=organization.owner).status == 204
        takes_part(platform, emmy, "admin")
        for _ in range(2):
            assert opens(api, invited).code == REVOKED
            wait()
        assert status_of(api, organization, invited) == "revoked"
        assert history(api, organization, invited)[1:] == (["platform.invitation.revoked"] if index_lags else [])

    def test_leaving_the_organization_revokes_invitations_to_its_platforms(
        self, api: Api, organization: Founded, platform: Running, grace: Person, wait: Callable[[], None]
    ) -> None:
        invitation = invite(api, platform, SOPHIE, as_=grace)
        assert api.post(f"{organization.path}/leave", as_=grace).status == 204
        assert opens(api, invitation).code == REVOKED
        assert status_of(api, organization, invitation) == "revoked"
        wait()
        assert history(api, organization, invitation) == ["platform.invitation.created"]

    def test_leaving_the_platform_keeps_invitations_sent_as_an_organization_admin(
        self, api: Api, organization: Founded, platform: Running, grace: Person, wait: Callable[[], None]
    ) -> None:
        takes_part(platform, grace, "admin")
        invitation = invite(api, platform, SOPHIE, as_=grace)
        assert api.post(f"{platform.path}/leave", as_=grace).status == 204
        wait()
        assert opens(api, invitation).json["status"] == "pending"
        assert status_of(api, organization, invitation) == "pending"


def test_deleting_the_platform_removes_its_invitations_from_the_list_and_the_count(
    api: Api,
    organization: Founded,
    platform: Running,
    elsewhere: Running,
    emmy: Person,
    stranger: Person,
    workers: Workers,
    clock: Clock,
) -> None:
    accepts(api, invite(api, platform, stranger), stranger)
    for n in range(30):
        invite(api, platform, f"{n}@example.org", as_=emmy)
    others = [invite(api, container, SOPHIE).id for container in (organization, elsewhere)]
    workers.settle()
    assert api.delete(platform.path, as_=organization.owner).status == 204
    workers.deliver()
    assert listed(api, organization, organization.owner) == others
    (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
    assert counter["n"] == 2
    clock.shift(minutes=2)
    workers.settle()
    assert [key for key in left_of(platform.id) if key[0].startswith(("O#", "P#", "U#"))] == []


def test_the_expiry_of_an_invitation_to_a_platform_has_its_own_event(
    api: Api, organization: Founded, invited: Invited, workers: Workers, clock: Clock
) -> None:
    clock.shift(days=7, seconds=1)
    assert opens(api, invited).code == "410 invitation_expired"
    workers.settle()
    assert history(api, organization, invited)[-1] == "platform.invitation.expired"
