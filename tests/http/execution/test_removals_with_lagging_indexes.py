"""Removals while indexes lag remove everything that has to be removed, and nothing else."""

from collections.abc import Callable

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.clock import Clock
from tests.harness.erasures import complete_erasure, keys_of_items_containing
from tests.harness.invitations import create_invitation
from tests.harness.platforms import add_platform_member, add_space_member, create_platform, create_space
from tests.harness.redirects import get_page_redirect, list_redirects, patch_redirect
from tests.harness.research_sources import ResearchClient, build_works
from tests.harness.sites import create_published_page, create_site, get_page_by_path, publish_page, update_page
from tests.harness.taxonomy import create_attachment, create_node, create_node_chain, delete_node
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("lag")

Wait = Callable[[], None]


@pytest.fixture
def wait(workers: Workers, clock: Clock) -> Wait:
    """A function that lets the workers process the queues while minutes pass."""

    def wait() -> None:
        for _ in range(6):
            workers.run_until_idle()
            clock.shift(seconds=61)

    return wait


class TestContainers:
    def test_no_item_of_a_deleted_platform_remains(self, api, organization, workers, wait, stranger):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        create_invitation(api, platform, "friend@example.com")
        create_attachment(api, create_node(api, platform), "space", space.id)
        add_platform_member(platform, stranger)
        workers.deliver()
        assert api.delete(platform.path, caller=organization.owner).status == 204
        wait()
        ids = (platform.id, space.id)
        remaining = [
            item for item in memory_aws.all_items() if any(record_id in item["pk"] + item["sk"] for record_id in ids)
        ]
        assert remaining == []

    def test_no_item_of_a_deleted_branch_remains(self, api, organization, workers):
        platform = create_platform(api, organization)
        top, *_ = create_node_chain(api, platform, "Machines", "Looms", "Shuttles")
        for n in range(3):
            create_attachment(api, create_node(api, platform, f"Engine {n}", parent=top))
        assert delete_node(api, top, "cascade").status == 204
        workers.run_until_idle()
        assert api.get_items(f"{platform.path}/taxonomy-nodes", caller=organization.owner) == []
        assert [item for item in memory_aws.all_items() if item.get("kind") == "taxonomy.attachment"] == []

    def test_no_attachment_of_a_deleted_space_remains(self, api, organization, wait):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        create_attachment(api, create_node(api, platform), "space", space.id)
        assert api.delete(space.path, caller=organization.owner).status == 204
        wait()
        assert [item for item in memory_aws.all_items() if item.get("kind") == "taxonomy.attachment"] == []

    def test_no_item_of_a_library_remains(self, api, organization, workers, research_sources, clock, wait):
        research_sources.set_works(build_works(3))
        ResearchClient(api, workers, organization.owner, organization.id).import_works()
        assert api.delete(organization.path, caller=organization.owner).status == 204
        clock.shift(days=RESTORABLE_DAYS)
        wait()
        remaining = [item["kind"] for item in memory_aws.all_items() if item.get("library_id") == organization.id]
        assert remaining == ["research.job"]  # It is stored for a day.


class TestPages:
    def test_a_page_moved_before_the_deletion_stays_with_all_its_contents(self, api, organization, wait, lag):
        site = create_site(api, organization)
        create_published_page(api, site, "Welcome")
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        shuttles = create_published_page(api, site, "Shuttles", parent=looms)
        lag.catch_up()
        update_page(api, looms, parentId=None)
        publish_page(api, looms)
        owner = site.owner
        assert api.delete(machines.path, caller=owner, query={"strategy": "cascade"}).status == 204
        wait()
        for page, path in ((looms, "/looms"), (shuttles, "/looms/shuttles")):
            assert api.get(page.path, caller=owner).json["path"] == path
            assert api.get_items(f"{page.path}/revisions", caller=owner)
            assert get_page_by_path(api, site, path).status == 200

    def test_a_redirect_changed_before_the_deletion_stays(self, api, organization, wait, lag):
        site = create_site(api, organization)
        create_published_page(api, site, "Welcome")
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, slug="mills")
        publish_page(api, looms)
        lag.catch_up()
        assert patch_redirect(api, get_page_redirect(api, site, "/looms"), toPath="/welcome").status == 200
        assert api.delete(looms.path, caller=site.owner).status == 204
        wait()
        assert [redirect["toPath"] for redirect in list_redirects(api, site) if redirect["fromPath"] == "/looms"] == [
            "/welcome"
        ]


class TestErasures:
    def test_an_erasure_covers_records_created_just_before(self, api, organization, workers, clock, stranger):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        add_platform_member(platform, stranger)
        add_space_member(space, stranger)
        complete_erasure(api, workers, clock, organization, userId=stranger.id)
        assert keys_of_items_containing(stranger.id, stranger.email) == []


class TestDepartures:
    def test_a_departure_ends_memberships_and_invitations_created_just_before(self, api, organization, wait, mary):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        add_platform_member(platform, mary, "admin")
        add_space_member(space, mary)
        create_invitation(api, platform, "friend@example.com", caller=mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        wait()
        record_types = ("platform.member", "space.member", "organization.departure")
        assert [
            item for item in memory_aws.all_items() if item.get("kind") in record_types and item["user_id"] == mary.id
        ] == []
        invitations = api.get_items(f"{organization.path}/invitations", caller=organization.owner)
        assert [invitation["status"] for invitation in invitations] == ["revoked"]
