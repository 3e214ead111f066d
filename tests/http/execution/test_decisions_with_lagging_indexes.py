"""Decisions do not depend on indexes, which may lack new entries or still have removed ones."""

import pytest

from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.index_lag import IndexLag
from tests.harness.invitations import create_invitation, list_invitation_ids, post_invitation
from tests.harness.organizations import CreatedOrganization, add_organization_member
from tests.harness.platforms import (
    CreatedPlatform,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)
from tests.harness.sites import create_published_page, create_site, update_page
from tests.harness.taxonomy import create_node, create_node_chain, delete_node, list_node_paths

pytestmark = pytest.mark.usefixtures("lag")


class TestMembers:
    def test_a_new_member_already_counts_as_a_member(self, api, organization, stranger):
        add_organization_member(organization, stranger, "member")
        assert post_invitation(api, organization, stranger).status_and_code == "409 already_member"

    def test_a_member_who_has_just_left_can_be_invited_again(self, api, organization, mary):
        assert api.post(f"{organization.path}/leave", caller=mary).status == 204
        assert post_invitation(api, organization, mary).status == 201

    def test_a_new_member_of_a_platform_already_counts_as_a_member(self, api, organization, stranger):
        platform = create_platform(api, organization)
        add_platform_member(platform, stranger)
        assert post_invitation(api, platform, stranger).status_and_code == "409 already_member"

    def test_a_removed_member_sees_no_platforms(self, api, organization, mary):
        platform = create_platform(api, organization, publish=True)
        create_space(api, platform, visibility="private")
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        assert api.get_items("/platforms", caller=mary) == []

    def test_a_member_removed_from_a_private_space_does_not_see_it(self, api, organization, stranger, lag):
        platform = create_platform(api, organization, publish=True)
        add_platform_member(platform, stranger)
        private_space = create_space(api, platform, visibility="private")
        add_space_member(private_space, stranger)
        lag.catch_up()
        path = "/spaces"
        assert len(api.get_items(f"{platform.path}{path}", caller=stranger)) == 1
        assert api.delete(f"{private_space.path}/members/{stranger.id}", caller=organization.owner).status == 204
        assert api.get_items(f"{platform.path}{path}", caller=stranger) == []

    def test_leaving_right_after_a_role_change_ends_all_memberships(self, api, organization, mary):
        platforms = [create_platform(api, organization) for _ in range(2)]
        for platform in platforms:
            add_platform_member(platform, mary)
        assert api.post(f"{platforms[0].path}/leave", caller=mary).status == 204
        response = api.patch(
            f"{platforms[1].path}/members/{mary.id}", caller=organization.owner, json={"role": "editor"}
        )
        assert response.status == 200
        assert api.post(f"{organization.path}/leave", caller=mary).status == 204
        assert [api.get(platform.path, caller=mary).status for platform in platforms] == [404, 404]


class TestInvitations:
    @pytest.fixture
    def platform(self, api: ApiClient, organization: CreatedOrganization, lag: IndexLag) -> CreatedPlatform:
        """A platform with an invitation that indexes contain."""
        platform = create_platform(api, organization)
        create_invitation(api, platform, "friend@example.com")
        lag.catch_up()
        return platform

    def test_a_platforms_new_admin_sees_its_invitations(self, api, organization, platform, stranger):
        add_platform_member(platform, stranger, "admin")
        assert len(list_invitation_ids(api, organization, stranger)) == 1

    def test_a_platforms_former_admin_sees_no_invitations(self, api, organization, platform, stranger, lag):
        add_platform_member(platform, stranger, "admin")
        lag.catch_up()
        assert api.post(f"{platform.path}/leave", caller=stranger).status == 204
        assert api.get(f"{organization.path}/invitations", caller=stranger).status_and_code == "404 not_found"

    def test_an_admin_without_a_membership_row_of_the_organization_sees_the_invitations(
        self, api, organization, platform, stranger, lag
    ):
        add_platform_member(platform, stranger, "admin")
        (row,) = [item for item in memory_aws.all_items() if item["sk"].startswith(f"B#{stranger.id}#")]
        memory_aws.delete_item(row)  # Like a membership stored before such rows existed.
        lag.catch_up()
        assert len(list_invitation_ids(api, organization, stranger)) == 1

    def test_a_list_shows_the_current_status_of_each_invitation(self, api, organization, platform, stranger):
        add_platform_member(platform, stranger, "admin")
        (invitation_id,) = list_invitation_ids(api, organization, stranger)
        path = f"{organization.path}/invitations"
        assert api.delete(f"{path}/{invitation_id}", caller=organization.owner).status == 204
        assert [item["status"] for item in api.get_items(path, caller=stranger)] == ["revoked"]


class TestSpaces:
    def test_a_space_that_became_private_is_hidden_from_others(self, api, organization, mary, lag):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        lag.catch_up()
        assert [item["id"] for item in api.get_items(f"{platform.path}/spaces", caller=mary)] == [space.id]
        response = api.patch(space.path, caller=organization.owner, json={"visibility": "private"})
        assert response.status == 200
        assert api.get_items(f"{platform.path}/spaces", caller=mary) == []

    def test_a_deleted_space_is_not_listed(self, api, organization, mary, lag):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        lag.catch_up()
        assert api.delete(space.path, caller=organization.owner).status == 204
        assert api.get_items(f"{platform.path}/spaces", caller=mary) == []


class TestTrees:
    def test_children_added_just_now_move_up(self, api, organization, lag):
        platform = create_platform(api, organization)
        top, *_ = create_node_chain(api, platform, "Machines", "Looms")
        create_node(api, platform, "Engines", parent=top)
        assert delete_node(api, top, "reparent").status == 204
        lag.seconds = 0
        assert sorted(list_node_paths(api, platform)) == ["engines", "looms"]

    def test_a_page_with_new_children_becomes_the_home_page(self, api, organization):
        site = create_site(api, organization)
        create_published_page(api, site, "Welcome")
        machines = create_published_page(api, site, "Machines")
        create_published_page(api, site, "Looms", parent=machines)
        update_page(api, machines, isHome=True)

    def test_a_childs_new_slug_conflicts_with_a_page_of_the_same_slug(self, api, organization):
        site = create_site(api, organization)
        create_published_page(api, site, "Welcome")
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        create_published_page(api, site, "Engines")
        update_page(api, looms, slug="engines")
        current = api.get(machines.path, caller=site.owner)
        response = api.patch(
            machines.path, caller=site.owner, json={"isHome": True}, headers={"If-Match": current.etag}
        )
        assert response.status_and_code == "409 slug_taken"
