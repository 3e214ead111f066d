"""Test sites: creating, listing, reading, updating, publishing and deleting them."""

import pytest

from tests.harness.api import ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.domains import set_domain_state
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import create_platform, set_member_role
from tests.harness.sites import create_site


class TestCreateSite:
    def test_defaults_to_a_draft_without_pages(self, api, organization):
        record = create_site(api, organization, publish=False, name="All about Looms").record
        generated = {name: record[name] for name in ("id", "createdAt", "updatedAt")}
        empty = dict.fromkeys(("description", "platformId", "publishedAt", "homePageId"))
        names = {"name": "All about Looms", "slug": "all-about-looms", "host": "all-about-looms.sites.atrium.example"}
        defaults = {"defaultLocale": "en", "robots": {"disallow": [], "extra": None}, "status": "draft"}
        assert record == {**generated, **empty, **names, **defaults, "version": 1, "organizationId": organization.id}

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
        assert (second.status_and_code, set(second.errors)) == ("409 already_exists", {"/platformId"})
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


def test_sites_are_listed_in_order_of_creation(api, organization, mary):
    site_ids = [create_site(api, organization, name=name).id for name in ("Looms", "Mills", "Engines")]
    listed = api.get_items(f"{organization.path}/sites", caller=mary, query={"limit": 2})
    assert [each["id"] for each in listed] == site_ids


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

    def test_its_deletion_deletes_all_pages_with_it(self, api, organization, site, home_page):
        key = create_api_key(api, organization, "sites:read")
        assert api.get(home_page.path, caller=key).status == 200
        api.delete(site.path, caller=site.owner)
        for path in (home_page.path, f"{site.path}/pages", f"{site.path}/pages/home"):
            assert api.get(path, caller=key).status_and_code == "404 not_found"
        assert api.get("/sites/resolve", query={"host": site.record["host"]}).status_and_code == "404 not_found"


class TestSiteOfAPlatform:
    """Only admins of a platform decide which site its domain shows."""

    @pytest.fixture
    def request_both_changes(self, api, organization, platform):
        """Return the answers to requests to move a site to a platform, and to create one there."""

        def request_both_changes(caller: Caller) -> list[ApiResponse]:
            site = create_site(api, organization, name="Elsewhere")
            body = {"name": "Here", "platformId": platform.id}
            answers = [
                api.patch(site.path, caller=caller, json={"platformId": platform.id}),
                api.post(f"{organization.path}/sites", caller=caller, json=body),
            ]
            for path in (site.path, *(answer.location for answer in answers[1:] if answer.status == 201)):
                assert api.delete(path, caller=organization.owner).status == 204
            return answers

        return request_both_changes

    def test_is_forbidden_to_editors(self, api, organization, platform, edith, mary, request_both_changes):
        path = f"{organization.path}/members/{mary.id}"
        assert api.patch(path, caller=organization.owner, json={"role": "editor"}).status == 200
        set_member_role(api, platform, mary, "editor")
        for person in (edith, mary):
            for answer in request_both_changes(person):
                assert answer.status_and_code == "403 insufficient_role"
                assert answer.errors == {"/platformId": "insufficient_role"}
                assert "'admin' on that platform" in answer.json["detail"]

    def test_is_set_by_admins_of_the_platform_or_the_organization(
        self, api, platform, edith, grace, request_both_changes
    ):
        set_member_role(api, platform, edith, "admin")
        for person in (edith, grace):
            assert request_both_changes(person)[0].status == 200

    def test_is_set_by_keys_that_may_change_platforms(self, api, organization, request_both_changes):
        for scopes in (["write"], ["sites:write"], ["sites:write", "platforms:read"]):
            for answer in request_both_changes(create_api_key(api, organization, *scopes)):
                assert answer.status_and_code == "403 insufficient_scope"
                assert answer.errors == {"/platformId": "insufficient_scope"}
        for scopes in (["admin"], ["sites:write", "platforms:write"]):
            assert request_both_changes(create_api_key(api, organization, *scopes))[0].status == 200

    def test_editors_may_keep_or_remove_the_platform(self, api, organization, platform, edith):
        site = create_site(api, organization, platformId=platform.id)
        answer = api.patch(site.path, caller=edith, json={"platformId": platform.id, "name": "Mills"})
        assert (answer.status, answer.json["name"]) == (200, "Mills")
        assert api.patch(site.path, caller=edith, json={"platformId": None}).status == 200
