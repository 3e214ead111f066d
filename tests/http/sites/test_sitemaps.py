"""Test sitemaps and robots.txt of sites: which pages they list, and how sitemaps are divided and stored."""

from dataclasses import replace
from math import ceil

import pytest

from chalicelib.features.sites.entities.redirects import redirect_by_path_key
from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, page_tree
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.visits.logic import sitemaps, stored_sitemaps
from tests.harness import memory_aws
from tests.harness.domains import claim_domain, set_domain_state
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import create_platform
from tests.harness.redirects import create_redirect, delete_redirect, patch_redirect
from tests.harness.sitemaps import get_sitemap, sitemap_index_urls, sitemap_urls
from tests.harness.sites import SitePages, create_published_page, create_site

ONE_READ = ["dynamodb:BatchGetItem"]
DISALLOW_ALL = "User-agent: *\nDisallow: /\n"
LISTED_PAGES = 3000
"""The items of these pages in the tree have more than a megabyte, which one query returns at most."""


def list_paths(api, site):
    """Return the paths in a site's sitemap."""
    return [url.removeprefix(site.url) for url in sitemap_urls(get_sitemap(api, site))]


class TestSitemap:
    def test_lists_published_pages_by_path_with_their_modification_time(self, api, site, clock):
        clock.freeze("2030-01-01T00:00:00Z")
        pages = SitePages(api, site)
        pages.publish("Welcome", "Looms", "Looms/Jacquard", "Welcome/Engines")
        clock.freeze("2030-01-02T00:00:00Z")
        pages.republish("Looms", title="All looms")
        first, stored = get_sitemap(api, site), get_sitemap(api, site)
        days = {"/": "01", "/engines": "01", "/looms": "02", "/looms/jacquard": "01"}
        assert [*sitemap_urls(first).items()] == [
            (f"{site.url}{path}", f"2030-01-{day}T00:00:00.000Z") for path, day in days.items()
        ]
        queries = ["dynamodb:Query"] * 2  # of the pages and of the redirects
        assert first.calls.call_names == [*ONE_READ, *queries, "dynamodb:TransactWriteItems"]
        assert (stored.calls.call_names, stored.text) == (ONE_READ, first.text)

    def test_is_text_for_clients_that_prefer_text(self, api, site, pages):
        pages.publish("Looms")
        path = f"{site.path}/sitemap.xml"
        as_text = api.get(path, headers={"Accept": "text/xml, */*;q=0.1"}).expect(200)
        assert as_text.headers["Content-Type"] == "text/xml"
        for accept in ("*/*", "text/xml;q=0.5, application/xml"):
            answer = api.get(path, headers={"Accept": accept}).expect(200)
            assert (answer.headers["Content-Type"], answer.text) == ("application/xml", as_text.text)
            assert answer.headers["Vary"].startswith("Accept, ")
        assert as_text.headers["Vary"].startswith("Accept, ")

    def test_excludes_drafts_and_unpublished_noindex_and_copied_pages_but_not_their_descendants(self, api, site, pages):
        pages.publish("Looms", "Looms/Jacquard")
        pages.draft("Looms/Soon")
        pages.update("Looms", unpublishAt="2020-01-01T00:00:00Z")
        pages.publish("Thanks", "Shy", seo={"noindex": True})
        pages.publish("Copied", seo={"canonical": "https://elsewhere.example.com/copied"})
        pages.update("Shy", seo={"noindex": False})
        assert list_paths(api, site) == ["/", "/looms/jacquard"]
        pages.republish("Shy")
        assert list_paths(api, site) == ["/", "/looms/jacquard", "/shy"]

    def test_lists_the_published_path_whatever_the_draft_path(self, api, site, pages):
        pages.publish("Looms", "Looms/Jacquard")
        pages.update("Looms", slug="machines")
        assert list_paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        pages.republish("Looms")
        assert list_paths(api, site) == ["/", "/machines", "/machines/jacquard"]

    def test_uses_the_verified_domain_of_the_platform(self, api, organization):
        platform = create_platform(api, organization, publish=True)
        site = create_site(api, organization, platformId=platform.id)
        create_published_page(api, site, "Welcome")
        claim_domain(api, platform, "looms.example.com")
        assert [*sitemap_urls(get_sitemap(api, site))] == [f"{site.url}/"]
        set_domain_state(platform, "verified", "looms.example.com")
        assert [*sitemap_urls(get_sitemap(api, site))] == ["http://looms.example.com:8000/"]
        assert "Sitemap: http://looms.example.com:8000/sitemap.xml\n" in get_robots(api, site).text

    def test_excludes_pages_at_whose_paths_a_redirect_takes_precedence(self, api, site, pages):
        pages.publish("Looms", "Looms/Jacquard", "Mills", "Cards")
        create_redirect(api, site, "/looms/*", "/")  # It only redirects paths without a page.
        create_redirect(api, site, "/cards", "/", enabled=False)
        assert list_paths(api, site) == ["/", "/cards", "/looms", "/looms/jacquard", "/mills"]
        redirect = create_redirect(api, site, "/looms", "https://looms.example.com/")
        assert list_paths(api, site) == ["/", "/cards", "/looms/jacquard", "/mills"]
        patch_redirect(api, redirect, enabled=False)
        assert "/looms" in list_paths(api, site)
        patch_redirect(api, redirect, enabled=True)
        assert "/looms" not in list_paths(api, site)
        for number in range(4):  # One Query does not return all redirects.
            partition, sort_key = redirect_by_path_key(site.id, f"/former-{number}")
            memory_aws.put_item({"pk": partition, "sk": sort_key, "large": "x" * 350_000})
        patch_redirect(api, redirect, toPath="/mills")
        assert "/looms" not in list_paths(api, site)
        delete_redirect(api, redirect)
        assert "/looms" in list_paths(api, site)

    @pytest.mark.parametrize(
        ("robots", "omitted"),
        [
            ({"disallow": ["/looms/jacquard"]}, ["/looms/jacquard"]),
            ({"disallow": ["/loom", "/Mills"]}, ["/looms", "/looms/jacquard"]),
            ({"disallow": ["/looms/", "/%6dills"]}, ["/looms/jacquard", "/mills"]),
            ({"disallow": ["/looms$"]}, ["/looms"]),
            ({"disallow": ["/$"]}, ["/"]),
            ({"disallow": ["/"]}, ["/", "/looms", "/looms/jacquard", "/mills"]),
            ({"disallow": ["*/jac*rd"]}, ["/looms/jacquard"]),
            ({"disallow": ["/*s$"]}, ["/looms", "/mills"]),
            ({"disallow": ["/*ms*ms$", "/looms*looms"]}, []),
            ({"disallow": ["/looms"], "extra": "Allow: /looms/\nDisallow: /m # old"}, ["/looms", "/mills"]),
            ({"disallow": ["/looms"], "extra": "Allow: /looms"}, []),
            ({"extra": "User-agent: Bot\nDisallow: /\nUser-agent: *\nUser-agent: B\nDisallow: /mills"}, ["/mills"]),
        ],
        ids=str,
    )
    def test_omits_pages_that_robots_disallow_for_all_crawlers(self, api, site, pages, robots, omitted):
        pages.publish("Looms", "Looms/Jacquard", "Mills")
        paths = ["/", "/looms", "/looms/jacquard", "/mills"]
        assert list_paths(api, site) == paths
        api.patch(site.path, caller=site.owner, json={"robots": robots}).expect(200)
        changed, stored = get_sitemap(api, site), get_sitemap(api, site)
        listed = [url.removeprefix(site.url) for url in sitemap_urls(changed)]
        assert listed == [path for path in paths if path not in omitted]
        assert (stored.calls.call_names, stored.text) == (ONE_READ, changed.text)

    def test_is_only_outdated_by_redirects_that_can_take_precedence_over_a_page(self, api, site, pages):
        state_key = page_tree(site.id, PUBLISHED_TREE).state_key
        pages.publish("Machines", "Machines/Looms")
        redirect = create_redirect(api, site, "/tools/looms", "https://example.com/")
        pages.move(Machines="tools")
        assert list_paths(api, site) == ["/", "/tools", "/tools/looms"]
        before = memory_aws.get_item(*state_key)
        for path, enabled in (("/old/*", True), ("/cards", False)):
            other = create_redirect(api, site, path, "/", enabled=enabled)
            patch_redirect(api, other, statusCode=302).expect(200)
            delete_redirect(api, other).expect(204)
        assert memory_aws.get_item(*state_key) == before
        patch_redirect(api, redirect, statusCode=302).expect(200)  # Now it is newer than the page at its path.
        assert list_paths(api, site) == ["/", "/tools"]

    def test_includes_pages_whose_redirect_leads_back_to_them(self, api, site, pages):
        pages.publish("Looms")
        pages.move(Looms="mills")
        pages.publish("Looms 2", slug="looms")
        create_redirect(api, site, "/mills", "/looms")
        assert list_paths(api, site) == ["/", "/looms"]
        assert pages.delete("Looms 2").status == 204
        assert pages.visit("/mills") == "Looms"
        assert list_paths(api, site) == ["/", "/mills"]

    def test_is_empty_for_a_site_without_pages(self, api, site):
        answer = get_sitemap(api, site)
        assert (answer.status, sitemap_urls(answer)) == (200, {})
        assert "urlset" in answer.text

    def test_has_an_etag_that_changes_with_it(self, api, site, pages):
        answer = get_sitemap(api, site)
        pages.update("Welcome", title="Hello")
        assert get_sitemap(api, site).etag == answer.etag
        pages.republish("Welcome")
        assert get_sitemap(api, site).etag != answer.etag


class TestLongSitemap:
    @pytest.fixture(autouse=True)
    def five_pages(self, api, site, clock, monkeypatch):
        """Create five pages with a limit of two per sitemap."""
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 2)
        for day, title in enumerate(("Welcome", "C", "A", "D", "B"), 1):
            clock.freeze(f"2030-01-0{day}T00:00:00Z")
            create_published_page(api, site, title)

    def test_is_an_index_of_parts_that_list_each_page_once(self, api, site):
        days = {1: "03", 2: "05", 3: "04"}
        index = {f"{site.url}/sitemap.xml?page={n}": f"2030-01-{day}T00:00:00.000Z" for n, day in days.items()}
        assert sitemap_index_urls(get_sitemap(api, site)) == index
        urls = [[*sitemap_urls(get_sitemap(api, site, page=number))] for number in (1, 2, 3)]
        assert urls == [[f"{site.url}{path}" for path in paths] for paths in (("/", "/a"), ("/b", "/c"), ("/d",))]
        assert get_sitemap(api, site, page=4).status_and_code == "404 not_found"
        assert get_sitemap(api, site, page=0).errors == {"query/page": "out_of_range"}

    def test_limits_the_size_of_its_parts(self, api, site, monkeypatch):
        monkeypatch.setattr(sitemaps, "MAX_URL_BYTES", 2 * len(f"{site.url}/a") - 1)
        assert len(sitemap_index_urls(get_sitemap(api, site))) == 4

    def test_is_not_divided_at_exactly_the_maximum(self, api, site, monkeypatch):
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 5)
        assert len(sitemap_urls(get_sitemap(api, site))) == 5
        assert get_sitemap(api, site, page=1).text == get_sitemap(api, site).text
        assert get_sitemap(api, site, page=2).status_and_code == "404 not_found"


class TestStoredSitemap:
    @pytest.fixture(autouse=True)
    def stored_sitemap(self, api, site, pages):
        pages.publish("Looms", "Looms/Jacquard")
        assert list_paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        assert get_sitemap(api, site).calls.call_names == ONE_READ

    def test_is_updated_when_a_page_is_published_again(self, api, site, pages, clock):
        clock.shift(hours=1)
        pages.update("Looms", title="All looms")
        assert get_sitemap(api, site).calls.call_names == ONE_READ  # Drafts are not listed.
        before = sitemap_urls(get_sitemap(api, site))
        pages.republish("Looms")
        after = sitemap_urls(get_sitemap(api, site))
        assert [url for url in after if after[url] != before[url]] == [f"{site.url}/looms"]
        pages.republish("Looms", seo={"noindex": True})
        assert list_paths(api, site) == ["/", "/looms/jacquard"]

    def test_is_updated_when_pages_are_unpublished_deleted_or_created(self, api, site, pages):
        pages.update("Looms", unpublishAt="2020-01-01T00:00:00Z")
        assert list_paths(api, site) == ["/", "/looms/jacquard"]
        pages.publish("Mills")
        assert list_paths(api, site) == ["/", "/looms/jacquard", "/mills"]
        assert pages.delete("Looms", "cascade").status == 204
        assert list_paths(api, site) == ["/", "/mills"]

    def test_is_updated_when_the_host_changes_and_not_found_once_the_site_is_unpublished(self, api, site):
        host = api.patch(site.path, caller=site.owner, json={"slug": "another"}).json["host"]
        assert all(url.startswith(f"http://{host}:8000/") for url in sitemap_urls(get_sitemap(api, site)))
        api.patch(site.path, caller=site.owner, json={"status": "draft"})
        for caller in (None, site.owner):
            assert api.get(f"{site.path}/sitemap.xml", caller=caller).status_and_code == "404 not_found"

    def test_is_rebuilt_if_a_stored_piece_is_missing_or_outdated_and_after_a_day(self, api, site, clock):
        sitemap = get_sitemap(api, site).text
        key = stored_sitemaps.sitemap_piece_key(site.id, 1, 0)
        piece = memory_aws.get_item(*key) or {}
        for replacement in (None, {**piece, "basis": "another"}):
            memory_aws.delete_item(piece) if replacement is None else memory_aws.put_item(replacement)
            assert get_sitemap(api, site).text == sitemap
            assert memory_aws.get_item(*key) == piece
        clock.shift(hours=25)
        assert "dynamodb:Query" in get_sitemap(api, site).calls.call_names


def test_a_site_has_a_maximum_number_of_pages(pages, monkeypatch):
    assert Page.quota is not None
    assert Page.quota.maximum == 50_000
    monkeypatch.setattr(Page, "quota", replace(Page.quota, limit=3))
    pages.publish("Looms", "Looms/Jacquard")
    assert pages.post(title="Cards").status_and_code == "409 limit_exceeded"
    assert pages.delete("Looms", "cascade").status == 204
    assert pages.post(title="Cards").status == 201


def store_pages(site, parent):
    """Store the tree items of pages that are published below another, and return the size of each in bytes."""
    fields = {"parent_id": parent.id, "lineage": [parent.id], "placed": 1, "listed": True, "indexable": True}
    for number in range(LISTED_PAGES - 1):
        page_id = f"01939d3c-0000-7000-8000-{number:012d}"
        pk, sk = page_tree(site.id, PUBLISHED_TREE).node_key(page_id)
        names = {"pk": pk, "sk": sk, "id": page_id, "revision_id": page_id, "slug": f"leaf-{number:05d}"}
        item = {**names, **fields, "published_at": "2030-01-01T00:00:00.000Z"}
        memory_aws.put_item(item)
    return sum(len(name) + len(str(value)) for name, value in item.items())


def test_a_sitemap_takes_one_query_per_megabyte_of_tree_items_and_no_page(api, site, pages, monkeypatch):
    assert sitemaps.MAX_ENTRIES == 10_000
    monkeypatch.setattr(sitemaps, "MAX_ENTRIES", LISTED_PAGES)
    tree_size = LISTED_PAGES * store_pages(site, pages.publish("Branch"))
    index = get_sitemap(api, site)
    assert index.calls.call_names[0] == "dynamodb:BatchGetItem"
    assert {*index.calls.call_names[1:]} == {"dynamodb:Query", "dynamodb:TransactWriteItems"}
    assert index.calls.call_names.count("dynamodb:Query") <= ceil(tree_size / 1_000_000) + 1
    assert len(sitemap_index_urls(index)) == 2
    first, second = (get_sitemap(api, site, page=number) for number in (1, 2))
    assert first.text.count("<url>") == LISTED_PAGES
    assert [*sitemap_urls(second)] == [f"{site.url}/branch/leaf-{LISTED_PAGES - 2:05d}"]
    stored_index = get_sitemap(api, site)
    assert stored_index.text == index.text
    for answer in (first, second, stored_index):
        assert {*answer.calls.call_names} == {"dynamodb:BatchGetItem"}
        assert answer.calls.bytes_read < 64_000  # The tree items have more than a megabyte.


def get_robots(api, site, caller=None):
    return api.get(f"{site.path}/robots.txt", caller=caller)


class TestRobots:
    def test_robots_of_a_published_site_allow_everything_to_every_caller(self, api, site, organization, stranger):
        foreign_key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
        key_without_scope = create_api_key(api, organization, "webhooks:read")
        for caller in (None, site.owner, stranger, key_without_scope, foreign_key):
            text = get_robots(api, site, caller=caller).text
            assert text == f"User-agent: *\nDisallow:\n\nSitemap: {site.url}/sitemap.xml\n"

    def test_robots_include_the_rules_of_the_site(self, api, organization):
        extra = "Crawl-delay: 10\r\n# Not for these:\nUser-agent: Bot\nDisallow: /"
        site = create_site(api, organization, robots={"disallow": ["/drafts", "/*/print"], "extra": extra})
        rules = ["User-agent: *", "Disallow: /drafts", "Disallow: /*/print", *extra.splitlines(), ""]
        rules.append(f"Sitemap: {site.url}/sitemap.xml")
        assert get_robots(api, site).text.splitlines() == rules

    @pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x85", "\u2028"])
    def test_a_path_cannot_inject_a_line_into_robots(self, api, site, line_break):
        body = {"robots": {"disallow": [f"/a{line_break}Sitemap: https://evil.example.com"]}}
        assert set(api.patch(site.path, caller=site.owner, json=body).errors) == {"/robots/disallow/0"}

    def test_robots_of_a_draft_site_disallow_everything(self, api, organization, stranger):
        site = create_site(api, organization, publish=False, robots={"extra": "Allow: /"})
        for caller in (None, site.owner, stranger):
            assert get_robots(api, site, caller=caller).text == DISALLOW_ALL
        for status, is_public in (("published", True), ("draft", False)):
            api.patch(site.path, caller=site.owner, json={"status": status})
            assert (get_robots(api, site).text != DISALLOW_ALL) == is_public
