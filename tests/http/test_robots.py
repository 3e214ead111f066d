"""robots.txt: what a site asks of crawlers."""

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.domains import came_to, claim
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import run_platform
from tests.harness.sites import Published, make_site


def ask(api: Api, site: Published, **words: object) -> Answer:
    """Ask for the robots.txt of a site, as anybody unless it is said who."""
    return api.get(f"{site.path}/robots.txt", **words)


class TestOfAPublishedSite:
    @pytest.fixture
    def site(self, api: Api, organization: Founded) -> Published:
        """A site that everybody may see."""
        return make_site(api, organization)

    def test_it_lets_crawlers_see_all_and_names_the_sitemap(self, api: Api, site: Published) -> None:
        answer = ask(api, site)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.text == f"User-agent: *\nDisallow:\n\nSitemap: https://{site.record['host']}/sitemap.xml\n"

    def test_it_asks_what_the_site_says(self, api: Api, organization: Founded) -> None:
        extra = "Crawl-delay: 10\r\n# Not for these:\nUser-agent: Bot\nDisallow: /"
        site = make_site(api, organization, robots={"disallow": ["/drafts", "/*/print"], "extra": extra})
        assert ask(api, site).text.splitlines() == [
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

    @pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x85", "\u2028"])
    def test_no_path_begins_a_line_of_its_own(self, api: Api, site: Published, end: str) -> None:
        refused = api.patch(
            site.path, as_=site.owner, json={"robots": {"disallow": [f"/a{end}Sitemap: https://evil.example.com"]}}
        )
        assert refused.status == 422
        assert set(refused.faults) == {"/robots/disallow/0"}

    def test_it_names_the_verified_domain_of_the_platform(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization, published=True)
        site = make_site(api, organization, platformId=platform.id)
        claim(api, platform, "looms.example.com")
        came_to(platform, "verified", "looms.example.com")
        assert "Sitemap: https://looms.example.com/sitemap.xml\n" in ask(api, site).text

    def test_it_has_a_strong_tag_and_may_be_kept_for_minutes(self, api: Api, site: Published) -> None:
        answer = ask(api, site)
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        assert ask(api, site, headers={"If-None-Match": answer.etag}).status == 304

    def test_it_is_the_same_to_everybody(
        self, api: Api, site: Published, organization: Founded, stranger: Person
    ) -> None:
        rivals = found(api, stranger, name="Rivals")
        narrow, foreign = make_key(api, organization, "webhooks:read"), make_key(api, rivals, "admin")
        texts = {ask(api, site, as_=caller).text for caller in (None, site.owner, stranger, narrow, foreign)}
        assert texts == {ask(api, site).text}


class TestOfADraft:
    def test_it_keeps_everybody_from_all(self, api: Api, organization: Founded, stranger: Person) -> None:
        site = make_site(api, organization, published=False, robots={"extra": "Allow: /"})
        texts = {ask(api, site, as_=caller).text for caller in (None, site.owner, stranger)}
        assert texts == {"User-agent: *\nDisallow: /\n"}

    def test_it_says_so_again_once_the_site_is_taken_back(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        api.patch(site.path, as_=site.owner, json={"status": "draft"})
        assert ask(api, site).text == "User-agent: *\nDisallow: /\n"


class TestOfNoSite:
    def test_there_is_none(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        assert api.delete(site.path, as_=site.owner).status == 204
        assert ask(api, site).code == "404 not_found"
        assert api.get("/sites/nothing/robots.txt").code == "404 not_found"

    def test_there_is_none_of_an_organization_that_is_deleted(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert ask(api, site).code == "404 not_found"
        assert ask(api, site, as_=organization.owner).code == "404 not_found"
