"""Test that deleted sites and pages leave nothing in the table, and which of their names are free again."""

import json
from typing import Any

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.clock import Clock
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_draft_page,
    create_published_page,
    create_site,
    publish_page,
    update_page,
)
from tests.harness.workers import Workers

PURGE_DELAY = {"days": RESTORABLE_DAYS, "hours": 1}


@pytest.fixture
def site(api: ApiClient, organization: CreatedOrganization, platform: CreatedPlatform) -> CreatedSite:
    """Return a site on a platform, with pages in several states and both kinds of redirects."""
    site = create_site(api, organization, slug="engines", platformId=platform.id)
    home = create_published_page(api, site, "Welcome")
    machines = create_published_page(api, site, "Machines")
    looms = create_published_page(api, site, "Looms", parent=machines)
    create_published_page(api, site, "Jacquard", parent=looms)
    create_draft_page(api, site, "Draft", parent=machines)
    create_draft_page(api, site, "Scheduled", parent=home, publishAt="2099-01-01T00:00:00Z")
    update_page(api, machines, slug="engines")
    publish_page(api, machines)
    redirect = api.post(
        f"{site.path}/redirects", caller=site.owner, json={"fromPath": "/old/*", "toPath": "/engines/:splat"}
    )
    assert redirect.status == 201, redirect.text
    return site


def list_leftovers(*ids: str) -> list[Json]:
    """Return the items that mention an id, except those of logs, deliveries, stored answers and former names."""
    ignored_prefixes = ("A#", "B#", "Q#", "I#")
    items = [
        item for item in memory_aws.all_items() if not item["pk"].startswith(ignored_prefixes) and not item.get("alias")
    ]
    return [item for item in items if any(mentioned_id in json.dumps(item, default=repr) for mentioned_id in ids)]


def pages_by_title(api: ApiClient, site: CreatedSite) -> dict[str, CreatedPage]:
    """Return the pages of a site by title."""
    return {page["title"]: CreatedPage(page, site) for page in api.get_items(f"{site.path}/pages", caller=site.owner)}


def finish_work(workers: Workers, clock: Clock) -> None:
    """Let the workers finish all tasks, including later ones."""
    for _ in range(3):
        workers.run_until_idle()
        clock.shift(minutes=3)


class TestDeletedSite:
    def test_leaves_nothing(self, api, site, workers, clock):
        ids = [site.id, *(page.id for page in pages_by_title(api, site).values())]
        assert list_leftovers(site.id)
        assert api.delete(site.path, caller=site.owner).status == 204
        finish_work(workers, clock)
        assert list_leftovers(*ids) == []

    def test_releases_its_platform_and_paths_at_once_but_not_its_slug(self, api, organization, site):
        assert api.delete(site.path, caller=site.owner).status == 204
        path, body = f"{organization.path}/sites", {"name": "Engines", "slug": site.record["slug"]}
        assert api.post(path, caller=site.owner, json=body).status_and_code == "409 slug_taken"
        other = create_site(api, organization, slug="machines", platformId=site.record["platformId"])
        assert create_published_page(api, other, "Welcome").record["path"] == "/"
        assert create_published_page(api, other, "Engines", slug="engines").record["path"] == "/engines"
        resolution = api.get("/sites/resolve", query={"host": other.record["host"], "path": "/engines"})
        assert (resolution.json["site"]["id"], resolution.json["match"]) == (other.id, "page")

    def test_is_not_found_at_once(self, api, site):
        page = pages_by_title(api, site)["Looms"]
        assert {answer.status for answer in request_everywhere(api, site, page)} == {200}
        assert api.delete(site.path, caller=site.owner).status == 204
        assert {answer.status_and_code for answer in request_everywhere(api, site, page)} == {"404 not_found"}


class TestDeletedPage:
    def test_leaves_nothing_of_itself_and_its_descendants(self, api, site, workers, clock):
        pages = pages_by_title(api, site)
        deleted_ids = [pages[title].id for title in ("Machines", "Looms", "Jacquard", "Draft")]
        path, owner = pages["Machines"].path, site.owner
        assert api.delete(path, caller=owner, query={"strategy": "cascade"}).status == 204
        finish_work(workers, clock)
        former_path_items = [item for item in list_leftovers(*deleted_ids) if item["sk"].startswith("F#")]
        assert [
            item for item in list_leftovers(*deleted_ids) if item not in former_path_items and not _is_tree_state(item)
        ] == []
        assert {page["title"] for page in api.get_items(f"{site.path}/pages", caller=owner)} == {"Welcome", "Scheduled"}
        assert [redirect["origin"] for redirect in api.get_items(f"{site.path}/redirects", caller=owner)] == ["manual"]

    def test_releases_its_paths(self, api, site, workers, clock):
        path, owner = pages_by_title(api, site)["Machines"].path, site.owner
        assert api.delete(path, caller=owner, query={"strategy": "cascade"}).status == 204
        engines = create_published_page(api, site, "Engines")
        assert create_published_page(api, site, "Looms", parent=engines).record["path"] == "/engines/looms"
        finish_work(workers, clock)
        answer = api.get(f"{site.path}/pages/by-path", query={"path": "/engines/looms"})
        assert (answer.status, answer.json["title"]) == (200, "Looms")


def _is_tree_state(item: Json) -> bool:
    """Return whether an item is the state of a tree, which lists recently moved pages for a while."""
    return bool(item["sk"] == "N~")


class TestDeletedOrganization:
    def test_hides_its_sites_at_once_and_a_restoration_returns_them(self, api, organization, site):
        page = pages_by_title(api, site)["Looms"]
        assert {answer.status for answer in request_everywhere(api, site, page)} == {200}
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert {answer.status_and_code for answer in request_everywhere(api, site, page)} == {"404 not_found"}
        restoration = api.patch(organization.path, caller=organization.owner, json={"status": "active"})
        assert restoration.status == 200
        assert {answer.status for answer in request_everywhere(api, site, page)} == {200}

    def test_leaves_nothing_of_its_sites_after_its_purge(self, api, organization, site, workers, clock):
        ids = [site.id, *(page.id for page in pages_by_title(api, site).values())]
        assert api.delete(organization.path, caller=organization.owner).status == 204
        workers.run_until_idle()
        clock.shift(**PURGE_DELAY)
        finish_work(workers, clock)
        assert list_leftovers(*ids) == []


def request_everywhere(api: ApiClient, site: CreatedSite, page: CreatedPage) -> list[Any]:
    """Return the answers to requests for a site or page by id, by path and by host."""
    owner, host = site.owner, site.record["host"]
    return [
        api.get(site.path, caller=owner),
        api.get(page.path, caller=owner),
        api.get(f"{site.path}/pages/by-path", query={"path": "/engines/looms"}),
        api.get(f"{site.path}/pages/by-path", caller=owner, query={"path": "/engines/looms", "draft": True}),
        api.get(f"{site.path}/pages/home"),
        api.get(f"{site.path}/robots.txt"),
        api.get(f"{site.path}/sitemap.xml"),
        api.get("/sites/resolve", query={"host": host, "path": "/engines/looms"}),
    ]
