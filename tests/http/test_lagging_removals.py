"""Removals while indexes lag remove everything that has to be removed, and nothing else."""

from collections.abc import Callable, Iterator

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased, left_of
from tests.harness.index_lag import LAGS, Lag, lagging
from tests.harness.invitations import invite
from tests.harness.organizations import Founded
from tests.harness.platforms import comes_in, make_space, run_platform, takes_part
from tests.harness.redirects import altered, left_behind, redirects_of
from tests.harness.sites import edit, make_site, page_of, publish_page, visit
from tests.harness.sources import Library, World, works
from tests.harness.taxonomy import attach, fell, plant, plant_line
from tests.harness.workers import Workers

Wait = Callable[[], None]


@pytest.fixture(params=LAGS, autouse=True)
def lag(request: pytest.FixtureRequest, organization: Founded) -> Iterator[Lag]:
    """Indexes that lag behind every change after the organization's creation."""
    assert organization.id
    with lagging(request.param) as lag:
        yield lag


@pytest.fixture
def wait(workers: Workers, clock: Clock) -> Wait:
    """A function that lets the workers process the queues while minutes pass."""

    def wait() -> None:
        for _ in range(6):
            workers.settle()
            clock.shift(seconds=61)

    return wait


class TestContainers:
    def test_no_item_of_a_deleted_platform_remains(
        self, api: Api, organization: Founded, workers: Workers, wait: Wait, stranger: Person
    ) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        invite(api, platform, "friend@example.com")
        attach(api, plant(api, platform), "space", space.id)
        takes_part(platform, stranger)
        workers.deliver()
        assert api.delete(platform.path, as_=organization.owner).status == 204
        wait()
        ids = (platform.id, space.id)
        remaining = [item for item in cloud.stored() if any(record_id in item["pk"] + item["sk"] for record_id in ids)]
        assert remaining == []

    def test_no_item_of_a_deleted_branch_remains(self, api: Api, organization: Founded, workers: Workers) -> None:
        platform = run_platform(api, organization)
        top, *_ = plant_line(api, platform, "Machines", "Looms", "Shuttles")
        for n in range(3):
            attach(api, plant(api, platform, f"Engine {n}", below=top))
        assert fell(api, top, "cascade").status == 204
        workers.settle()
        assert api.items(f"{platform.path}/taxonomy-nodes", as_=organization.owner) == []
        assert [item for item in cloud.stored() if item.get("kind") == "taxonomy.attachment"] == []

    def test_no_attachment_of_a_deleted_space_remains(self, api: Api, organization: Founded, wait: Wait) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        attach(api, plant(api, platform), "space", space.id)
        assert api.delete(space.path, as_=organization.owner).status == 204
        wait()
        assert [item for item in cloud.stored() if item.get("kind") == "taxonomy.attachment"] == []

    def test_no_item_of_a_library_remains(
        self, api: Api, organization: Founded, workers: Workers, world: World, clock: Clock, wait: Wait
    ) -> None:
        world.knows(works(3))
        Library(api, workers, organization.owner, organization.id).imported()
        assert api.delete(organization.path, as_=organization.owner).status == 204
        clock.shift(days=RESTORABLE_DAYS)
        wait()
        remaining = [item["kind"] for item in cloud.stored() if item.get("library_id") == organization.id]
        assert remaining == ["research.job"]  # It is stored for a day.


class TestPages:
    def test_a_page_moved_before_the_deletion_stays_with_all_its_contents(
        self, api: Api, organization: Founded, wait: Wait, lag: Lag
    ) -> None:
        site = make_site(api, organization)
        page_of(api, site, "Welcome")
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        shuttles = page_of(api, site, "Shuttles", below=looms)
        lag.catch_up()
        edit(api, looms, parentId=None)
        publish_page(api, looms)
        owner = site.owner
        assert api.delete(machines.path, as_=owner, query={"strategy": "cascade"}).status == 204
        wait()
        for page, path in ((looms, "/looms"), (shuttles, "/looms/shuttles")):
            assert api.get(page.path, as_=owner).json["path"] == path
            assert api.items(f"{page.path}/revisions", as_=owner)
            assert visit(api, site, path).status == 200

    def test_a_redirect_changed_before_the_deletion_stays(
        self, api: Api, organization: Founded, wait: Wait, lag: Lag
    ) -> None:
        site = make_site(api, organization)
        page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        edit(api, looms, slug="mills")
        publish_page(api, looms)
        lag.catch_up()
        assert altered(api, left_behind(api, site, "/looms"), toPath="/welcome").status == 200
        assert api.delete(looms.path, as_=site.owner).status == 204
        wait()
        assert [redirect["toPath"] for redirect in redirects_of(api, site) if redirect["fromPath"] == "/looms"] == [
            "/welcome"
        ]


class TestErasures:
    def test_an_erasure_covers_records_created_just_before(
        self, api: Api, organization: Founded, workers: Workers, clock: Clock, stranger: Person
    ) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        takes_part(platform, stranger)
        comes_in(space, stranger)
        erased(api, workers, clock, organization, userId=stranger.id)
        assert left_of(stranger.id, stranger.email) == []


class TestDepartures:
    def test_a_departure_ends_memberships_and_invitations_created_just_before(
        self, api: Api, organization: Founded, wait: Wait, mary: Person
    ) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        takes_part(platform, mary, "admin")
        comes_in(space, mary)
        invite(api, platform, "friend@example.com", as_=mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        wait()
        record_types = ("platform.member", "space.member", "organization.departure")
        assert [
            item for item in cloud.stored() if item.get("kind") in record_types and item["user_id"] == mary.id
        ] == []
        invitations = api.items(f"{organization.path}/invitations", as_=organization.owner)
        assert [invitation["status"] for invitation in invitations] == ["revoked"]
