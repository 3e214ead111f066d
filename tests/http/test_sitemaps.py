"""Sitemaps: what of a site search engines are to find."""

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
    """A site that everybody may see, without pages."""
    return make_site(api, organization)


def paths(api: Api, site: Published) -> list[str]:
    """Return the paths in a site's sitemap."""
    return [address.removeprefix(f"https://{site.record['host']}") for address in listed(ask(api, site))]


class TestASitemap:
    def test_lists_what_is_published_by_path_each_since_when_it_is_as_it_is(
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

    def test_leaves_out_drafts_and_what_was_taken_back_but_not_what_is_below(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        write_page(api, site, "Soon", below=looms)
        edit(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        assert paths(api, site) == ["/", "/looms/jacquard"]

    def test_says_where_a_page_is_published_whatever_its_draft_says(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        edit(api, looms, slug="machines")
        assert paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        publish_page(api, looms)
        assert paths(api, site) == ["/", "/machines", "/machines/jacquard"]

    def test_leaves_out_what_asks_not_to_be_indexed_and_what_is_elsewhere(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page_of(api, site, "Thanks", seo={"noindex": True})
        page_of(api, site, "Copied", seo={"canonical": "https://elsewhere.example.com/copied"})
        shy = page_of(api, site, "Shy", seo={"noindex": True})
        edit(api, shy, seo={"noindex": False})
        assert paths(api, site) == ["/"]
        publish_page(api, shy)
        assert paths(api, site) == ["/", "/shy"]

    def test_names_the_verified_domain_of_the_platform_once_there_is_one(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization, published=True)
        site = make_site(api, organization, platformId=platform.id)
        page_of(api, site, "Welcome")
        claim(api, platform, "looms.example.com")
        assert [*listed(ask(api, site))] == [f"https://{site.record['host']}/"]
        came_to(platform, "verified", "looms.example.com")
        assert [*listed(ask(api, site))] == ["https://looms.example.com/"]

    def test_is_of_a_site_without_pages_an_empty_one(self, api: Api, site: Published) -> None:
        answer = ask(api, site)
        assert (answer.status, listed(answer)) == (200, {})
        assert "urlset" in answer.text

    def test_has_a_strong_tag_that_changes_with_it_and_may_be_kept_for_minutes(self, api: Api, site: Published) -> None:
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

    def test_is_there_for_nobody_until_the_site_is_published(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, published=False)
        page_of(api, site, "Welcome")
        path = f"{site.path}/sitemap.xml"
        assert api.get(path).code == "404 not_found"
        assert api.get(path, as_=site.owner).code == "404 not_found"

    def test_reads_no_page(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        made, kept = ask(api, site), ask(api, site)
        assert made.calls.names == ["dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:TransactWriteItems"]
        assert kept.calls.names == ["dynamodb:BatchGetItem"]
        assert kept.text == made.text


class TestALongSitemap:
    @pytest.fixture(autouse=True)
    def pages(self, api: Api, site: Published, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """Five pages, where a sitemap lists two."""
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 2)
        for day, title in enumerate(("Welcome", "C", "A", "D", "B"), 1):
            clock.freeze(f"2030-01-0{day}T00:00:00Z")
            page_of(api, site, title)

    def test_is_an_index_of_its_parts_each_since_its_last_change(self, api: Api, site: Published) -> None:
        address = f"https://{site.record['host']}/sitemap.xml"
        assert parts(ask(api, site)) == {
            f"{address}?page=1": "2030-01-03T00:00:00.000Z",
            f"{address}?page=2": "2030-01-05T00:00:00.000Z",
            f"{address}?page=3": "2030-01-04T00:00:00.000Z",
        }

    def test_lists_each_page_in_one_part(self, api: Api, site: Published) -> None:
        found = [[*listed(ask(api, site, page=number))] for number in (1, 2, 3)]
        host = f"https://{site.record['host']}"
        assert found == [[f"{host}/", f"{host}/a"], [f"{host}/b", f"{host}/c"], [f"{host}/d"]]

    def test_ends_with_its_last_part(self, api: Api, site: Published) -> None:
        assert ask(api, site, page=4).code == "404 not_found"
        assert ask(api, site, page=0).faults == {"query/page": "out_of_range"}

    def test_has_parts_that_an_answer_can_hold(
        self, api: Api, site: Published, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sitemaps, "MAX_ADDRESS_BYTES", 2 * len(f"https://{site.record['host']}/a") - 1)
        assert len(parts(ask(api, site))) == 4

    def test_is_one_sitemap_when_it_is_as_long_as_one_may_be(
        self, api: Api, site: Published, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 5)
        assert len(listed(ask(api, site))) == 5
        assert ask(api, site, page=1).text == ask(api, site).text
        assert ask(api, site, page=2).code == "404 not_found"


class TestASitemapThatIsKept:
    @pytest.fixture
    def looms(self, api: Api, site: Published) -> Leaf:
        """A page of a site whose sitemap is kept."""
        page_of(api, site, "Welcome")
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        assert paths(api, site) == ["/", "/looms", "/looms/jacquard"]
        assert ask(api, site).calls.names == ["dynamodb:BatchGetItem"]
        return looms

    def test_follows_what_is_published_again_at_its_place(
        self, api: Api, site: Published, looms: Leaf, clock: Clock
    ) -> None:
        clock.shift(hours=1)
        edit(api, looms, title="All looms")
        assert ask(api, site).calls.names == ["dynamodb:BatchGetItem"]  # A draft shows nowhere.
        before = listed(ask(api, site))
        publish_page(api, looms)
        now = listed(ask(api, site))
        assert [address for address in now if now[address] != before[address]] == [
            f"https://{site.record['host']}/looms"
        ]

    def test_follows_what_is_taken_back_deleted_or_new(self, api: Api, site: Published, looms: Leaf) -> None:
        edit(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        assert paths(api, site) == ["/", "/looms/jacquard"]
        page_of(api, site, "Mills")
        assert paths(api, site) == ["/", "/looms/jacquard", "/mills"]
        assert api.delete(looms.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert paths(api, site) == ["/", "/mills"]

    def test_follows_what_asks_not_to_be_indexed(self, api: Api, site: Published, looms: Leaf) -> None:
        edit(api, looms, seo={"noindex": True})
        publish_page(api, looms)
        assert paths(api, site) == ["/", "/looms/jacquard"]

    def test_follows_the_site_to_another_host(self, api: Api, site: Published, looms: Leaf) -> None:
        assert looms.id
        renamed = api.patch(site.path, as_=site.owner, json={"slug": "another"}).json
        assert all(address.startswith(f"https://{renamed['host']}/") for address in listed(ask(api, site)))

    def test_is_gone_with_the_site_s_publication(self, api: Api, site: Published, looms: Leaf) -> None:
        assert looms.id
        api.patch(site.path, as_=site.owner, json={"status": "draft"})
        assert ask(api, site).status == 404

    def test_is_made_anew_where_a_piece_of_it_is_gone_or_of_another(
        self, api: Api, site: Published, looms: Leaf
    ) -> None:
        whole = ask(api, site).text
        key = stored_sitemaps.piece_key(site.id, 1, 0)
        piece = cloud.stored_at(*key) or {}
        for lost in (None, {**piece, "basis": "another"}):
            cloud.remove(piece) if lost is None else cloud.put(lost)
            assert ask(api, site).text == whole
            assert cloud.stored_at(*key) == piece
        assert looms.id

    def test_is_made_anew_after_a_day(self, api: Api, site: Published, looms: Leaf, clock: Clock) -> None:
        assert looms.id
        clock.shift(hours=25)
        assert "dynamodb:Query" in ask(api, site).calls.names

    def test_has_no_more_pages_than_a_site_may(
        self, api: Api, site: Published, looms: Leaf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert Page.quota is not None
        assert Page.quota.maximum == 50_000
        monkeypatch.setattr(Page, "quota", replace(Page.quota, limit=4))
        page_of(api, site, "Mills")
        refused = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Cards"})
        assert refused.code == "409 limit_exceeded"
        assert api.delete(looms.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Cards"}).status == 201
