"""Test that deleted sites and pages leave nothing in the table, and which of their names are free again."""

import json

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.platforms import create_platform
from tests.harness.redirects import create_redirect
from tests.harness.sites import SitePages, create_site

PURGE_DELAY = {"days": RESTORABLE_DAYS, "hours": 1}


@pytest.fixture
def pages(api, organization):
    """Pages of a site on a platform, in several states and with both kinds of redirects."""
    pages = extended_scenario("a site on a platform", lambda: create_pages(api, organization))
    return SitePages(api, pages.site, *pages)


@pytest.fixture
def site(pages):
    return pages.site


def create_pages(api, organization):
    platform = create_platform(api, organization)
    pages = SitePages(api, create_site(api, organization, slug="engines", platformId=platform.id))
    pages.publish("Welcome", "Machines", "Machines/Looms", "Looms/Jacquard")
    pages.draft("Machines/Draft")
    pages.draft("Welcome/Scheduled", publishAt="2099-01-01T00:00:00Z")
    pages.move(Machines="engines")
    create_redirect(api, pages.site, "/old/*", "/engines/:splat")
    return pages


@pytest.fixture
def finish_work(workers, clock):
    """A function that lets the workers finish all tasks, including later ones."""

    def finish_work() -> None:
        for _ in range(3):
            workers.run_until_idle()
            clock.shift(minutes=3)

    return finish_work


@pytest.fixture
def request_everywhere(api, site, pages):
    """A function that requests the site and a page by id, by path and by host, and returns the different results."""
    query = {"path": "/engines/looms"}

    def request_everywhere() -> set[str]:
        answers = [
            api.get(site.path, caller=site.owner),
            api.get(pages["Looms"].path, caller=site.owner),
            api.get(f"{site.path}/pages/by-path", query=query),
            api.get(f"{site.path}/pages/by-path", caller=site.owner, query={**query, "draft": True}),
            *(api.get(f"{site.path}/{path}") for path in ("pages/home", "robots.txt", "sitemap.xml")),
            api.get("/sites/resolve", query={**query, "host": site.record["host"]}),
        ]
        return {"200" if answer.status == 200 else answer.status_and_code for answer in answers}

    return request_everywhere


def list_leftovers(site, pages, titles=()):
    """Return the items that mention pages, except those of logs, deliveries, stored answers and former names."""
    ids = [pages[title].id for title in titles] or [site.id, *(page.id for page in pages)]
    items = [item for item in memory_aws.all_items() if not item["pk"].startswith(("A#", "B#", "Q#", "I#"))]
    leftovers = [item for item in items if not item.get("alias")]
    return [item for item in leftovers if any(each in json.dumps(item, default=repr) for each in ids)]


class TestDeletedSite:
    def test_leaves_nothing(self, api, site, pages, finish_work):
        assert list_leftovers(site, pages)
        assert api.delete(site.path, caller=site.owner).status == 204
        finish_work()
        assert list_leftovers(site, pages) == []

    def test_is_not_found_at_once(self, api, site, request_everywhere):
        assert request_everywhere() == {"200"}
        assert api.delete(site.path, caller=site.owner).status == 204
        assert request_everywhere() == {"404 not_found"}

    def test_releases_its_platform_and_paths_at_once_but_not_its_slug(self, api, organization, site):
        assert api.delete(site.path, caller=site.owner).status == 204
        path, body = f"{organization.path}/sites", {"name": "Engines", "slug": site.record["slug"]}
        assert api.post(path, caller=site.owner, json=body).status_and_code == "409 slug_taken"
        other = create_site(api, organization, slug="machines", platformId=site.record["platformId"])
        pages = SitePages(api, other)
        assert [pages.publish(title).record["path"] for title in ("Welcome", "Engines")] == ["/", "/engines"]
        resolution = api.get("/sites/resolve", query={"host": other.record["host"], "path": "/engines"})
        assert (resolution.json["site"]["id"], resolution.json["match"]) == (other.id, "page")


class TestDeletedPage:
    def test_leaves_nothing_of_itself_and_its_descendants(self, api, site, pages, finish_work):
        assert pages.delete("Machines", "cascade").status == 204
        finish_work()
        # Former paths stay, and the state of the tree lists recently moved pages for a while.
        leftovers = list_leftovers(site, pages, ("Machines", "Looms", "Jacquard", "Draft"))
        assert [item for item in leftovers if not item["sk"].startswith("F#") and item["sk"] != "N~"] == []
        listed = api.get_items(f"{site.path}/pages", caller=site.owner)
        assert {page["title"] for page in listed} == {"Welcome", "Scheduled"}
        redirects = api.get_items(f"{site.path}/redirects", caller=site.owner)
        assert [redirect["origin"] for redirect in redirects] == ["manual"]

    def test_releases_its_paths(self, pages, finish_work):
        assert pages.delete("Machines", "cascade").status == 204
        pages.publish("Engines")
        assert pages.publish("Engines/Looms").record["path"] == "/engines/looms"
        finish_work()
        assert pages.visit("/engines/looms") == "Looms"


class TestDeletedOrganization:
    def test_hides_its_sites_at_once_and_a_restoration_returns_them(self, api, organization, request_everywhere):
        assert request_everywhere() == {"200"}
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert request_everywhere() == {"404 not_found"}
        assert api.patch(organization.path, caller=organization.owner, json={"status": "active"}).status == 200
        assert request_everywhere() == {"200"}

    def test_leaves_nothing_of_its_sites_after_its_purge(
        self, api, organization, site, pages, workers, clock, finish_work
    ):
        assert api.delete(organization.path, caller=organization.owner).status == 204
        workers.run_until_idle()
        clock.shift(**PURGE_DELAY)
        finish_work()
        assert list_leftovers(site, pages) == []
