"""Sites: creating, changing and publishing them; and what deleted sites and pages leave behind."""

import json

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.domains import set_domain_state
from tests.harness.organizations import create_api_key, create_organization, set_role
from tests.harness.platforms import create_platform, set_member_role
from tests.harness.redirects import create_redirect
from tests.harness.sitemaps import get_sitemap
from tests.harness.sites import SitePages, create_site


class TestCreateSite:
    def test_a_slug_is_unique_in_the_service(self, api, organization, stranger):
        create_site(api, organization, slug="looms")
        other = create_organization(api, stranger, name="Mills")
        response = api.post(f"{other.path}/sites", caller=stranger, json={"name": "Looms", "slug": "looms"})
        assert response.status_and_code == "409 slug_taken"
        assert create_site(api, other, name="Looms").record["slug"].startswith("looms-")

    def test_rejects_malformed_robots(self, api, organization):
        robots = {"disallow": ["/drafts", "no path", "/a b"], "extra": "Crawl-delay: 1\nnonsense"}
        body = {"name": "Looms", "robots": robots}
        answer = api.post(f"{organization.path}/sites", caller=organization.owner, json=body)
        assert answer.errors == {f"/robots/{each}": "malformed" for each in ("disallow/1", "disallow/2", "extra")}


class TestSitePlatform:
    def test_belongs_to_the_organization_and_has_at_most_one_site(self, api, organization, platform, stranger):
        site = create_site(api, organization, platformId=platform.id)
        body = {"name": "Another", "platformId": platform.id}
        second = api.post(f"{organization.path}/sites", caller=organization.owner, json=body)
        assert second.problem_and_pointers == ("409 already_exists", ["/platformId"])
        foreign_platform = create_platform(api, create_organization(api, stranger, name="Mills"))
        answer = api.patch(site.path, caller=site.owner, json={"platformId": foreign_platform.id})
        assert answer.errors == {"/platformId": "unknown"}
        assert api.delete(site.path, caller=site.owner).status == 204
        assert create_site(api, organization, platformId=platform.id).record["platformId"] == platform.id

    def test_provides_its_domain_to_the_site_once_verified(self, api, organization, platform):
        site = create_site(api, organization, platformId=platform.id)
        for state, host in (("pending", site.record["host"]), ("verified", "looms.example.com")):
            set_domain_state(platform, state, "looms.example.com")
            assert api.get(site.path, caller=site.owner).json["host"] == host
            assert [each["host"] for each in api.get_items(f"{organization.path}/sites", caller=site.owner)] == [host]
            answer = api.get(site.path, caller=site.owner)
            record, headers = answer.json | {"name": f"Mills {state}"}, {"If-Match": answer.etag}
            answer = api.patch(site.path, caller=site.owner, json=record, headers=headers)
            assert answer.expect(200).json["host"] == host
            assert [change["field"] for change in list_entries(api, organization)[0]["changes"]] == ["name"]
        answer = api.patch(site.path, caller=site.owner, json={"host": site.record["host"]})
        assert answer.errors == {"/host": "read_only"}
        for platform_id, host in ((None, site.record["host"]), (platform.id, "looms.example.com")):
            answer = api.patch(site.path, caller=site.owner, json={"platformId": platform_id})
            assert answer.expect(200).json["host"] == host


class TestChangeSite:
    def test_publishes_and_unpublishes(self, api, organization):
        site = create_site(api, organization, publish=False)
        record = api.patch(site.path, caller=site.owner, json={"status": "published"}).json
        assert (record["status"], record["publishedAt"]) == ("published", record["updatedAt"])
        record = api.patch(site.path, caller=site.owner, json={"status": "draft"}).json
        assert (record["status"], record["publishedAt"]) == ("draft", None)
        api.patch(site.path, caller=site.owner, json={"name": "Looms"})
        event_types = [entry["type"] for entry in list_entries(api, organization)]
        assert event_types[:4] == ["site.updated", "site.unpublished", "site.published", "site.created"]

    def test_merges_robots(self, api, organization):
        site = create_site(api, organization, robots={"disallow": ["/a"], "extra": "# why"})
        record = api.patch(site.path, caller=site.owner, json={"robots": {"disallow": ["/b"]}}).json
        assert record["robots"] == {"disallow": ["/b"], "extra": "# why"}


def request_both_changes(api, organization, platform, caller):
    """Return the answers to requests to move a site to a platform, and to create one there."""
    site = create_site(api, organization, name="Elsewhere")
    body = {"name": "Here", "platformId": platform.id}
    answers = [
        api.patch(site.path, caller=caller, json={"platformId": platform.id}),
        api.post(f"{organization.path}/sites", caller=caller, json=body),
    ]
    for path in (site.path, *(answer.location for answer in answers[1:] if answer.status == 201)):
        assert api.delete(path, caller=organization.owner).status == 204
    return answers


class TestSiteOfAPlatform:
    """Only admins of a platform decide which site its domain shows."""

    def test_is_set_by_admins_of_the_platform_or_the_organization_and_not_by_editors(
        self, api, organization, platform, edith, mary, grace
    ):
        assert set_role(api, organization, mary, "editor").status == 200
        set_member_role(api, platform, mary, "editor")
        for person in (edith, mary):
            for answer in request_both_changes(api, organization, platform, person):
                answer.expect_problem("403 insufficient_role", "'admin' on that platform")
                assert answer.errors == {"/platformId": "insufficient_role"}
        set_member_role(api, platform, edith, "admin")
        for person in (edith, grace):
            assert request_both_changes(api, organization, platform, person)[0].status == 200

    def test_is_set_by_keys_that_may_change_platforms(self, api, organization, platform):
        for scopes in (["write"], ["sites:write"], ["sites:write", "platforms:read"]):
            key = create_api_key(api, organization, *scopes)
            for answer in request_both_changes(api, organization, platform, key):
                assert answer.problem_and_errors == ("403 insufficient_scope", {"/platformId": "insufficient_scope"})
        for scopes in (["admin"], ["sites:write", "platforms:write"]):
            key = create_api_key(api, organization, *scopes)
            assert request_both_changes(api, organization, platform, key)[0].status == 200

    def test_editors_may_keep_or_remove_the_platform(self, api, organization, platform, edith):
        site = create_site(api, organization, platformId=platform.id)
        answer = api.patch(site.path, caller=edith, json={"platformId": platform.id, "name": "Mills"})
        assert (answer.status, answer.json["name"]) == (200, "Mills")
        assert api.patch(site.path, caller=edith, json={"platformId": None}).status == 200


@pytest.fixture
def platform_pages(api, organization):
    """Pages of a site on a platform, in several states and with both kinds of redirects."""
    pages = extended_scenario("a site on a platform", lambda: create_pages(api, organization))
    return SitePages(api, pages.site, *pages)


def create_pages(api, organization):
    platform = create_platform(api, organization)
    pages = SitePages(api, create_site(api, organization, slug="engines", platformId=platform.id))
    pages.publish("Welcome", "Machines", "Machines/Looms", "Looms/Jacquard")
    pages.draft("Machines/Draft")
    pages.draft("Welcome/Scheduled", publishAt="2099-01-01T00:00:00Z")
    pages.move(Machines="engines")
    create_redirect(api, pages.site, "/old/*", "/engines/:splat")
    get_sitemap(api, pages.site)
    return pages


def finish_work(workers, clock):
    """Let the workers finish all tasks, including later ones."""
    for _ in range(3):
        workers.run_until_idle()
        clock.shift(minutes=3)


def request_everywhere(api, pages):
    """Request a site and its page Looms by id, by path and by host, and return the different results."""
    site, query = pages.site, {"path": "/engines/looms"}
    answers = [
        api.get(site.path, caller=site.owner),
        api.get(pages["Looms"].path, caller=site.owner),
        api.get(f"{site.path}/pages/by-path", query=query),
        api.get(f"{site.path}/pages/by-path", caller=site.owner, query={**query, "draft": True}),
        *(api.get(f"{site.path}/{path}") for path in ("pages/home", "robots.txt", "sitemap.xml")),
        api.get("/sites/resolve", query={**query, "host": site.record["host"]}),
    ]
    return {"200" if answer.status == 200 else answer.status_and_code for answer in answers}


def list_leftovers(pages, titles=()):
    """Return the items that mention pages, except those of logs, deliveries, stored answers and former names."""
    ids = [pages[title].id for title in titles] or [pages.site.id, *(page.id for page in pages)]
    items = [item for item in memory_aws.all_items() if not item["pk"].startswith(("A#", "B#", "Q#", "I#"))]
    leftovers = [item for item in items if not item.get("alias")]
    return [item for item in leftovers if any(each in json.dumps(item, default=repr) for each in ids)]


class TestDeletedSite:
    def test_is_not_found_at_once_and_leaves_nothing(self, api, platform_pages, workers, clock):
        assert list_leftovers(platform_pages)
        assert api.delete(platform_pages.site.path, caller=platform_pages.site.owner).status == 204
        assert request_everywhere(api, platform_pages) == {"404 not_found"}
        finish_work(workers, clock)
        assert list_leftovers(platform_pages) == []

    def test_releases_its_platform_and_paths_at_once_but_not_its_slug(self, api, organization, platform_pages):
        site = platform_pages.site
        assert api.delete(site.path, caller=site.owner).status == 204
        path, body = f"{organization.path}/sites", {"name": "Engines", "slug": site.record["slug"]}
        assert api.post(path, caller=site.owner, json=body).status_and_code == "409 slug_taken"
        other = create_site(api, organization, slug="machines", platformId=site.record["platformId"])
        pages = SitePages(api, other)
        assert [pages.publish(title).record["path"] for title in ("Welcome", "Engines")] == ["/", "/engines"]
        resolution = api.get("/sites/resolve", query={"host": other.record["host"], "path": "/engines"})
        assert (resolution.json["site"]["id"], resolution.json["match"]) == (other.id, "page")


class TestDeletedPage:
    @pytest.fixture(autouse=True)
    def deleted_page(self, platform_pages):
        assert platform_pages.delete("Machines", "cascade").status == 204

    def test_leaves_nothing_of_itself_and_its_descendants(self, api, platform_pages, workers, clock):
        finish_work(workers, clock)
        # Former paths stay, and the state of the tree lists recently moved pages for a while.
        leftovers = list_leftovers(platform_pages, ("Machines", "Looms", "Jacquard", "Draft"))
        assert [item for item in leftovers if not item["sk"].startswith("F#") and item["sk"] != "N~"] == []
        site = platform_pages.site
        listed = api.get_items(f"{site.path}/pages", caller=site.owner)
        assert {page["title"] for page in listed} == {"Welcome", "Scheduled"}
        redirects = api.get_items(f"{site.path}/redirects", caller=site.owner)
        assert [redirect["origin"] for redirect in redirects] == ["manual"]

    def test_releases_its_paths(self, platform_pages, workers, clock):
        platform_pages.publish("Engines")
        assert platform_pages.publish("Engines/Looms").record["path"] == "/engines/looms"
        finish_work(workers, clock)
        assert platform_pages.visit("/engines/looms") == "Looms"


class TestDeletedOrganization:
    def test_hides_its_sites_at_once_and_a_restoration_returns_them(self, api, organization, platform_pages):
        assert request_everywhere(api, platform_pages) == {"200"}
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert request_everywhere(api, platform_pages) == {"404 not_found"}
        assert api.patch(organization.path, caller=organization.owner, json={"status": "active"}).status == 200
        assert request_everywhere(api, platform_pages) == {"200"}

    def test_leaves_nothing_of_its_sites_after_its_purge(self, api, organization, platform_pages, workers, clock):
        assert api.delete(organization.path, caller=organization.owner).status == 204
        workers.run_until_idle()
        clock.shift(days=RESTORABLE_DAYS, hours=1)
        finish_work(workers, clock)
        assert list_leftovers(platform_pages) == []
