"""Decisions while indexes are behind: none is made by what an index does not show yet, or shows still."""

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
    """Indexes that lag behind all that happens after the organization was founded."""
    assert organization.id
    with lagging(request.param) as lag:
        yield lag


class TestMembers:
    def test_who_joined_just_now_is_a_member_already(self, api: Api, organization: Founded, stranger: Person) -> None:
        joins(organization, stranger, "member")
        assert asked_to_invite(api, organization, stranger).code == "409 already_member"

    def test_who_left_just_now_can_be_invited_again(self, api: Api, organization: Founded, mary: Person) -> None:
        assert api.post(f"{organization.path}/leave", as_=mary).status == 204
        assert asked_to_invite(api, organization, mary).status == 201

    def test_who_joined_a_platform_just_now_is_a_member_already(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        platform = run_platform(api, organization)
        takes_part(platform, stranger)
        assert asked_to_invite(api, platform, stranger).code == "409 already_member"

    def test_who_was_removed_sees_nothing_any_more(self, api: Api, organization: Founded, mary: Person) -> None:
        platform = run_platform(api, organization, published=True)
        make_space(api, platform, visibility="private")
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert api.items("/platforms", as_=mary) == []

    def test_who_was_removed_from_a_private_space_does_not_see_it(
        self, api: Api, organization: Founded, stranger: Person, lag: Lag
    ) -> None:
        platform = run_platform(api, organization, published=True)
        takes_part(platform, stranger)
        cell = make_space(api, platform, visibility="private")
        comes_in(cell, stranger)
        lag.catch_up()
        path = "/spaces"
        assert len(api.items(f"{platform.path}{path}", as_=stranger)) == 1
        assert api.delete(f"{cell.path}/members/{stranger.id}", as_=organization.owner).status == 204
        assert api.items(f"{platform.path}{path}", as_=stranger) == []

    def test_who_leaves_right_after_a_change_is_gone(self, api: Api, organization: Founded, mary: Person) -> None:
        platforms = [run_platform(api, organization) for _ in range(2)]
        for platform in platforms:
            takes_part(platform, mary)
        assert api.post(f"{platforms[0].path}/leave", as_=mary).status == 204
        role = api.patch(f"{platforms[1].path}/members/{mary.id}", as_=organization.owner, json={"role": "editor"})
        assert role.status == 200
        assert api.post(f"{organization.path}/leave", as_=mary).status == 204
        assert [api.get(platform.path, as_=mary).status for platform in platforms] == [404, 404]


class TestInvitations:
    @pytest.fixture
    def platform(self, api: Api, organization: Founded, lag: Lag) -> Running:
        """A platform with an invitation that indexes show."""
        platform = run_platform(api, organization)
        invite(api, platform, "friend@example.com")
        lag.catch_up()
        return platform

    def test_a_platforms_new_admin_sees_those_to_it(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        takes_part(platform, stranger, "admin")
        assert len(listed(api, organization, stranger)) == 1

    def test_a_platforms_former_admin_sees_none(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, lag: Lag
    ) -> None:
        takes_part(platform, stranger, "admin")
        lag.catch_up()
        assert api.post(f"{platform.path}/leave", as_=stranger).status == 204
        assert api.get(f"{organization.path}/invitations", as_=stranger).code == "404 not_found"

    def test_an_admin_of_whom_the_organizations_rows_say_nothing_sees_those_to_it(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, lag: Lag
    ) -> None:
        takes_part(platform, stranger, "admin")
        (row,) = [item for item in cloud.stored() if item["sk"].startswith(f"B#{stranger.id}#")]
        cloud.remove(row)  # As if the membership had been stored before there were rows.
        lag.catch_up()
        assert len(listed(api, organization, stranger)) == 1

    def test_a_list_shows_what_has_become_of_each(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        takes_part(platform, stranger, "admin")
        (invited,) = listed(api, organization, stranger)
        path = f"{organization.path}/invitations"
        assert api.delete(f"{path}/{invited}", as_=organization.owner).status == 204
        assert [each["status"] for each in api.items(path, as_=stranger)] == ["revoked"]


class TestSpaces:
    def test_that_turned_private_are_shown_to_nobody_else(
        self, api: Api, organization: Founded, mary: Person, lag: Lag
    ) -> None:
        platform = run_platform(api, organization)
        room = make_space(api, platform)
        lag.catch_up()
        assert [each["id"] for each in api.items(f"{platform.path}/spaces", as_=mary)] == [room.id]
        turned = api.patch(room.path, as_=organization.owner, json={"visibility": "private"})
        assert turned.status == 200
        assert api.items(f"{platform.path}/spaces", as_=mary) == []

    def test_that_are_gone_are_not_listed(self, api: Api, organization: Founded, mary: Person, lag: Lag) -> None:
        platform = run_platform(api, organization)
        room = make_space(api, platform)
        lag.catch_up()
        assert api.delete(room.path, as_=organization.owner).status == 204
        assert api.items(f"{platform.path}/spaces", as_=mary) == []


class TestTrees:
    def test_children_that_came_just_now_move_up(self, api: Api, organization: Founded, lag: Lag) -> None:
        platform = run_platform(api, organization)
        top, *_ = plant_line(api, platform, "Machines", "Looms")
        plant(api, platform, "Engines", below=top)
        assert fell(api, top, "reparent").status == 204
        lag.seconds = 0
        assert sorted(paths(api, platform)) == ["engines", "looms"]

    def test_a_page_with_new_children_becomes_the_home(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        page_of(api, site, "Welcome")
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        edit(api, machines, isHome=True)

    def test_a_child_with_a_new_slug_is_in_the_way_of_its_twin(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        page_of(api, site, "Welcome")
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        page_of(api, site, "Engines")
        edit(api, looms, slug="engines")
        shown = api.get(machines.path, as_=site.owner)
        refused = api.patch(machines.path, as_=site.owner, json={"isHome": True}, headers={"If-Match": shown.etag})
        assert refused.code == "409 slug_taken"
