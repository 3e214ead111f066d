"""What is left of sites and pages that are deleted: nothing in the table, and every name of theirs is free."""

import json
from typing import Any

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.clock import Clock
from tests.harness.organizations import Founded
from tests.harness.platforms import Running
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, write_page
from tests.harness.workers import Workers

AGES = {"days": RESTORABLE_DAYS, "hours": 1}


@pytest.fixture
def site(api: Api, organization: Founded, platform: Running) -> Published:
    """A site on a platform, with pages in many states, and redirects by hand and by moves."""
    site = make_site(api, organization, slug="engines", platformId=platform.id)
    home = page_of(api, site, "Welcome")
    machines = page_of(api, site, "Machines")
    looms = page_of(api, site, "Looms", below=machines)
    page_of(api, site, "Jacquard", below=looms)
    write_page(api, site, "Draft", below=machines)
    write_page(api, site, "Scheduled", below=home, publishAt="2099-01-01T00:00:00Z")
    edit(api, machines, slug="engines")
    publish_page(api, machines)
    led = api.post(f"{site.path}/redirects", as_=site.owner, json={"fromPath": "/old/*", "toPath": "/engines/:splat"})
    assert led.status == 201, led.text
    return site


def left_of(*ids: str) -> list[Json]:
    """Return the items that tell of something, but those of the log, of its deliveries and of stored answers.

    Former names, which are held for 90 days, are left out as well.
    """
    kept = ("A#", "B#", "Q#", "I#")
    items = [item for item in cloud.stored() if not item["pk"].startswith(kept) and not item.get("alias")]
    return [item for item in items if any(each in json.dumps(item, default=repr) for each in ids)]


def pages_of(api: Api, site: Published) -> dict[str, Leaf]:
    """Return the pages of a site by their titles."""
    return {page["title"]: Leaf(page, site) for page in api.items(f"{site.path}/pages", as_=site.owner)}


def finish(workers: Workers, clock: Clock) -> None:
    """Let the workers do all that is to be done, and look once more."""
    for _ in range(3):
        workers.settle()
        clock.shift(minutes=3)


class TestADeletedSite:
    def test_leaves_nothing(self, api: Api, site: Published, workers: Workers, clock: Clock) -> None:
        ids = [site.id, *(page.id for page in pages_of(api, site).values())]
        assert left_of(site.id)
        assert api.delete(site.path, as_=site.owner).status == 204
        finish(workers, clock)
        assert left_of(*ids) == []

    def test_frees_its_platform_and_its_paths_at_once_but_not_its_slug(
        self, api: Api, organization: Founded, site: Published
    ) -> None:
        assert api.delete(site.path, as_=site.owner).status == 204
        path, body = f"{organization.path}/sites", {"name": "Engines", "slug": site.record["slug"]}
        assert api.post(path, as_=site.owner, json=body).code == "409 slug_taken"
        other = make_site(api, organization, slug="machines", platformId=site.record["platformId"])
        assert page_of(api, other, "Welcome").record["path"] == "/"
        assert page_of(api, other, "Engines", slug="engines").record["path"] == "/engines"
        resolved = api.get("/sites/resolve", query={"host": other.record["host"], "path": "/engines"})
        assert (resolved.json["site"]["id"], resolved.json["match"]) == (other.id, "page")

    def test_is_found_nowhere_at_once(self, api: Api, site: Published) -> None:
        page = pages_of(api, site)["Looms"]
        assert {answer.status for answer in asked(api, site, page)} == {200}
        assert api.delete(site.path, as_=site.owner).status == 204
        assert {answer.code for answer in asked(api, site, page)} == {"404 not_found"}


class TestADeletedPage:
    def test_leaves_nothing_of_itself_and_of_all_below_it(
        self, api: Api, site: Published, workers: Workers, clock: Clock
    ) -> None:
        pages = pages_of(api, site)
        gone = [pages[title].id for title in ("Machines", "Looms", "Jacquard", "Draft")]
        path, owner = pages["Machines"].path, site.owner
        assert api.delete(path, as_=owner, query={"strategy": "cascade"}).status == 204
        finish(workers, clock)
        former = [item for item in left_of(*gone) if item["sk"].startswith("F#")]
        assert [item for item in left_of(*gone) if item not in former and not _only_moved(item)] == []
        assert {page["title"] for page in api.items(f"{site.path}/pages", as_=owner)} == {"Welcome", "Scheduled"}
        assert [r["origin"] for r in api.items(f"{site.path}/redirects", as_=owner)] == ["manual"]

    def test_frees_its_paths(self, api: Api, site: Published, workers: Workers, clock: Clock) -> None:
        path, owner = pages_of(api, site)["Machines"].path, site.owner
        assert api.delete(path, as_=owner, query={"strategy": "cascade"}).status == 204
        engines = page_of(api, site, "Engines")
        assert page_of(api, site, "Looms", below=engines).record["path"] == "/engines/looms"
        finish(workers, clock)
        found = api.get(f"{site.path}/pages/by-path", query={"path": "/engines/looms"})
        assert (found.status, found.json["title"]) == (200, "Looms")


def _only_moved(item: Json) -> bool:
    """Whether it is the state of a tree, which remembers for a while which pages were placed anew."""
    return bool(item["sk"] == "N~")


class TestADeletedOrganization:
    def test_has_no_site_at_once_and_has_them_again_once_it_is_restored(
        self, api: Api, organization: Founded, site: Published
    ) -> None:
        page = pages_of(api, site)["Looms"]
        assert {answer.status for answer in asked(api, site, page)} == {200}
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert {answer.code for answer in asked(api, site, page)} == {"404 not_found"}
        restored = api.patch(organization.path, as_=organization.owner, json={"status": "active"})
        assert restored.status == 200
        assert {answer.status for answer in asked(api, site, page)} == {200}

    def test_leaves_nothing_of_its_sites_once_it_is_purged(
        self, api: Api, organization: Founded, site: Published, workers: Workers, clock: Clock
    ) -> None:
        ids = [site.id, *(page.id for page in pages_of(api, site).values())]
        assert api.delete(organization.path, as_=organization.owner).status == 204
        workers.settle()
        clock.shift(**AGES)
        finish(workers, clock)
        assert left_of(*ids) == []


def asked(api: Api, site: Published, page: Leaf) -> list[Any]:
    """Return what is answered wherever something of a site is asked for: by id, by path, by host."""
    owner, host = site.owner, site.record["host"]
    return [
        api.get(site.path, as_=owner),
        api.get(page.path, as_=owner),
        api.get(f"{site.path}/pages/by-path", query={"path": "/engines/looms"}),
        api.get(f"{site.path}/pages/by-path", as_=owner, query={"path": "/engines/looms", "draft": True}),
        api.get(f"{site.path}/pages/home"),
        api.get(f"{site.path}/robots.txt"),
        api.get(f"{site.path}/sitemap.xml"),
        api.get("/sites/resolve", query={"host": host, "path": "/engines/looms"}),
    ]
