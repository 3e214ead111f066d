"""Test visits of sites: pages by path, the home page, HTML, and the resolution of hosts and paths."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.domains import set_domain_state
from tests.harness.organizations import create_api_key
from tests.harness.sites import (
    create_draft_page,
    create_published_page,
    create_site,
    get_page_by_path,
    publish_page,
    update_page,
)

TWO_READS = ["dynamodb:BatchGetItem"] * 2
HTML_HEADERS = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def resolve(api: ApiClient, host: str, path: str = "/") -> tuple[object, object]:
    """Return what a host and path resolve to, and the id of the page or the redirect."""
    answer = api.get("/sites/resolve", query={"host": host, "path": path})
    assert answer.status == 200, answer.text
    resolution = answer.json
    redirect = resolution["redirect"] and (resolution["redirect"]["location"], resolution["redirect"]["statusCode"])
    return resolution["match"], (resolution["page"] or {}).get("id") or redirect


class TestGetPageByPath:
    def test_ignores_case_and_surplus_slashes(self, api, site, home_page):
        looms = create_published_page(api, site, "Looms", parent=create_published_page(api, site, "Machines"))
        for path in ("/machines/looms", "machines/looms", "/Machines/LOOMS/", "//machines//looms", "/machines%2Flooms"):
            assert get_page_by_path(api, site, path).json["id"] == looms.id, path
        for path in ("/", "", "//"):
            assert get_page_by_path(api, site, path).json["id"] == home_page.id, path
        for path in ("/machines/looms/hand", "/looms", "/machines/\\looms", "/a b", "/../none", "/" + "a/" * 300):
            assert get_page_by_path(api, site, path).status_and_code == "404 not_found", path

    @pytest.mark.usefixtures("home_page")
    def test_members_see_drafts_by_draft_path_on_request(self, api, site, mary, stranger, organization):
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, slug="weaving", title="Weaving")
        key = create_api_key(api, organization, "sites:read")
        for caller in (mary, key):
            assert get_page_by_path(api, site, "/weaving", caller=caller).status_and_code == "404 not_found"
            assert get_page_by_path(api, site, "/weaving", caller=caller, draft="true").json["title"] == "Weaving"
            assert get_page_by_path(api, site, "/looms", caller=caller, draft="true").status_and_code == "404 not_found"
            assert get_page_by_path(api, site, "/looms", caller=caller).json["title"] == "Looms"
        for outsider in (None, stranger):
            assert (
                get_page_by_path(api, site, "/weaving", caller=outsider, draft="true").status_and_code
                == "404 not_found"
            )
            assert get_page_by_path(api, site, "/looms", caller=outsider, draft="true").json["title"] == "Looms"

    def test_of_a_draft_site_is_for_members(self, api, organization, mary):
        site = create_site(api, organization, publish=False)
        page = create_published_page(api, site, "Welcome")
        assert get_page_by_path(api, site, "/").status_and_code == "404 not_found"
        assert get_page_by_path(api, site, "/", caller=mary).json["id"] == page.id

    def test_reveals_nothing_of_drafts_to_the_public(self, api, site, home_page, mary):
        answer_before = get_page_by_path(api, site, "/")
        update_page(api, home_page, title="Hello", publishAt="2099-01-01T00:00:00Z")
        create_draft_page(api, site, "Looms")
        answer_after = get_page_by_path(api, site, "/")
        assert (answer_after.text, answer_after.etag) == (answer_before.text, answer_before.etag)
        assert get_page_by_path(api, site, "/", caller=mary).json["hasUnpublishedChanges"]

    def test_is_cacheable_for_a_minute_and_varies_by_caller(self, api, site, home_page):
        answer = get_page_by_path(api, site, "/")
        assert answer.headers["Cache-Control"] == "public, max-age=60"
        assert answer.headers["Vary"] == "Accept, Authorization"
        revalidation = api.get(answer.path, query={"path": "/"}, headers={"If-None-Match": answer.etag})
        assert revalidation.status == 304
        update_page(api, home_page, title="Hello")
        publish_page(api, home_page)
        assert api.get(answer.path, query={"path": "/"}, headers={"If-None-Match": answer.etag}).status == 200
        assert get_page_by_path(api, site, "/", caller=site.owner).headers["Cache-Control"] == "private, no-cache"


class TestGetHomePage:
    def test_returns_the_page_at_the_root(self, api, site, mary):
        home = create_draft_page(api, site, "Welcome")
        path = f"{site.path}/pages/home"
        assert api.get(path).status_and_code == "404 not_found"
        assert api.get(path, caller=mary, query={"draft": "true"}).json["id"] == home.id
        publish_page(api, home)
        assert api.get(path).json == get_page_by_path(api, site, "/").json


class TestHtml:
    @pytest.mark.usefixtures("home_page")
    def test_is_returned_if_the_caller_prefers_it(self, api, site):
        create_published_page(
            api, site, "Looms", blocks=[{"id": "b", "type": "text", "text": "They **weave**. <script>"}]
        )
        path = f"{site.path}/pages/by-path"
        answer = api.get(path, query={"path": "/looms"}, headers=HTML_HEADERS)
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "<strong>weave</strong>. &lt;script&gt;" in answer.text
        assert '<html lang="en"' in answer.text
        assert f'<link rel="canonical" href="https://{site.record["host"]}/looms">' in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert api.get(f"{site.path}/pages/home", headers=HTML_HEADERS).text.startswith("<!doctype html>")
        for accept in ("*/*", "application/json", "application/json, text/html", "text/html;q=0.1, */*", "image/png"):
            assert api.get(path, query={"path": "/looms"}, headers={"Accept": accept}).json["title"] == "Looms", accept

    @pytest.mark.usefixtures("home_page")
    def test_uses_the_theme_of_the_platform(self, api, organization, platform):
        colors = {"text": "#102030", "background": "#fffdf8"}
        api.patch(f"{platform.path}/theme", caller=platform.owner, json={"mode": "light", "colors": colors})
        site = create_site(api, organization, name="Mills", platformId=platform.id)
        set_domain_state(platform, "verified", "looms.example.com")
        create_published_page(api, site, "Welcome", seo={"title": "Mills of all kinds", "description": "Hello"})
        text = api.get(f"{site.path}/pages/home", headers=HTML_HEADERS).text
        assert "#102030" in text
        assert '<link rel="canonical" href="https://looms.example.com/">' in text
        assert "<title>Mills of all kinds \u2013 Mills</title>" in text
        assert '<meta name="description" content="Hello">' in text

    def test_of_a_draft_is_marked_as_preview(self, api, site, home_page):
        update_page(api, home_page, title="Hello")
        answer = api.get(f"{site.path}/pages/home", caller=site.owner, query={"draft": "true"}, headers=HTML_HEADERS)
        assert "<strong>Preview.</strong>" in answer.text
        assert answer.headers["X-Robots-Tag"] == "noindex"
        assert answer.headers["Cache-Control"] == "private, no-cache"


class TestResolveSite:
    def test_by_host_in_any_notation(self, api, site, home_page):
        host = str(site.record["host"])
        for name in (host, host.upper(), f"{host}.", f"{host}:443", f"{host.title()}.:8443", f" {host} "):
            assert resolve(api, name) == ("page", home_page.id), name
        answer = api.get("/sites/resolve", query={"host": host}).json
        assert answer["page"] == get_page_by_path(api, site, "/").json
        assert (answer["site"]["id"], answer["site"]["homePageId"], answer["redirect"]) == (site.id, home_page.id, None)

    def test_by_the_verified_domain_of_its_platform(self, api, organization, platform):
        site = create_site(api, organization, platformId=platform.id)
        home = create_published_page(api, site, "Welcome")
        set_domain_state(platform, "pending", "xn--bcher-kva.example.com")
        assert api.get("/sites/resolve", query={"host": "bücher.example.com"}).status_and_code == "404 not_found"
        set_domain_state(platform, "verified", "xn--bcher-kva.example.com")
        assert resolve(api, "BÜCHER.example.com:443") == ("page", home.id)
        assert resolve(api, site.record["host"]) == ("page", home.id)
        api.patch(site.path, caller=site.owner, json={"platformId": None})
        assert api.get("/sites/resolve", query={"host": "bücher.example.com"}).status_and_code == "404 not_found"

    @pytest.mark.usefixtures("home_page")
    def test_a_non_canonical_path_redirects_permanently(self, api, site):
        create_published_page(api, site, "Looms")
        host = str(site.record["host"])
        for path in ("/Looms", "/looms/", "//looms", "/looms//"):
            assert resolve(api, host, path) == ("redirect", ("/looms", 308)), path
        assert resolve(api, host, "/looms?from=mail#top")[0] == "page"

    @pytest.mark.usefixtures("home_page")
    def test_a_former_path_redirects_in_one_hop(self, api, site):
        looms = create_published_page(api, site, "Looms")
        create_published_page(api, site, "Hand looms", parent=looms)
        for slug in ("weaving", "weavers"):
            update_page(api, looms, slug=slug)
            publish_page(api, looms)
        host = str(site.record["host"])
        assert resolve(api, host, "/looms") == ("redirect", ("/weavers", 301))
        assert resolve(api, host, "/Looms/hand-looms/") == ("redirect", ("/weavers/hand-looms", 301))

    @pytest.mark.usefixtures("home_page")
    def test_an_unknown_path_resolves_to_nothing(self, api, site):
        create_draft_page(api, site, "Looms")
        assert resolve(api, str(site.record["host"]), "/looms") == ("none", None)

    def test_an_unknown_host_or_unpublished_site_is_not_found(self, api, organization):
        site = create_site(api, organization, publish=False)
        create_published_page(api, site, "Welcome")
        for host in (site.record["host"], "nobody.sites.atrium.example", "example.com", "", "[::1]", "a b", "x" * 900):
            assert api.get("/sites/resolve", query={"host": host}).status_and_code == "404 not_found", host
        assert api.get("/sites/resolve").errors == {"query/host": "required"}

    def test_by_its_former_slug_for_90_days(self, api, organization, clock):
        site = create_site(api, organization, slug="looms")
        page = create_published_page(api, site, "Welcome")
        api.patch(site.path, caller=site.owner, json={"slug": "mills"})
        assert resolve(api, site.record["host"]) == ("page", page.id)
        body = {"name": "Looms", "slug": "looms"}
        assert api.post(f"{organization.path}/sites", caller=site.owner, json=body).status_and_code == "409 slug_taken"
        clock.shift(days=91)
        assert api.get("/sites/resolve", query={"host": site.record["host"]}).status_and_code == "404 not_found"
        other = create_published_page(api, create_site(api, organization, slug="looms"), "Welcome")
        assert resolve(api, site.record["host"]) == ("page", other.id)


class TestReadCount:
    @pytest.mark.usefixtures("home_page")
    def test_a_visit_takes_two_reads_at_any_depth(self, api, site):
        page = create_published_page(api, site, "Level 1")
        for level in range(2, 10):
            page = create_published_page(api, site, f"Level {level}", parent=page)
        get_page_by_path(api, site, "/")
        host = str(site.record["host"])
        resolve(api, host)
        assert get_page_by_path(api, site, page.record["path"]).calls.read_names == TWO_READS
        assert (
            api.get("/sites/resolve", query={"host": host, "path": page.record["path"]}).calls.read_names == TWO_READS
        )
        assert api.get(f"{site.path}/pages/home").calls.read_names == TWO_READS
