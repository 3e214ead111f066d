"""Who looks after the invitations to a platform, and what ends them."""

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


class TestWhoLooksAfterThem:
    def test_a_platforms_admins_see_those_to_their_platforms(
        self, api: Api, organization: Founded, platform: Running, elsewhere: Running, emmy: Person, invited: Invited
    ) -> None:
        own = [invited.id]
        for n in range(3):
            invite(api, organization, f"{n}@example.org")
            own.append(invite(api, platform, f"{n}@example.org").id)
            other = invite(api, elsewhere, f"{n}@example.org")
        for limit in (1, 2, 100):
            assert listed(api, organization, emmy, limit) == own
            assert listed(api, organization, emmy, limit, platformId=platform.id.upper()) == own
        for query in ({"platformId": elsewhere.id}, {"platformId": "x"}):
            answer = api.get(f"{organization.path}/invitations", as_=emmy, query=query)
            assert answer.code == "404 not_found"
        takes_part(elsewhere, emmy, "admin")
        both = listed(api, organization, emmy, 2)
        assert (len(both), both[-1]) == (7, other.id)
        assert both == sorted(both)

    def test_an_organizations_admins_see_all_and_choose(
        self, api: Api, organization: Founded, platform: Running, grace: Person, stranger: Person, invited: Invited
    ) -> None:
        other = invite(api, organization, SOPHIE)
        rivals = run_platform(api, found(api, stranger))
        invite(api, rivals, SOPHIE)
        for limit in (1, 100):
            assert listed(api, organization, grace, limit) == [invited.id, other.id]
        assert listed(api, organization, grace, platformId=platform.id) == [invited.id]
        assert listed(api, organization, grace, platformId=rivals.id) == []
        answer = api.get(f"{organization.path}/invitations", as_=grace, query={"platformId": "x"})
        assert answer.faults == {"query/platformId": "malformed"}

    def test_a_platforms_admins_send_and_revoke_those_to_it_and_no_others(
        self, api: Api, organization: Founded, elsewhere: Running, emmy: Person, invited: Invited, clock: Clock
    ) -> None:
        others = [invite(api, place, SOPHIE) for place in (organization, elsewhere)]
        clock.shift(minutes=2)
        for other in others:
            asked = [
                api.get(other.path, as_=emmy),
                api.delete(other.path, as_=emmy),
                api.post(f"{other.path}/resend", as_=emmy),
            ]
            assert [answer.code for answer in asked] == ["404 not_found"] * 3
        again = api.post(f"{invited.path}/resend", as_=emmy)
        assert again.status == 200
        assert len(again.calls.reads) == 3  # As of resend_invitation in tests/catalogue/test_budgets.py.
        assert opens(api, invited).code == REVOKED
        assert api.delete(invited.path, as_=emmy).status == 204
        assert history(api, organization, invited) == [
            "platform.invitation.created",
            "platform.invitation.resent",
            "platform.invitation.revoked",
        ]

    def test_members_of_the_organization_who_are_admins_of_a_platform_too(
        self, api: Api, organization: Founded, platform: Running, mary: Person, edith: Person, invited: Invited
    ) -> None:
        other = invite(api, organization, SOPHIE)
        takes_part(platform, mary, "admin")
        takes_part(platform, edith, "editor")
        assert listed(api, organization, mary) == [invited.id]
        assert api.get(invited.path, as_=mary).status == 200
        for person, path in ((mary, other.path), (edith, invited.path), (edith, f"{organization.path}/invitations")):
            assert api.get(path, as_=person).code == "403 insufficient_role"

    def test_strangers_and_who_is_none_any_more_see_nothing(
        self, api: Api, organization: Founded, platform: Running, emmy: Person, stranger: Person, invited: Invited
    ) -> None:
        assert api.post(f"{platform.path}/leave", as_=emmy).status == 204
        for person in (emmy, stranger):
            for path in (invited.path, f"{organization.path}/invitations"):
                assert api.get(path, as_=person).code == "404 not_found"

    def test_nobody_sees_any_of_an_organization_that_is_deleted(
        self, api: Api, organization: Founded, emmy: Person, invited: Invited
    ) -> None:
        assert api.delete(organization.path, as_=organization.owner).status == 204
        for path in (invited.path, f"{organization.path}/invitations"):
            assert api.get(path, as_=emmy).code == "404 not_found"

    def test_an_admin_of_the_organization_sends_again_what_its_inviter_could(
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
        again = api.post(f"{invited.path}/resend", as_=grace)
        assert (again.status, len(again.calls.reads)) == (200, 3)
        clock.shift(minutes=2)
        is_made(api, platform, emmy, "member")
        assert api.post(f"{invited.path}/resend", as_=grace).code == "409 invalid_transition"
        assert status_of(api, organization, invited) == "pending"


class TestWhoseInviterIsGone:
    @pytest.fixture
    def wait(self, workers: Workers, clock: Clock) -> Callable[[], None]:
        """Let the time go by that a departure takes."""

        def wait() -> None:
            for _ in range(2):
                clock.shift(minutes=1, seconds=10)
                workers.settle()

        return wait

    @pytest.mark.parametrize("late", [False, True])
    def test_from_the_platform_it_is_dead_at_once_and_revoked_though_they_come_back(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        invited: Invited,
        emmy: Person,
        wait: Callable[[], None],
        monkeypatch: pytest.MonkeyPatch,
        *,
        late: bool,
    ) -> None:
        if late:
            monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
        assert api.delete(f"{platform.path}/members/{emmy.id}", as_=organization.owner).status == 204
        takes_part(platform, emmy, "admin")
        for _ in range(2):
            assert opens(api, invited).code == REVOKED
            wait()
        assert status_of(api, organization, invited) == "revoked"
        assert history(api, organization, invited)[1:] == (["platform.invitation.revoked"] if late else [])

    def test_from_the_organization_so_are_those_to_its_platforms(
        self, api: Api, organization: Founded, platform: Running, grace: Person, wait: Callable[[], None]
    ) -> None:
        as_admin = invite(api, platform, SOPHIE, as_=grace)
        assert api.post(f"{organization.path}/leave", as_=grace).status == 204
        assert opens(api, as_admin).code == REVOKED
        assert status_of(api, organization, as_admin) == "revoked"
        wait()
        assert history(api, organization, as_admin) == ["platform.invitation.created"]

    def test_only_what_they_invited_as_its_member_goes_with_the_platforms_membership(
        self, api: Api, organization: Founded, platform: Running, grace: Person, wait: Callable[[], None]
    ) -> None:
        takes_part(platform, grace, "admin")
        as_admin = invite(api, platform, SOPHIE, as_=grace)
        assert api.post(f"{platform.path}/leave", as_=grace).status == 204
        wait()
        assert opens(api, as_admin).json["status"] == "pending"
        assert status_of(api, organization, as_admin) == "pending"


def test_it_goes_with_its_platform_and_counts_no_more(
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
    others = [invite(api, place, SOPHIE).id for place in (organization, elsewhere)]
    workers.settle()
    assert api.delete(platform.path, as_=organization.owner).status == 204
    workers.deliver()
    assert listed(api, organization, organization.owner) == others
    (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
    assert counter["n"] == 2
    clock.shift(minutes=2)
    workers.settle()
    assert [key for key in left_of(platform.id) if key[0].startswith(("O#", "P#", "U#"))] == []


def test_it_expires_with_an_event_of_its_own(
    api: Api, organization: Founded, invited: Invited, workers: Workers, clock: Clock
) -> None:
    clock.shift(days=7, seconds=1)
    assert opens(api, invited).code == "410 invitation_expired"
    workers.settle()
    assert history(api, organization, invited)[-1] == "platform.invitation.expired"
