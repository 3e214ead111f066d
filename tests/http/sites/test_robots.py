"""Test robots.txt of sites."""

import pytest

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.domains import claim_domain, set_domain_state
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import create_platform
from tests.harness.sites import CreatedSite, create_site


def get_robots(api: ApiClient, site: CreatedSite, **options: object) -> ApiResponse:
    """Get the robots.txt of a site, anonymously by default."""
    return api.get(f"{site.path}/robots.txt", **options)


class TestPublishedSite:
    @pytest.fixture
    def site(self, api: ApiClient, organization: CreatedOrganization) -> CreatedSite:
        """Return a public site."""
        return create_site(api, organization)

    def test_allows_everything_and_names_the_sitemap(self, api, site):
        answer = get_robots(api, site)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.text == f"User-agent: *\nDisallow:\n\nSitemap: https://{site.record['host']}/sitemap.xml\n"

    def test_contains_the_rules_of_the_site(self, api, organization):
        extra = "Crawl-delay: 10\r\n# Not for these:\nUser-agent: Bot\nDisallow: /"
        site = create_site(api, organization, robots={"disallow": ["/drafts", "/*/print"], "extra": extra})
        assert get_robots(api, site).text.splitlines() == [
            "User-agent: *",
            "Disallow: /drafts",
            "Disallow: /*/print",
            "Crawl-delay: 10",
            "# Not for these:",
            "User-agent: Bot",
            "Disallow: /",
            "",
            f"Sitemap: https://{site.record['host']}/sitemap.xml",
        ]

    @pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x85", "\u2028"])
    def test_a_path_cannot_inject_a_line(self, api, site, line_break):
        answer = api.patch(
            site.path,
            caller=site.owner,
            json={"robots": {"disallow": [f"/a{line_break}Sitemap: https://evil.example.com"]}},
        )
        assert answer.status == 422
        assert set(answer.errors) == {"/robots/disallow/0"}

    def test_names_the_verified_domain_of_the_platform(self, api, organization):
        platform = create_platform(api, organization, publish=True)
        site = create_site(api, organization, platformId=platform.id)
        claim_domain(api, platform, "looms.example.com")
        set_domain_state(platform, "verified", "looms.example.com")
        assert "Sitemap: https://looms.example.com/sitemap.xml\n" in get_robots(api, site).text

    def test_has_a_strong_etag_and_is_cacheable_for_minutes(self, api, site):
        answer = get_robots(api, site)
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        assert get_robots(api, site, headers={"If-None-Match": answer.etag}).status == 304

    def test_is_the_same_for_every_caller(self, api, site, organization, stranger):
        rivals = create_organization(api, stranger, name="Rivals")
        key_without_scope, foreign_key = (
            create_api_key(api, organization, "webhooks:read"),
            create_api_key(api, rivals, "admin"),
        )
        texts = {
            get_robots(api, site, caller=caller).text
            for caller in (None, site.owner, stranger, key_without_scope, foreign_key)
        }
        assert texts == {get_robots(api, site).text}


class TestDraftSite:
    def test_disallows_everything(self, api, organization, stranger):
        site = create_site(api, organization, publish=False, robots={"extra": "Allow: /"})
        texts = {get_robots(api, site, caller=caller).text for caller in (None, site.owner, stranger)}
        assert texts == {"User-agent: *\nDisallow: /\n"}

    def test_disallows_everything_again_after_unpublishing(self, api, organization):
        site = create_site(api, organization)
        api.patch(site.path, caller=site.owner, json={"status": "draft"})
        assert get_robots(api, site).text == "User-agent: *\nDisallow: /\n"


class TestDeletedSite:
    def test_has_no_robots(self, api, organization):
        site = create_site(api, organization)
        assert api.delete(site.path, caller=site.owner).status == 204
        assert get_robots(api, site).status_and_code == "404 not_found"
        assert api.get("/sites/nothing/robots.txt").status_and_code == "404 not_found"

    def test_has_none_when_the_organization_is_deleted(self, api, organization):
        site = create_site(api, organization)
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert get_robots(api, site).status_and_code == "404 not_found"
        assert get_robots(api, site, caller=organization.owner).status_and_code == "404 not_found"
