"""Decisions, lists and removals while indexes lack new entries, or still have removed ones."""

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.erasures import complete_erasure, keys_of_items_containing
from tests.harness.invitations import create_invitation, list_invitation_ids, post_invitation
from tests.harness.organizations import add_organization_member, create_api_key, leave_organization, remove_member
from tests.harness.platforms import (
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
    publish_platform,
    set_member_role,
)
from tests.harness.reconciliations import find_disagreements
from tests.harness.redirects import get_page_redirect, list_redirects, patch_redirect
from tests.harness.research_sources import ResearchClient, build_works
from tests.harness.sites import SitePages, create_site
from tests.harness.taxonomy import TaxonomyNodes, create_attachment, create_node

pytestmark = pytest.mark.usefixtures("lag")


@pytest.fixture
def indexed_space(api, platform, lag):
    space = create_space(api, platform)
    lag.catch_up()
    return space


def list_roles(api, container, caller):
    return {member["userId"]: member["role"] for member in api.get_items(f"{container.path}/members", caller=caller)}


@pytest.mark.parametrize("name", ["organization", "platform", "space"])
def test_members_are_listed_with_their_current_role(api, organization, platform, indexed_space, stranger, lag, name):
    container = {"organization": organization, "platform": platform, "space": indexed_space}[name]
    adders: Json = {"organization": add_organization_member, "platform": add_platform_member, "space": add_space_member}
    adders[name](container, stranger, "member")
    lag.catch_up()
    owner, path = organization.owner, f"{container.path}/members/{stranger.id}"
    assert list_roles(api, container, owner)[stranger.id] == "member"
    assert api.patch(path, caller=owner, json={"role": "editor"}).status == 200
    assert list_roles(api, container, owner)[stranger.id] == "editor"
    assert api.delete(path, caller=owner).status == 204
    assert stranger.id not in list_roles(api, container, owner)


def test_members_removed_from_the_organization_are_not_listed_in_its_platforms_and_spaces(
    api, organization, platform, indexed_space, mary, lag
):
    # The index through which a removal finds descendant memberships lacks the following ones.
    add_platform_member(platform, mary)
    add_space_member(indexed_space, mary)
    assert remove_member(api, organization, mary).status == 204
    for seconds in (lag.seconds, 0):
        lag.seconds = seconds
        for container in (platform, indexed_space):
            assert mary.id not in list_roles(api, container, organization.owner)


def test_an_organization_is_not_listed_for_a_removed_member(api, organization, mary, lag):
    lag.catch_up()
    assert len(api.get_items("/organizations", caller=mary)) == 1
    assert len(api.get("/me", caller=mary).json["organizations"]) == 1
    remove_member(api, organization, mary)
    assert api.get_items("/organizations", caller=mary) == []
    assert api.get("/me", caller=mary).json["organizations"] == []


def test_research_is_not_listed_for_a_removed_member(api, organization, workers, research_sources, mary, lag):
    research_sources.set_works(build_works(1))
    ResearchClient(api, workers, organization.owner, organization.id).import_works()
    lag.catch_up()
    assert api.get_items("/research/artefacts", caller=mary)
    remove_member(api, organization, mary)
    assert api.get_items("/research/artefacts", caller=mary) == []


class TestMembers:
    def test_a_new_member_already_counts_as_a_member(self, api, organization, platform, stranger):
        add_platform_member(platform, stranger)
        assert post_invitation(api, platform, stranger).status_and_code == "409 already_member"
        add_organization_member(organization, stranger, "member")
        assert post_invitation(api, organization, stranger).status_and_code == "409 already_member"

    def test_a_member_who_has_just_left_can_be_invited_again(self, api, organization, mary):
        leave_organization(api, organization, mary)
        assert post_invitation(api, organization, mary).status == 201

    def test_a_removed_member_sees_no_platforms(self, api, organization, platform, mary):
        publish_platform(api, platform)
        create_space(api, platform, visibility="private")
        remove_member(api, organization, mary)
        assert api.get_items("/platforms", caller=mary) == []

    def test_a_member_removed_from_a_private_space_does_not_see_it(self, api, platform, stranger, lag):
        publish_platform(api, platform)
        add_platform_member(platform, stranger)
        space = create_space(api, platform, visibility="private")
        add_space_member(space, stranger)
        lag.catch_up()
        assert len(api.get_items(f"{platform.path}/spaces", caller=stranger)) == 1
        assert api.delete(f"{space.path}/members/{stranger.id}", caller=platform.owner).status == 204
        assert api.get_items(f"{platform.path}/spaces", caller=stranger) == []

    def test_leaving_right_after_a_role_change_ends_all_memberships(self, api, organization, platform, mary):
        other = create_platform(api, organization)
        for each in (platform, other):
            add_platform_member(each, mary)
        assert api.post(f"{platform.path}/leave", caller=mary).status == 204
        set_member_role(api, other, mary, "editor")
        leave_organization(api, organization, mary)
        assert [api.get(each.path, caller=mary).status for each in (platform, other)] == [404, 404]


class TestInvitations:
    @pytest.fixture(autouse=True)
    def invitation(self, api, platform, lag):
        invitation = create_invitation(api, platform, "friend@example.com")
        lag.catch_up()
        return invitation

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

    def test_a_list_shows_the_current_status_of_each_invitation(
        self, api, organization, platform, invitation, stranger
    ):
        add_platform_member(platform, stranger, "admin")
        path = f"{organization.path}/invitations"
        assert list_invitation_ids(api, organization, stranger) == [invitation.id]
        assert api.delete(f"{path}/{invitation.id}", caller=organization.owner).status == 204
        assert [item["status"] for item in api.get_items(path, caller=stranger)] == ["revoked"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_space_that_became_private_is_hidden_from_others(api, platform, mary, lag, is_deleted):
    space = create_space(api, platform)
    lag.catch_up()
    assert [item["id"] for item in api.get_items(f"{platform.path}/spaces", caller=mary)] == [space.id]
    if is_deleted:
        assert api.delete(space.path, caller=platform.owner).status == 204
    else:
        assert api.patch(space.path, caller=platform.owner, json={"visibility": "private"}).status == 200
    assert api.get_items(f"{platform.path}/spaces", caller=mary) == []
    assert api.get(space.path, caller=mary).status_and_code == "404 not_found"


@pytest.fixture
def pages(api, organization):
    pages = SitePages(api, create_site(api, organization))
    pages.publish("Welcome", "Machines", "Machines/Looms", "Looms/Shuttles")
    return pages


class TestTrees:
    def test_children_added_just_now_move_up(self, api, platform, lag):
        nodes = TaxonomyNodes(api, platform)
        nodes.create("Machines", "Machines/Looms", "Machines/Engines")
        assert nodes.delete("Machines", "reparent").status == 204
        lag.seconds = 0
        assert sorted(nodes.list_paths()) == ["engines", "looms"]

    def test_a_page_with_new_children_becomes_the_home_page(self, pages):
        pages.update("Machines", isHome=True)

    def test_a_childs_new_slug_conflicts_with_a_page_of_the_same_slug(self, pages):
        pages.publish("Engines")
        pages.update("Looms", slug="engines")
        assert pages.patch("Machines", isHome=True).status_and_code == "409 slug_taken"


@pytest.fixture
def wait(workers, clock):
    """A function that lets the workers process the queues while minutes pass."""

    def wait() -> None:
        for _ in range(6):
            workers.run_until_idle()
            clock.shift(seconds=61)

    return wait


def items_of_kinds(*kinds: str) -> list[memory_aws.Item]:
    return [item for item in memory_aws.all_items() if item.get("kind") in kinds]


class TestContainers:
    def test_no_item_of_a_deleted_platform_remains(self, api, platform, space, workers, wait, stranger):
        create_invitation(api, platform, "friend@example.com")
        create_attachment(api, create_node(api, platform), "space", space.id)
        add_platform_member(platform, stranger)
        workers.deliver()
        assert api.delete(platform.path, caller=platform.owner).status == 204
        wait()
        keys = [item["pk"] + item["sk"] for item in memory_aws.all_items()]
        assert [key for key in keys if platform.id in key or space.id in key] == []

    def test_no_item_of_a_deleted_branch_remains(self, api, platform, workers):
        nodes = TaxonomyNodes(api, platform)
        nodes.create_chain("Machines", "Looms", "Shuttles")
        for n in range(3):
            nodes.create(f"Machines/Engine {n}")
            nodes.attach(f"Engine {n}")
        assert nodes.delete("Machines", "cascade").status == 204
        workers.run_until_idle()
        assert (nodes.list_paths(), items_of_kinds("taxonomy.attachment")) == ([], [])

    def test_no_attachment_of_a_deleted_space_remains(self, api, platform, space, wait):
        create_attachment(api, create_node(api, platform), "space", space.id)
        assert api.delete(space.path, caller=platform.owner).status == 204
        wait()
        assert items_of_kinds("taxonomy.attachment") == []

    def test_no_item_of_a_library_remains(self, api, organization, workers, research_sources, clock, wait):
        research_sources.set_works(build_works(3))
        ResearchClient(api, workers, organization.owner, organization.id).import_works()
        assert api.delete(organization.path, caller=organization.owner).status == 204
        clock.shift(days=RESTORABLE_DAYS)
        wait()
        remaining = [item["kind"] for item in memory_aws.all_items() if item.get("library_id") == organization.id]
        assert remaining == ["research.job"]  # It is stored for a day.


class TestPages:
    def test_a_page_moved_before_the_deletion_stays_with_all_its_contents(self, api, pages, wait, lag):
        lag.catch_up()
        pages.republish("Looms", parentId=None)
        assert pages.delete("Machines", "cascade").status == 204
        wait()
        for title, path in {"Looms": "/looms", "Shuttles": "/looms/shuttles"}.items():
            page = pages[title]
            assert api.get(page.path, caller=page.site.owner).json["path"] == path
            assert api.get_items(f"{page.path}/revisions", caller=page.site.owner)
            assert pages.visit(path) == title

    def test_a_redirect_changed_before_the_deletion_stays(self, api, pages, wait, lag):
        pages.move(Machines="mills")
        lag.catch_up()
        redirect = get_page_redirect(api, pages.site, "/machines")
        assert patch_redirect(api, redirect, toPath="/welcome").status == 200
        assert pages.delete("Machines", "cascade").status == 204
        wait()
        targets = {redirect["fromPath"]: redirect["toPath"] for redirect in list_redirects(api, pages.site)}
        assert targets["/machines"] == "/welcome"


def test_an_erasure_covers_records_created_just_before(api, organization, platform, space, workers, clock, stranger):
    add_platform_member(platform, stranger)
    add_space_member(space, stranger)
    complete_erasure(api, workers, clock, organization, userId=stranger.id)
    assert keys_of_items_containing(stranger.id, stranger.email) == []


def test_a_departure_ends_memberships_and_invitations_created_just_before(
    api, organization, platform, space, wait, mary
):
    add_platform_member(platform, mary, "admin")
    add_space_member(space, mary)
    create_invitation(api, platform, "friend@example.com", caller=mary)
    remove_member(api, organization, mary)
    wait()
    records = items_of_kinds("platform.member", "space.member", "organization.departure")
    assert [record for record in records if record["user_id"] == mary.id] == []
    invitations = api.get_items(f"{organization.path}/invitations", caller=organization.owner)
    assert [invitation["status"] for invitation in invitations] == ["revoked"]


def test_a_reconciliation_has_no_finding(api, organization, platform, space, workers):
    key, owner = create_api_key(api, organization, "read"), organization.owner
    create_space(api, platform, name="Looms")
    api.delete(f"{organization.path}/api-keys/{key.id}", caller=owner).expect(204)
    for container in (space, platform):
        api.delete(container.path, caller=owner).expect(204)
        assert find_disagreements(organization.id) == []
        workers.deliver()
        assert find_disagreements(organization.id) == []
