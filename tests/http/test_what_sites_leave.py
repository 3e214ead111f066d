"""Test that deleted sites and pages leave nothing in the table, and which of their names are free again."""

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

PURGE_DELAY = {"days": RESTORABLE_DAYS, "hours": 1}


@pytest.fixture
def site(api: Api, organization: Founded, platform: Running) -> Published:
    """Return a site on a platform, with pages in several states and both kinds of redirects."""
    site = make_site(api, organization, slug="engines", platformId=platform.id)
    home = page_of(api, site, "Welcome")
    machines = page_of(api, site, "Machines")
    looms = page_of(api, site, "Looms", below=machines)
    page_of(api, site, "Jacquard", below=looms)
    write_page(api, site, "Draft", below=machines)
    write_page(api, site, "Scheduled", below=home, publishAt="2099-01-01T00:00:00Z")
    edit(api, machines, slug="engines")
    publish_page(api, machines)
    redirect = api.post(
        f"{site.path}/redirects", as_=site.owner, json={"fromPath": "/old/*", "toPath": "/engines/:splat"}
    )
    assert redirect.status == 201, redirect.text
    return site


def list_leftovers(*ids: str) -> list[Json]:
    """Return the items that mention an id, except those of logs, deliveries, stored answers and former names."""
    ignored_prefixes = ("A#", "B#", "Q#", "I#")
    items = [item for item in cloud.stored() if not item["pk"].startswith(ignored_prefixes) and not item.get("alias")]
    return [item for item in items if any(mentioned_id in json.dumps(item, default=repr) for mentioned_id in ids)]


def pages_by_title(api: Api, site: Published) -> dict[str, Leaf]:
    """Return the pages of a site by title."""
    return {page["title"]: Leaf(page, site) for page in api.items(f"{site.path}/pages", as_=site.owner)}


def finish_work(workers: Workers, clock: Clock) -> None:
    """Let the workers finish all tasks, including later ones."""
    for _ in range(3):
        workers.settle()
        clock.shift(minutes=3)


class TestDeletedSite:
    def test_leaves_nothing(self, api: Api, site: Published, workers: Workers, clock: Clock) -> None:
        ids = [site.id, *(page.id for page in pages_by_title(api, site).values())]
        assert list_leftovers(site.id)
        assert api.delete(site.path, as_=site.owner).status == 204
        finish_work(workers, clock)
        assert list_leftovers(*ids) == []

    def test_releases_its_platform_and_paths_at_once_but_not_its_slug(
        self, api: Api, organization: Founded, site: Published
    ) -> None:
        assert api.delete(site.path, as_=site.owner).status == 204
        path, body = f"{organization.path}/sites", {"name": "Engines", "slug": site.record["slug"]}
        assert api.post(path, as_=site.owner, json=body).code == "409 slug_taken"
        other = make_site(api, organization, slug="machines", platformId=site.record["platformId"])
        assert page_of(api, other, "Welcome").record["path"] == "/"
        assert page_of(api, other, "Engines", slug="engines").record["path"] == "/engines"
        resolution = api.get("/sites/resolve", query={"host": other.record["host"], "path": "/engines"})
        assert (resolution.json["site"]["id"], resolution.json["match"]) == (other.id, "page")

    def test_is_not_found_at_once(self, api: Api, site: Published) -> None:
        page = pages_by_title(api, site)["Looms"]
        assert {answer.status for answer in request_everywhere(api, site, page)} == {200}
        assert api.delete(site.path, as_=site.owner).status == 204
        assert {answer.code for answer in request_everywhere(api, site, page)} == {"404 not_found"}


class TestDeletedPage:
    def test_leaves_nothing_of_itself_and_its_descendants(
        self, api: Api, site: Published, workers: Workers, clock: Clock
    ) -> None:
        pages = pages_by_title(api, site)
        deleted_ids = [pages[title].id for title in ("Machines", "Looms", "Jacquard", "Draft")]
        path, owner = pages["Machines"].path, site.owner
        assert api.delete(path, as_=owner, query={"strategy": "cascade"}).status == 204
        finish_work(workers, clock)
        former_path_items = [item for item in list_leftovers(*deleted_ids) if item["sk"].startswith("F#")]
        assert [
            item for item in list_leftovers(*deleted_ids) if item not in former_path_items and not _is_tree_state(item)
        ] == []
        assert {page["title"] for page in api.items(f"{site.path}/pages", as_=owner)} == {"Welcome", "Scheduled"}
        assert [redirect["origin"] for redirect in api.items(f"{site.path}/redirects", as_=owner)] == ["manual"]

    def test_releases_its_paths(self, api: Api, site: Published, workers: Workers, clock: Clock) -> None:
        path, owner = pages_by_title(api, site)["Machines"].path, site.owner
        assert api.delete(path, as_=owner, query={"strategy": "cascade"}).status == 204
        engines = page_of(api, site, "Engines")
        assert page_of(api, site, "Looms", below=engines).record["path"] == "/engines/looms"
        finish_work(workers, clock)
        answer = api.get(f"{site.path}/pages/by-path", query={"path": "/engines/looms"})
        assert (answer.status, answer.json["title"]) == (200, "Looms")


def _is_tree_state(item: Json) -> bool:
    """Return whether an item is the state of a tree, which lists recently moved pages for a while."""
    return bool(item["sk"] == "N~")


class TestDeletedOrganization:
    def test_hides_its_sites_at_once_and_a_restoration_returns_them(
        self, api: Api, organization: Founded, site: Published
    ) -> None:
        page = pages_by_title(api, site)["Looms"]
        assert {answer.status for answer in request_everywhere(api, site, page)} == {200}
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert {answer.code for answer in request_everywhere(api, site, page)} == {"404 not_found"}
        restoration = api.patch(organization.path, as_=organization.owner, json={"status": "active"})
        assert restoration.status == 200
        assert {answer.status for answer in request_everywhere(api, site, page)} == {200}

    def test_leaves_nothing_of_its_sites_after_its_purge(
        self, api: Api, organization: Founded, site: Published, workers: Workers, clock: Clock
    ) -> None:
        ids = [site.id, *(page.id for page in pages_by_title(api, site).values())]
        assert api.delete(organization.path, as_=organization.owner).status == 204
        workers.settle()
        clock.shift(**PURGE_DELAY)
        finish_work(workers, clock)
        assert list_leftovers(*ids) == []


def request_everywhere(api: Api, site: Published, page: Leaf) -> list[Any]:
    """Return the answers to requests for a site or page by id, by path and by host."""
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
