"""Test sitemaps of sites: which pages they list, how they are divided, and how they are stored."""

from dataclasses import replace

import pytest

from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.visits.logic import sitemaps, stored_sitemaps
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.clock import Clock
from tests.harness.domains import came_to, claim
from tests.harness.organizations import Founded
from tests.harness.platforms import run_platform
from tests.harness.sitemaps import ask, listed, parts
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, write_page


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """Return a public site without pages."""
    return make_site(api, organization)


def list_paths(api: Api, site: Published) -> list[str]:
    """Return the paths in a site's sitemap."""
    return [url.removeprefix(f"https://{site.record['host']}") for url in listed(ask(api, site))]


class TestSitemap:
    def test_lists_published_pages_by_path_with_their_modification_time(
        self, api: Api, site: Published, clock: Clock
    ) -> None:
        clock.freeze("2030-01-01T00:00:00Z")
        home = page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        page_of(api, site, "Engines", below=home)
        clock.freeze("2030-01-02T00:00:00Z")
        edit(api, looms, title="All looms")
        publish_page(api, looms)
        host = f"https://{site.record['host']}"
        assert listed(ask(api, site)) == {
            f"{host}/": "2030-01-01T00:00:00.000Z",
            f"{host}/engines": "2030-01-01T00:00:00.000Z",
            f"{host}/looms": "2030-01-02T00:00:00.000Z",
            f"{host}/looms/jacquard": "2030-01-01T00:00:00.000Z",
        }
        assert [*listed(ask(api, site))] == sorted(listed(ask(api, site)))

    def test_excludes_drafts_and_unpublished_pages_but_not_their_descendants(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        write_page(api, site, "Soon", below=looms)
        edit(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        assert list_paths(api, site) == ["/", "/looms/jacquard"]

    def test_lists_the_published_path_whatever_the_draft_path(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        edit(api, looms, slug="machines")
        assert list_paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        publish_page(api, looms)
        assert list_paths(api, site) == ["/", "/machines", "/machines/jacquard"]

    def test_excludes_pages_with_noindex_or_a_foreign_canonical_url(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page_of(api, site, "Thanks", seo={"noindex": True})
        page_of(api, site, "Copied", seo={"canonical": "https://elsewhere.example.com/copied"})
        indexable_later = page_of(api, site, "Shy", seo={"noindex": True})
        edit(api, indexable_later, seo={"noindex": False})
        assert list_paths(api, site) == ["/"]
        publish_page(api, indexable_later)
        assert list_paths(api, site) == ["/", "/shy"]

    def test_uses_the_verified_domain_of_the_platform(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization, published=True)
        site = make_site(api, organization, platformId=platform.id)
        page_of(api, site, "Welcome")
        claim(api, platform, "looms.example.com")
        assert [*listed(ask(api, site))] == [f"https://{site.record['host']}/"]
        came_to(platform, "verified", "looms.example.com")
        assert [*listed(ask(api, site))] == ["https://looms.example.com/"]

    def test_is_empty_for_a_site_without_pages(self, api: Api, site: Published) -> None:
        answer = ask(api, site)
        assert (answer.status, listed(answer)) == (200, {})
        assert "urlset" in answer.text

    def test_has_a_strong_etag_that_changes_with_it_and_is_cacheable_for_minutes(
        self, api: Api, site: Published
    ) -> None:
        home = page_of(api, site, "Welcome")
        answer = ask(api, site)
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        assert answer.etag.startswith('"')
        path = f"{site.path}/sitemap.xml"
        assert api.get(path, headers={"If-None-Match": answer.etag}).status == 304
        edit(api, home, title="Hello")
        assert api.get(path, headers={"If-None-Match": answer.etag}).status == 304
        publish_page(api, home)
        assert api.get(path, headers={"If-None-Match": answer.etag}).status == 200

    def test_is_not_found_until_the_site_is_published(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, published=False)
        page_of(api, site, "Welcome")
        path = f"{site.path}/sitemap.xml"
        assert api.get(path).code == "404 not_found"
        assert api.get(path, as_=site.owner).code == "404 not_found"

    def test_reads_no_page(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        first_answer, stored_answer = ask(api, site), ask(api, site)
        assert first_answer.calls.names == ["dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:TransactWriteItems"]
        assert stored_answer.calls.names == ["dynamodb:BatchGetItem"]
        assert stored_answer.text == first_answer.text


class TestLongSitemap:
    @pytest.fixture(autouse=True)
    def five_pages(self, api: Api, site: Published, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """Create five pages with a limit of two per sitemap."""
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 2)
        for day, title in enumerate(("Welcome", "C", "A", "D", "B"), 1):
            clock.freeze(f"2030-01-0{day}T00:00:00Z")
            page_of(api, site, title)

    def test_is_an_index_of_parts_with_their_modification_times(self, api: Api, site: Published) -> None:
        url = f"https://{site.record['host']}/sitemap.xml"
        assert parts(ask(api, site)) == {
            f"{url}?page=1": "2030-01-03T00:00:00.000Z",
            f"{url}?page=2": "2030-01-05T00:00:00.000Z",
            f"{url}?page=3": "2030-01-04T00:00:00.000Z",
        }

    def test_lists_each_page_in_one_part(self, api: Api, site: Published) -> None:
        urls = [[*listed(ask(api, site, page=number))] for number in (1, 2, 3)]
        host = f"https://{site.record['host']}"
        assert urls == [[f"{host}/", f"{host}/a"], [f"{host}/b", f"{host}/c"], [f"{host}/d"]]

    def test_has_no_page_after_the_last_part(self, api: Api, site: Published) -> None:
        assert ask(api, site, page=4).code == "404 not_found"
        assert ask(api, site, page=0).faults == {"query/page": "out_of_range"}

    def test_limits_the_size_of_its_parts(self, api: Api, site: Published, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sitemaps, "MAX_ADDRESS_BYTES", 2 * len(f"https://{site.record['host']}/a") - 1)
        assert len(parts(ask(api, site))) == 4

    def test_is_not_divided_at_exactly_the_maximum(
        self, api: Api, site: Published, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 5)
        assert len(listed(ask(api, site))) == 5
        assert ask(api, site, page=1).text == ask(api, site).text
        assert ask(api, site, page=2).code == "404 not_found"


class TestStoredSitemap:
    @pytest.fixture
    def looms_page(self, api: Api, site: Published) -> Leaf:
        """Return a page of a site whose sitemap is stored."""
        page_of(api, site, "Welcome")
        looms_page = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms_page)
        assert list_paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        assert ask(api, site).calls.names == ["dynamodb:BatchGetItem"]
        return looms_page

    def test_is_updated_when_a_page_is_published_again(
        self, api: Api, site: Published, looms_page: Leaf, clock: Clock
    ) -> None:
        clock.shift(hours=1)
        edit(api, looms_page, title="All looms")
        assert ask(api, site).calls.names == ["dynamodb:BatchGetItem"]  # Drafts are not listed.
        entries_before = listed(ask(api, site))
        publish_page(api, looms_page)
        entries_after = listed(ask(api, site))
        assert [url for url in entries_after if entries_after[url] != entries_before[url]] == [
            f"https://{site.record['host']}/looms"
        ]

    def test_is_updated_when_pages_are_unpublished_deleted_or_created(
        self, api: Api, site: Published, looms_page: Leaf
    ) -> None:
        edit(api, looms_page, unpublishAt="2020-01-01T00:00:00Z")
        assert list_paths(api, site) == ["/", "/looms/jacquard"]
        page_of(api, site, "Mills")
        assert list_paths(api, site) == ["/", "/looms/jacquard", "/mills"]
        assert api.delete(looms_page.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert list_paths(api, site) == ["/", "/mills"]

    def test_is_updated_when_a_page_gets_noindex(self, api: Api, site: Published, looms_page: Leaf) -> None:
        edit(api, looms_page, seo={"noindex": True})
        publish_page(api, looms_page)
        assert list_paths(api, site) == ["/", "/looms/jacquard"]

    def test_is_updated_when_the_host_changes(self, api: Api, site: Published, looms_page: Leaf) -> None:
        assert looms_page.id
        renamed_site = api.patch(site.path, as_=site.owner, json={"slug": "another"}).json
        assert all(url.startswith(f"https://{renamed_site['host']}/") for url in listed(ask(api, site)))

    def test_is_not_found_once_the_site_is_unpublished(self, api: Api, site: Published, looms_page: Leaf) -> None:
        assert looms_page.id
        api.patch(site.path, as_=site.owner, json={"status": "draft"})
        assert ask(api, site).status == 404

    def test_is_rebuilt_if_a_stored_piece_is_missing_or_outdated(
        self, api: Api, site: Published, looms_page: Leaf
    ) -> None:
        sitemap = ask(api, site).text
        key = stored_sitemaps.piece_key(site.id, 1, 0)
        piece = cloud.stored_at(*key) or {}
        for replacement in (None, {**piece, "basis": "another"}):
            cloud.remove(piece) if replacement is None else cloud.put(replacement)
            assert ask(api, site).text == sitemap
            assert cloud.stored_at(*key) == piece
        assert looms_page.id

    def test_is_rebuilt_after_a_day(self, api: Api, site: Published, looms_page: Leaf, clock: Clock) -> None:
        assert looms_page.id
        clock.shift(hours=25)
        assert "dynamodb:Query" in ask(api, site).calls.names

    def test_a_site_has_a_maximum_number_of_pages(
        self, api: Api, site: Published, looms_page: Leaf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert Page.quota is not None
        assert Page.quota.maximum == 50_000
        monkeypatch.setattr(Page, "quota", replace(Page.quota, limit=4))
        page_of(api, site, "Mills")
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Cards"})
        assert answer.code == "409 limit_exceeded"
        assert api.delete(looms_page.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Cards"}).status == 201
