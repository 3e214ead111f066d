"""Test sitemaps of sites: which pages they list, how they are divided, and how they are stored."""

from dataclasses import replace

import pytest

from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.visits.logic import sitemaps, stored_sitemaps
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.clock import Clock
from tests.harness.domains import claim_domain, set_domain_state
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import create_platform
from tests.harness.sitemaps import get_sitemap, sitemap_index_urls, sitemap_urls
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_draft_page,
    create_published_page,
    create_site,
    publish_page,
    update_page,
)


@pytest.fixture
def site(api: ApiClient, organization: CreatedOrganization) -> CreatedSite:
    """Return a public site without pages."""
    return create_site(api, organization)


def list_paths(api: ApiClient, site: CreatedSite) -> list[str]:
    """Return the paths in a site's sitemap."""
    return [url.removeprefix(f"https://{site.record['host']}") for url in sitemap_urls(get_sitemap(api, site))]


class TestSitemap:
    def test_lists_published_pages_by_path_with_their_modification_time(self, api, site, clock):
        clock.freeze("2030-01-01T00:00:00Z")
        home = create_published_page(api, site, "Welcome")
        looms = create_published_page(api, site, "Looms")
        create_published_page(api, site, "Jacquard", parent=looms)
        create_published_page(api, site, "Engines", parent=home)
        clock.freeze("2030-01-02T00:00:00Z")
        update_page(api, looms, title="All looms")
        publish_page(api, looms)
        host = f"https://{site.record['host']}"
        assert sitemap_urls(get_sitemap(api, site)) == {
            f"{host}/": "2030-01-01T00:00:00.000Z",
            f"{host}/engines": "2030-01-01T00:00:00.000Z",
            f"{host}/looms": "2030-01-02T00:00:00.000Z",
            f"{host}/looms/jacquard": "2030-01-01T00:00:00.000Z",
        }
        assert [*sitemap_urls(get_sitemap(api, site))] == sorted(sitemap_urls(get_sitemap(api, site)))

    def test_excludes_drafts_and_unpublished_pages_but_not_their_descendants(self, api, site):
        create_published_page(api, site, "Welcome")
        looms = create_published_page(api, site, "Looms")
        create_published_page(api, site, "Jacquard", parent=looms)
        create_draft_page(api, site, "Soon", parent=looms)
        update_page(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        assert list_paths(api, site) == ["/", "/looms/jacquard"]

    def test_lists_the_published_path_whatever_the_draft_path(self, api, site):
        create_published_page(api, site, "Welcome")
        looms = create_published_page(api, site, "Looms")
        create_published_page(api, site, "Jacquard", parent=looms)
        update_page(api, looms, slug="machines")
        assert list_paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        publish_page(api, looms)
        assert list_paths(api, site) == ["/", "/machines", "/machines/jacquard"]

    def test_excludes_pages_with_noindex_or_a_foreign_canonical_url(self, api, site):
        create_published_page(api, site, "Welcome")
        create_published_page(api, site, "Thanks", seo={"noindex": True})
        create_published_page(api, site, "Copied", seo={"canonical": "https://elsewhere.example.com/copied"})
        indexable_later = create_published_page(api, site, "Shy", seo={"noindex": True})
        update_page(api, indexable_later, seo={"noindex": False})
        assert list_paths(api, site) == ["/"]
        publish_page(api, indexable_later)
        assert list_paths(api, site) == ["/", "/shy"]

    def test_uses_the_verified_domain_of_the_platform(self, api, organization):
        platform = create_platform(api, organization, publish=True)
        site = create_site(api, organization, platformId=platform.id)
        create_published_page(api, site, "Welcome")
        claim_domain(api, platform, "looms.example.com")
        assert [*sitemap_urls(get_sitemap(api, site))] == [f"https://{site.record['host']}/"]
        set_domain_state(platform, "verified", "looms.example.com")
        assert [*sitemap_urls(get_sitemap(api, site))] == ["https://looms.example.com/"]

    def test_is_empty_for_a_site_without_pages(self, api, site):
        answer = get_sitemap(api, site)
        assert (answer.status, sitemap_urls(answer)) == (200, {})
        assert "urlset" in answer.text

    def test_has_a_strong_etag_that_changes_with_it_and_is_cacheable_for_minutes(self, api, site):
        home = create_published_page(api, site, "Welcome")
        answer = get_sitemap(api, site)
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        assert answer.etag.startswith('"')
        path = f"{site.path}/sitemap.xml"
        assert api.get(path, headers={"If-None-Match": answer.etag}).status == 304
        update_page(api, home, title="Hello")
        assert api.get(path, headers={"If-None-Match": answer.etag}).status == 304
        publish_page(api, home)
        assert api.get(path, headers={"If-None-Match": answer.etag}).status == 200

    def test_is_not_found_until_the_site_is_published(self, api, organization):
        site = create_site(api, organization, publish=False)
        create_published_page(api, site, "Welcome")
        path = f"{site.path}/sitemap.xml"
        assert api.get(path).status_and_code == "404 not_found"
        assert api.get(path, caller=site.owner).status_and_code == "404 not_found"

    def test_reads_no_page(self, api, site):
        create_published_page(api, site, "Welcome")
        first_answer, stored_answer = get_sitemap(api, site), get_sitemap(api, site)
        assert first_answer.calls.call_names == [
            "dynamodb:BatchGetItem",
            "dynamodb:Query",
            "dynamodb:TransactWriteItems",
        ]
        assert stored_answer.calls.call_names == ["dynamodb:BatchGetItem"]
        assert stored_answer.text == first_answer.text


class TestLongSitemap:
    @pytest.fixture(autouse=True)
    def five_pages(self, api: ApiClient, site: CreatedSite, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """Create five pages with a limit of two per sitemap."""
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 2)
        for day, title in enumerate(("Welcome", "C", "A", "D", "B"), 1):
            clock.freeze(f"2030-01-0{day}T00:00:00Z")
            create_published_page(api, site, title)

    def test_is_an_index_of_parts_with_their_modification_times(self, api, site):
        url = f"https://{site.record['host']}/sitemap.xml"
        assert sitemap_index_urls(get_sitemap(api, site)) == {
            f"{url}?page=1": "2030-01-03T00:00:00.000Z",
            f"{url}?page=2": "2030-01-05T00:00:00.000Z",
            f"{url}?page=3": "2030-01-04T00:00:00.000Z",
        }

    def test_lists_each_page_in_one_part(self, api, site):
        urls = [[*sitemap_urls(get_sitemap(api, site, page=number))] for number in (1, 2, 3)]
        host = f"https://{site.record['host']}"
        assert urls == [[f"{host}/", f"{host}/a"], [f"{host}/b", f"{host}/c"], [f"{host}/d"]]

    def test_has_no_page_after_the_last_part(self, api, site):
        assert get_sitemap(api, site, page=4).status_and_code == "404 not_found"
        assert get_sitemap(api, site, page=0).errors == {"query/page": "out_of_range"}

    def test_limits_the_size_of_its_parts(self, api, site, monkeypatch):
        monkeypatch.setattr(sitemaps, "MAX_URL_BYTES", 2 * len(f"https://{site.record['host']}/a") - 1)
        assert len(sitemap_index_urls(get_sitemap(api, site))) == 4

    def test_is_not_divided_at_exactly_the_maximum(self, api, site, monkeypatch):
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 5)
        assert len(sitemap_urls(get_sitemap(api, site))) == 5
        assert get_sitemap(api, site, page=1).text == get_sitemap(api, site).text
        assert get_sitemap(api, site, page=2).status_and_code == "404 not_found"


class TestStoredSitemap:
    @pytest.fixture
    def looms_page(self, api: ApiClient, site: CreatedSite) -> CreatedPage:
        """Return a page of a site whose sitemap is stored."""
        create_published_page(api, site, "Welcome")
        looms_page = create_published_page(api, site, "Looms")
        create_published_page(api, site, "Jacquard", parent=looms_page)
        assert list_paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        assert get_sitemap(api, site).calls.call_names == ["dynamodb:BatchGetItem"]
        return looms_page

    def test_is_updated_when_a_page_is_published_again(self, api, site, looms_page, clock):
        clock.shift(hours=1)
        update_page(api, looms_page, title="All looms")
        assert get_sitemap(api, site).calls.call_names == ["dynamodb:BatchGetItem"]  # Drafts are not listed.
        entries_before = sitemap_urls(get_sitemap(api, site))
        publish_page(api, looms_page)
        entries_after = sitemap_urls(get_sitemap(api, site))
        assert [url for url in entries_after if entries_after[url] != entries_before[url]] == [
            f"https://{site.record['host']}/looms"
        ]

    def test_is_updated_when_pages_are_unpublished_deleted_or_created(self, api, site, looms_page):
        update_page(api, looms_page, unpublishAt="2020-01-01T00:00:00Z")
        assert list_paths(api, site) == ["/", "/looms/jacquard"]
        create_published_page(api, site, "Mills")
        assert list_paths(api, site) == ["/", "/looms/jacquard", "/mills"]
        assert api.delete(looms_page.path, caller=site.owner, query={"strategy": "cascade"}).status == 204
        assert list_paths(api, site) == ["/", "/mills"]

    def test_is_updated_when_a_page_gets_noindex(self, api, site, looms_page):
        update_page(api, looms_page, seo={"noindex": True})
        publish_page(api, looms_page)
        assert list_paths(api, site) == ["/", "/looms/jacquard"]

    def test_is_updated_when_the_host_changes(self, api, site, looms_page):
        assert looms_page.id
        renamed_site = api.patch(site.path, caller=site.owner, json={"slug": "another"}).json
        assert all(url.startswith(f"https://{renamed_site['host']}/") for url in sitemap_urls(get_sitemap(api, site)))

    def test_is_not_found_once_the_site_is_unpublished(self, api, site, looms_page):
        assert looms_page.id
        api.patch(site.path, caller=site.owner, json={"status": "draft"})
        assert get_sitemap(api, site).status == 404

    def test_is_rebuilt_if_a_stored_piece_is_missing_or_outdated(self, api, site, looms_page):
        sitemap = get_sitemap(api, site).text
        key = stored_sitemaps.sitemap_piece_key(site.id, 1, 0)
        piece = memory_aws.get_item(*key) or {}
        for replacement in (None, {**piece, "basis": "another"}):
            memory_aws.delete_item(piece) if replacement is None else memory_aws.put_item(replacement)
            assert get_sitemap(api, site).text == sitemap
            assert memory_aws.get_item(*key) == piece
        assert looms_page.id

    def test_is_rebuilt_after_a_day(self, api, site, looms_page, clock):
        assert looms_page.id
        clock.shift(hours=25)
        assert "dynamodb:Query" in get_sitemap(api, site).calls.call_names

    def test_a_site_has_a_maximum_number_of_pages(self, api, site, looms_page, monkeypatch):
        assert Page.quota is not None
        assert Page.quota.maximum == 50_000
        monkeypatch.setattr(Page, "quota", replace(Page.quota, limit=4))
        create_published_page(api, site, "Mills")
        answer = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Cards"})
        assert answer.status_and_code == "409 limit_exceeded"
        assert api.delete(looms_page.path, caller=site.owner, query={"strategy": "cascade"}).status == 204
        assert api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Cards"}).status == 201
