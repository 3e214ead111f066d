"""Decisions do not depend on indexes, which may lack new entries or still have removed ones."""

from collections.abc import Iterator

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.index_lag import LAGS, Lag, lagging
from tests.harness.invitations import asked_to_invite, invite, listed
from tests.harness.organizations import Founded, joins
from tests.harness.platforms import Running, comes_in, make_space, run_platform, takes_part
from tests.harness.sites import edit, make_site, page_of
from tests.harness.taxonomy import fell, paths, plant, plant_line


@pytest.fixture(params=LAGS, autouse=True)
def lag(request: pytest.FixtureRequest, organization: Founded) -> Iterator[Lag]:
    """Indexes that lag behind every change after the organization's creation."""
    assert organization.id
    with lagging(request.param) as lag:
        yield lag


class TestMembers:
    def test_a_new_member_already_counts_as_a_member(self, api: Api, organization: Founded, stranger: Person) -> None:
        joins(organization, stranger, "member")
        assert asked_to_invite(api, organization, stranger).code == "409 already_member"

    def test_a_member_who_has_just_left_can_be_invited_again(
        self, api: Api, organization: Founded, mary: Person
    ) -> None:
        assert api.post(f"{organization.path}/leave", as_=mary).status == 204
        assert asked_to_invite(api, organization, mary).status == 201

    def test_a_new_member_of_a_platform_already_counts_as_a_member(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        platform = run_platform(api, organization)
        takes_part(platform, stranger)
        assert asked_to_invite(api, platform, stranger).code == "409 already_member"

    def test_a_removed_member_sees_no_platforms(self, api: Api, organization: Founded, mary: Person) -> None:
        platform = run_platform(api, organization, published=True)
        make_space(api, platform, visibility="private")
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert api.items("/platforms", as_=mary) == []

    def test_a_member_removed_from_a_private_space_does_not_see_it(
        self, api: Api, organization: Founded, stranger: Person, lag: Lag
    ) -> None:
        platform = run_platform(api, organization, published=True)
        takes_part(platform, stranger)
        private_space = make_space(api, platform, visibility="private")
        comes_in(private_space, stranger)
        lag.catch_up()
        path = "/spaces"
        assert len(api.items(f"{platform.path}{path}", as_=stranger)) == 1
        assert api.delete(f"{private_space.path}/members/{stranger.id}", as_=organization.owner).status == 204
        assert api.items(f"{platform.path}{path}", as_=stranger) == []

    def test_leaving_right_after_a_role_change_ends_all_memberships(
        self, api: Api, organization: Founded, mary: Person
    ) -> None:
        platforms = [run_platform(api, organization) for _ in range(2)]
        for platform in platforms:
            takes_part(platform, mary)
        assert api.post(f"{platforms[0].path}/leave", as_=mary).status == 204
        response = api.patch(f"{platforms[1].path}/members/{mary.id}", as_=organization.owner, json={"role": "editor"})
        assert response.status == 200
        assert api.post(f"{organization.path}/leave", as_=mary).status == 204
        assert [api.get(platform.path, as_=mary).status for platform in platforms] == [404, 404]


class TestInvitations:
    @pytest.fixture
    def platform(self, api: Api, organization: Founded, lag: Lag) -> Running:
        """A platform with an invitation that indexes contain."""
        platform = run_platform(api, organization)
        invite(api, platform, "friend@example.com")
        lag.catch_up()
        return platform

    def test_a_platforms_new_admin_sees_its_invitations(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        takes_part(platform, stranger, "admin")
        assert len(listed(api, organization, stranger)) == 1

    def test_a_platforms_former_admin_sees_no_invitations(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, lag: Lag
    ) -> None:
        takes_part(platform, stranger, "admin")
        lag.catch_up()
        assert api.post(f"{platform.path}/leave", as_=stranger).status == 204
        assert api.get(f"{organization.path}/invitations", as_=stranger).code == "404 not_found"

    def test_an_admin_without_a_membership_row_of_the_organization_sees_the_invitations(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, lag: Lag
    ) -> None:
        takes_part(platform, stranger, "admin")
        (row,) = [item for item in cloud.stored() if item["sk"].startswith(f"B#{stranger.id}#")]
        cloud.remove(row)  # Like a membership stored before such rows existed.
        lag.catch_up()
        assert len(listed(api, organization, stranger)) == 1

    def test_a_list_shows_the_current_status_of_each_invitation(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        takes_part(platform, stranger, "admin")
        (invitation_id,) = listed(api, organization, stranger)
        path = f"{organization.path}/invitations"
        assert api.delete(f"{path}/{invitation_id}", as_=organization.owner).status == 204
        assert [item["status"] for item in api.items(path, as_=stranger)] == ["revoked"]


class TestSpaces:
    def test_a_space_that_became_private_is_hidden_from_others(
        self, api: Api, organization: Founded, mary: Person, lag: Lag
    ) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        lag.catch_up()
        assert [item["id"] for item in api.items(f"{platform.path}/spaces", as_=mary)] == [space.id]
        response = api.patch(space.path, as_=organization.owner, json={"visibility": "private"})
        assert response.status == 200
        assert api.items(f"{platform.path}/spaces", as_=mary) == []

    def test_a_deleted_space_is_not_listed(self, api: Api, organization: Founded, mary: Person, lag: Lag) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        lag.catch_up()
        assert api.delete(space.path, as_=organization.owner).status == 204
        assert api.items(f"{platform.path}/spaces", as_=mary) == []


class TestTrees:
    def test_children_added_just_now_move_up(self, api: Api, organization: Founded, lag: Lag) -> None:
        platform = run_platform(api, organization)
        top, *_ = plant_line(api, platform, "Machines", "Looms")
        plant(api, platform, "Engines", below=top)
        assert fell(api, top, "reparent").status == 204
        lag.seconds = 0
        assert sorted(paths(api, platform)) == ["engines", "looms"]

    def test_a_page_with_new_children_becomes_the_home_page(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        page_of(api, site, "Welcome")
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        edit(api, machines, isHome=True)

    def test_a_childs_new_slug_conflicts_with_a_page_of_the_same_slug(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        page_of(api, site, "Welcome")
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        page_of(api, site, "Engines")
        edit(api, looms, slug="engines")
        current = api.get(machines.path, as_=site.owner)
        response = api.patch(machines.path, as_=site.owner, json={"isHome": True}, headers={"If-Match": current.etag})
        assert response.code == "409 slug_taken"
