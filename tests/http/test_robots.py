"""Test robots.txt of sites."""

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.domains import came_to, claim
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import run_platform
from tests.harness.sites import Published, make_site


def get_robots(api: Api, site: Published, **options: object) -> Answer:
    """Get the robots.txt of a site, anonymously by default."""
    return api.get(f"{site.path}/robots.txt", **options)


class TestPublishedSite:
    @pytest.fixture
    def site(self, api: Api, organization: Founded) -> Published:
        """Return a public site."""
        return make_site(api, organization)

    def test_allows_everything_and_names_the_sitemap(self, api: Api, site: Published) -> None:
        answer = get_robots(api, site)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.text == f"User-agent: *\nDisallow:\n\nSitemap: https://{site.record['host']}/sitemap.xml\n"

    def test_contains_the_rules_of_the_site(self, api: Api, organization: Founded) -> None:
        extra = "Crawl-delay: 10\r\n# Not for these:\nUser-agent: Bot\nDisallow: /"
        site = make_site(api, organization, robots={"disallow": ["/drafts", "/*/print"], "extra": extra})
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
    def test_a_path_cannot_inject_a_line(self, api: Api, site: Published, line_break: str) -> None:
        answer = api.patch(
            site.path,
            as_=site.owner,
            json={"robots": {"disallow": [f"/a{line_break}Sitemap: https://evil.example.com"]}},
        )
        assert answer.status == 422
        assert set(answer.faults) == {"/robots/disallow/0"}

    def test_names_the_verified_domain_of_the_platform(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization, published=True)
        site = make_site(api, organization, platformId=platform.id)
        claim(api, platform, "looms.example.com")
        came_to(platform, "verified", "looms.example.com")
        assert "Sitemap: https://looms.example.com/sitemap.xml\n" in get_robots(api, site).text

    def test_has_a_strong_etag_and_is_cacheable_for_minutes(self, api: Api, site: Published) -> None:
        answer = get_robots(api, site)
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        assert get_robots(api, site, headers={"If-None-Match": answer.etag}).status == 304

    def test_is_the_same_for_every_caller(
        self, api: Api, site: Published, organization: Founded, stranger: Person
    ) -> None:
        rivals = found(api, stranger, name="Rivals")
        key_without_scope, foreign_key = make_key(api, organization, "webhooks:read"), make_key(api, rivals, "admin")
        texts = {
            get_robots(api, site, as_=caller).text
            for caller in (None, site.owner, stranger, key_without_scope, foreign_key)
        }
        assert texts == {get_robots(api, site).text}


class TestDraftSite:
    def test_disallows_everything(self, api: Api, organization: Founded, stranger: Person) -> None:
        site = make_site(api, organization, published=False, robots={"extra": "Allow: /"})
        texts = {get_robots(api, site, as_=caller).text for caller in (None, site.owner, stranger)}
        assert texts == {"User-agent: *\nDisallow: /\n"}

    def test_disallows_everything_again_after_unpublishing(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        api.patch(site.path, as_=site.owner, json={"status": "draft"})
        assert get_robots(api, site).text == "User-agent: *\nDisallow: /\n"


class TestDeletedSite:
    def test_has_no_robots(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        assert api.delete(site.path, as_=site.owner).status == 204
        assert get_robots(api, site).code == "404 not_found"
        assert api.get("/sites/nothing/robots.txt").code == "404 not_found"

    def test_has_none_when_the_organization_is_deleted(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert get_robots(api, site).code == "404 not_found"
        assert get_robots(api, site, as_=organization.owner).code == "404 not_found"
