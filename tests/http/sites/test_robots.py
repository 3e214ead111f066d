"""Test robots.txt of sites."""

import pytest

from tests.harness.domains import claim_domain, set_domain_state
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import create_platform
from tests.harness.sites import create_site

DISALLOW_ALL = "User-agent: *\nDisallow: /\n"


def get_robots(api, site, caller=None):
    return api.get(f"{site.path}/robots.txt", caller=caller)


def test_a_published_site_allows_everything_and_names_the_sitemap_to_every_caller(api, site, organization, stranger):
    foreign_key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
    key_without_scope = create_api_key(api, organization, "webhooks:read")
    for caller in (None, site.owner, stranger, key_without_scope, foreign_key):
        answer = get_robots(api, site, caller=caller)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        assert answer.text == f"User-agent: *\nDisallow:\n\nSitemap: https://{site.record['host']}/sitemap.xml\n"


def test_the_rules_of_the_site_are_included(api, organization):
    extra = "Crawl-delay: 10\r\n# Not for these:\nUser-agent: Bot\nDisallow: /"
    site = create_site(api, organization, robots={"disallow": ["/drafts", "/*/print"], "extra": extra})
    rules = ["User-agent: *", "Disallow: /drafts", "Disallow: /*/print", *extra.splitlines(), ""]
    assert get_robots(api, site).text.splitlines() == [*rules, f"Sitemap: https://{site.record['host']}/sitemap.xml"]


@pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x85", "\u2028"])
def test_a_path_cannot_inject_a_line(api, site, line_break):
    body = {"robots": {"disallow": [f"/a{line_break}Sitemap: https://evil.example.com"]}}
    assert set(api.patch(site.path, caller=site.owner, json=body).errors) == {"/robots/disallow/0"}


def test_the_verified_domain_of_the_platform_is_named(api, organization):
    platform = create_platform(api, organization, publish=True)
    site = create_site(api, organization, platformId=platform.id)
    claim_domain(api, platform, "looms.example.com")
    set_domain_state(platform, "verified", "looms.example.com")
    assert "Sitemap: https://looms.example.com/sitemap.xml\n" in get_robots(api, site).text


def test_a_draft_site_disallows_everything(api, organization, stranger):
    site = create_site(api, organization, publish=False, robots={"extra": "Allow: /"})
    for caller in (None, site.owner, stranger):
        assert get_robots(api, site, caller=caller).text == DISALLOW_ALL
    for status, is_public in (("published", True), ("draft", False)):
        api.patch(site.path, caller=site.owner, json={"status": status})
        assert (get_robots(api, site).text != DISALLOW_ALL) == is_public
