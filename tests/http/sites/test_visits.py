"""Test visits of sites: pages by path, the home page, HTML, and the resolution of hosts and paths."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.harness.domains import set_domain_state
from tests.harness.organizations import create_api_key
from tests.harness.platforms import create_platform
from tests.harness.redirects import create_redirect
from tests.harness.rendered_pages import parse_harmless_document, parse_html
from tests.harness.sites import SitePages, create_published_page, create_site, get_page_by_path

HTML_HEADERS = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def request_resolution(api, host, path="/"):
    return api.get("/sites/resolve", query={"host": host, "path": path})


def request_document(api, host, path="/", *, headers=None, page=None):
    """Request what a host sends for a path, and check how it may be stored."""
    query = {"host": host, "path": path} | ({"page": page} if page else {})
    answer = api.get("/sites/resolve", query=query, headers=HTML_HEADERS | (headers or {}))
    seconds = 300 if path in ("/robots.txt", "/sitemap.xml") and answer.status in (200, 304) else 60
    assert answer.headers["Cache-Control"] == f"public, max-age={seconds}"
    assert answer.headers["Vary"] == "Accept, Prefer, Accept-Encoding"
    return answer


def count_calls(api, host, accept):
    """Return the number of AWS calls of a request for a host without a published site."""
    return len(api.get("/sites/resolve", query={"host": host}, headers={"Accept": accept}).expect(404).calls.call_list)


def resolve(api, host, path="/"):
    """Return what a host and path resolve to, and the id of the page or the redirect."""
    resolution = request_resolution(api, host, path).json
    redirect = resolution["redirect"] and (resolution["redirect"]["location"], resolution["redirect"]["statusCode"])
    return resolution["match"], (resolution["page"] or {}).get("id") or redirect


def follow_redirects(api, host, path):
    """Follow the redirects of a visit to the end. Fails if they lead back to where they have been."""
    visited: list[tuple[str, str]] = []
    while (answer := request_document(api, host, path)).status in (301, 302, 307, 308):
        assert (host, path) not in visited, f"{visited} lead back to {host}{path}"
        visited.append((host, path))
        url = urlsplit(answer.location)
        host, path = url.hostname or host, url.path


class TestGetPageByPath:
    def test_ignores_case_and_surplus_slashes(self, pages):
        pages.publish("Machines", "Machines/Looms")
        for path in ("/machines/looms", "machines/looms", "/Machines/LOOMS/", "//machines//looms", "/machines%2Flooms"):
            assert pages.visit(path) == "Looms", path
        for path in ("/", "", "//"):
            assert pages.visit(path) == "Welcome", path
        for path in ("/machines/looms/hand", "/looms", "/machines/\\looms", "/a b", "/../none", "/" + "a/" * 300):
            assert pages.visit(path) is None, path

    def test_members_see_drafts_by_draft_path_on_request(self, api, pages, mary, stranger, organization):
        pages.publish("Looms")
        pages.update("Looms", slug="weaving", title="Weaving")
        for caller in (mary, create_api_key(api, organization, "sites:read")):
            assert pages.visit("/weaving", caller=caller) is None
            assert pages.visit("/weaving", caller=caller, draft="true") == "Weaving"
            assert pages.visit("/looms", caller=caller, draft="true") is None
            assert pages.visit("/looms", caller=caller) == "Looms"
        for outsider in (None, stranger):
            assert pages.visit("/weaving", caller=outsider, draft="true") is None
            assert pages.visit("/looms", caller=outsider, draft="true") == "Looms"

    def test_reveals_nothing_of_drafts_to_the_public(self, api, organization, site, pages, mary):
        before = get_page_by_path(api, site, "/")
        pages.update("Welcome", title="Hello", publishAt="2099-01-01T00:00:00Z")
        pages.draft("Looms")
        after = get_page_by_path(api, site, "/")
        assert (after.text, after.etag) == (before.text, before.etag)
        assert get_page_by_path(api, site, "/", caller=mary).json["hasUnpublishedChanges"]
        draft_site = create_site(api, organization, publish=False)
        page = create_published_page(api, draft_site, "Welcome")
        assert get_page_by_path(api, draft_site, "/").status_and_code == "404 not_found"
        assert get_page_by_path(api, draft_site, "/", caller=mary).json["id"] == page.id

    def test_is_cacheable_for_a_minute_and_varies_by_caller(self, api, site, pages):
        answer = get_page_by_path(api, site, "/")
        assert answer.headers["Cache-Control"] == "public, max-age=60"
        assert answer.headers["Vary"] == "Accept, Authorization, Prefer, Accept-Encoding"
        pages.republish("Welcome", title="Hello")
        assert get_page_by_path(api, site, "/").etag != answer.etag


def test_the_home_page_is_the_page_at_the_root(api, site, mary, pages):
    path = f"{site.path}/pages/home"
    assert api.get(path).json == get_page_by_path(api, site, "/").json
    start = pages.draft("Start", isHome=True)
    assert api.get(path).json["title"] == "Welcome"
    assert api.get(path, caller=mary, query={"draft": "true"}).json["id"] == start.id
    pages.update("Welcome", unpublishAt="2020-01-01T00:00:00Z")
    assert api.get(path).status_and_code == "404 not_found"


class TestHtml:
    def test_is_returned_if_the_caller_prefers_it(self, api, site, pages):
        pages.publish("Looms", blocks=[{"id": "b", "type": "text", "text": "They **weave**. <script>"}])
        path, query = f"{site.path}/pages/by-path", {"path": "/looms"}
        answer = api.get(path, query=query, headers=HTML_HEADERS)
        assert "noindex" not in answer.text
        canonical = f'<link rel="canonical" href="{site.url}/looms">'
        for part in ("<strong>weave</strong>. &lt;script&gt;", '<html lang="en"', canonical):
            assert part in answer.text
        assert api.get(f"{site.path}/pages/home", headers=HTML_HEADERS).text.startswith("<!doctype html>")
        for accept in ("*/*", "application/json", "application/json, text/html", "text/html;q=0.1, */*", "image/png"):
            assert api.get(path, query=query, headers={"Accept": accept}).json["title"] == "Looms", accept

    def test_uses_the_theme_of_the_platform(self, api, organization, platform):
        body = {"mode": "light", "colors": {"text": "#102030", "background": "#fffdf8"}}
        api.patch(f"{platform.path}/theme", caller=platform.owner, json=body)
        site = create_site(api, organization, name="Mills", platformId=platform.id)
        set_domain_state(platform, "verified", "looms.example.com")
        create_published_page(api, site, "Welcome", seo={"title": "Mills of all kinds", "description": "Hello"})
        html = api.get(f"{site.path}/pages/home", headers=HTML_HEADERS).text
        canonical = '<link rel="canonical" href="http://looms.example.com:8000/">'
        head = canonical, '<meta name="description" content="Hello">'
        for part in ("#102030", *head, "<title>Mills of all kinds \u2013 Mills</title>"):
            assert part in html

    def test_of_a_draft_is_marked_as_preview(self, api, site, pages):
        pages.update("Welcome", title="Hello")
        answer = api.get(f"{site.path}/pages/home", caller=site.owner, query={"draft": "true"}, headers=HTML_HEADERS)
        assert "<strong>Preview.</strong>" in answer.text
        assert (answer.headers["Cache-Control"], answer.headers["X-Robots-Tag"]) == ("private, no-cache", "noindex")


class TestResolveSite:
    def test_by_host_in_any_notation(self, api, site, home_page):
        host = site.record["host"]
        for name in (host, host.upper(), f"{host}.", f"{host}:443", f"{host.title()}.:8443", f" {host} "):
            assert resolve(api, name) == ("page", home_page.id), name
        answer = api.get("/sites/resolve", query={"host": host}).json
        assert answer["page"] == get_page_by_path(api, site, "/").json
        assert (answer["site"]["id"], answer["site"]["homePageId"], answer["redirect"]) == (site.id, home_page.id, None)

    def test_by_the_verified_domain_of_its_platform(self, api, organization, platform):
        site = create_site(api, organization, platformId=platform.id)
        home = create_published_page(api, site, "Welcome")
        set_domain_state(platform, "pending", "xn--bcher-kva.example.com")
        assert request_resolution(api, "bücher.example.com").status_and_code == "404 not_found"
        set_domain_state(platform, "verified", "xn--bcher-kva.example.com")
        assert resolve(api, "BÜCHER.example.com:443") == ("page", home.id)
        reads = request_document(api, "bücher.example.com").expect(200).calls.call_list
        assert [str(call.parameters).count("'C#D'") for call in reads if "'C#D'" in str(call.parameters)] == [1]
        api.patch(site.path, caller=site.owner, json={"platformId": None})
        assert request_resolution(api, "bücher.example.com").status_and_code == "404 not_found"

    def test_non_canonical_and_former_paths_redirect_in_one_hop(self, api, site, pages):
        pages.publish("Looms", "Looms/Hand looms")
        pages.draft("Mills")
        host = site.record["host"]
        for path in ("/Looms", "/looms/", "//looms", "/looms//"):
            assert resolve(api, host, path) == ("redirect", ("/looms", 308)), path
        assert resolve(api, host, "/looms?from=mail#top")[0] == "page"
        assert resolve(api, host, "/mills") == ("none", None)
        for slug in ("weaving", "weavers"):
            pages.move(Looms=slug)
        assert resolve(api, host, "/looms") == ("redirect", ("/weavers", 301))
        assert resolve(api, host, "/Looms/hand-looms/") == ("redirect", ("/weavers/hand-looms", 301))

    def test_an_unknown_host_or_unpublished_site_is_not_found(self, api, organization):
        site = create_site(api, organization, publish=False)
        create_published_page(api, site, "Welcome")
        for host in (site.record["host"], "nobody.sites.atrium.example", "example.com", "", "[::1]", "a b", "x" * 900):
            assert api.get("/sites/resolve", query={"host": host}).status_and_code == "404 not_found", host
        assert api.get("/sites/resolve").errors == {"query/host": "required"}

    @pytest.mark.parametrize("accept", ["application/json", "text/html"])
    def test_an_unknown_host_costs_at_most_two_aws_calls(self, api, organization, platform, accept):
        draft = create_site(api, organization, publish=False)
        for host, count in (("nobody.sites.atrium.example", 1), ("nobody.atrium.example", 1), ("a.example", 1)):
            assert count_calls(api, host, accept) == count, host
        assert count_calls(api, f"{platform.record['slug']}.atrium.example", accept) == 2
        assert [count_calls(api, draft.record["host"], accept) for _ in range(2)] == [2, 1]

    def test_by_its_former_slug_for_90_days(self, api, organization, clock):
        site = create_site(api, organization, slug="looms")
        create_published_page(api, site, "Welcome")
        api.patch(site.path, caller=site.owner, json={"slug": "mills"})
        assert resolve(api, site.record["host"]) == ("redirect", (f"{site.url}/".replace("looms", "mills"), 308))
        clock.shift(days=91)
        assert request_resolution(api, site.record["host"]).status_and_code == "404 not_found"
        other = create_published_page(api, create_site(api, organization, slug="looms"), "Welcome")
        assert resolve(api, site.record["host"]) == ("page", other.id)


class TestHostsOfOneSite:
    """Every host of a site except its `host` redirects, in one step, to what is there."""

    @pytest.fixture
    def pages(self, api, organization, platform):
        pages = SitePages(api, create_site(api, organization, slug="looms", platformId=platform.id))
        pages.publish("Welcome", "Looms", "Mills")
        pages.move(Mills="weaving-mills")
        create_redirect(api, pages.site, "/old/*", "/Looms?from=:splat")
        create_redirect(api, pages.site, "/away", "https://away.example.com/", statusCode=302)
        return pages

    @pytest.mark.parametrize(
        ("path", "location", "status"),
        [
            ("/", "/", 308),
            ("/LOOMS/?a=b", "/looms", 308),
            ("/mills", "/weaving-mills", 301),
            ("/old/a%20b", "/Looms?from=a%20b", 301),
            ("/away", "https://away.example.com/", 302),
            ("/nothing at/Äll", "/nothing%20at/%C3%84ll", 308),
            ("/robots.txt", "/robots.txt", 308),
        ],
    )
    def test_redirect_as_json_and_to_visitors(self, api, pages, platform, path, location, status):
        set_domain_state(platform, "verified", "shop.example.com")
        url = location if path == "/away" else f"http://shop.example.com:8000{location}"
        for host in (pages.site.record["host"], f"{platform.record['slug']}.atrium.example"):
            assert resolve(api, host, path) == ("redirect", (url, status))
            answer = request_document(api, host, path)
            assert (answer.status, answer.location, answer.text) == (status, url, "")

    def test_follow_the_verification_of_the_domain(self, api, pages, platform):
        site, subdomain = pages.site, f"{platform.record['slug']}.atrium.example"
        for status, domain in (("pending", None), ("verified", "shop.example.com"), ("lapsed", None)):
            set_domain_state(platform, status, "shop.example.com")
            host = domain or site.record["host"]
            assert request_resolution(api, "shop.example.com").status == (200 if domain else 404)
            for name in {site.record["host"], subdomain} - {host}:
                assert resolve(api, name, "/looms") == ("redirect", (f"http://{host}:8000/looms", 308))
                part = request_document(api, name, "/sitemap.xml", page=2)
                assert part.location == f"http://{host}:8000/sitemap.xml?page=2"
            assert resolve(api, host, "/looms") == ("page", pages["Looms"].id)
            listed = api.get_items(f"/organizations/{site.record['organizationId']}/sites", caller=site.owner)
            read = api.get(site.path, caller=site.owner).json
            assert {each["host"] for each in (read, request_resolution(api, host).json["site"], *listed)} == {host}
            url = f"http://{host}:8000"
            assert f"Sitemap: {url}/sitemap.xml\n" in request_document(api, host, "/robots.txt").text
            assert f"<loc>{url}/looms</loc>" in request_document(api, host, "/sitemap.xml").text
            by_path = api.get(f"{site.path}/pages/by-path", query={"path": "/looms"}, headers=HTML_HEADERS)
            for page in (by_path, request_document(api, host, "/looms")):
                assert f'<link rel="canonical" href="{url}/looms">' in page.text

    def test_a_web_address_that_became_a_host_of_the_site_is_a_path(self, api, pages, platform):
        site, future_host = pages.site, "mills.sites.atrium.example"
        set_domain_state(platform, "pending", "shop.example.com")
        create_redirect(api, site, "/looms", "https://shop.example.com/looms")
        create_redirect(api, site, "/a", f"https://{future_host}/b?c=d")
        create_redirect(api, site, "/b", "https://shop.example.com/A")
        create_redirect(api, site, "/e/*", "https://shop.example.com/:splat")
        for slug in ("mills", "weavers"):
            api.patch(site.path, caller=site.owner, json={"slug": slug}).expect(200)
        set_domain_state(platform, "verified", "shop.example.com")
        subdomain, url = f"{platform.record['slug']}.atrium.example", "http://shop.example.com:8000"
        assert resolve(api, "shop.example.com", "/looms") == ("page", pages["Looms"].id)
        assert resolve(api, "shop.example.com", "/a") == ("none", None)
        assert resolve(api, "shop.example.com", "/e/looms") == ("redirect", ("/looms", 301))
        for host in (future_host, subdomain):
            assert resolve(api, host, "/looms") == ("redirect", (f"{url}/looms", 308))
            assert resolve(api, host, "/a") == ("redirect", (f"{url}/a", 308))
            assert resolve(api, host, "/e/looms") == ("redirect", (f"{url}/looms", 301))
        assert f"<loc>{url}/looms</loc>" in request_document(api, "shop.example.com", "/sitemap.xml").text

    def test_never_redirect_in_a_circle_whatever_they_were_called(self, api, organization, pages, platform, clock):
        site, other = pages.site, create_platform(api, organization, slug="other")
        other_pages = SitePages(api, create_site(api, organization, slug="other-site", platformId=other.id))
        other_pages.publish("Looms")
        owner = site.owner
        subdomains = {f"{slug}.atrium.example" for slug in (platform.record["slug"], "other", "former")}
        create_redirect(api, site, "/looms", "https://former.atrium.example/looms")
        create_redirect(api, site, "/to", "https://mills.sites.atrium.example/to")

        def rename(record: Any, *slugs: str) -> None:
            for slug in slugs:
                api.patch(record.path, caller=owner, json={"slug": slug}).expect(200)
                assert_no_circle()

        def assert_no_circle() -> None:
            sites = {"looms", "mills", "other-site"}
            for host in (*subdomains, *(f"{slug}.sites.atrium.example" for slug in sites)):
                for path in ("/", "/looms", "/to"):
                    follow_redirects(api, host, path)

        first_slug = platform.record["slug"]
        rename(platform, "former", first_slug, "former", "latest")
        rename(site, "mills", "looms", "mills")
        clock.shift(days=91)
        rename(platform, "other-former", "latest-of-all")
        rename(other, "former", "other")
        rename(other, first_slug)
        rename(platform, "former-2")
        clock.shift(days=91)
        rename(other, "swapped")
        clock.shift(days=91)
        rename(platform, first_slug)
        clock.shift(days=91)
        rename(other, "former-2")

    def test_have_https_urls_if_the_service_has(self, api, pages, platform, configure):
        configure(public_url="https://api.example.org:8443/v1")
        host = pages.site.record["host"]
        assert f"Sitemap: https://{host}/sitemap.xml" in request_document(api, host, "/robots.txt").text


class TestDocument:
    """What a host sends to its visitors: the response to `Accept: text/html`."""

    def test_is_the_page_with_links_that_work_on_the_host(self, api, site, pages):
        looms = pages.publish("Looms", blocks=[{"id": "b", "type": "text", "text": "[Home](/) and [mills](/mills)"}])
        items = [{"id": "looms", "label": "Looms", "type": "page", "pageId": looms.id}]
        api.put(f"{site.path}/navigation/main", caller=site.owner, json={"name": "Main", "items": items}).expect(200)
        page = request_document(api, site.record["host"], "/looms")
        by_path = api.get(f"{site.path}/pages/by-path", query={"path": "/looms"}, headers=HTML_HEADERS)
        assert (page.status, page.text, page.etag) == (200, by_path.text, by_path.etag)
        links = [link.attributes["href"] for link in parse_html(page.text).find_one("body").find_all("a")]
        assert links == ["#_content", "/", "/looms", "/", "/mills", "/"]
        for name in ("Content-Type", "Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options"):
            assert page.headers[name] == by_path.headers[name]
        repeated = request_document(api, site.record["host"], "/looms", headers={"If-None-Match": page.etag})
        assert (repeated.status, repeated.text, repeated.etag) == (304, "", page.etag)

    def test_is_a_redirect_on_the_host(self, api, site, pages):
        pages.publish("Looms")
        create_redirect(api, site, "/old", "/looms", statusCode=307)
        for path, status, location in (("/Looms/", 308, "/looms"), ("/old", 307, "/looms")):
            answer = request_document(api, site.record["host"], path)
            assert (answer.status, answer.location, answer.text) == (status, location, "")

    def test_is_robots_txt_or_a_sitemap_at_their_paths(self, api, site, pages):
        create_redirect(api, site, "/robots.txt", "/welcome")
        for path, page in (("/robots.txt", None), ("/sitemap.xml", None), ("/sitemap.xml", 1)):
            expected = api.get(site.path + path, query={"page": page} if page else None)
            answer = request_document(api, site.record["host"], path, page=page)
            assert (answer.status, answer.text, answer.etag) == (200, expected.text, expected.etag)
            assert answer.headers["Content-Type"] == expected.headers["Content-Type"]
            repeated = request_document(api, site.record["host"], path, headers={"If-None-Match": answer.etag})
            assert (repeated.status, repeated.text) == (304, "")
        assert request_document(api, site.record["host"], "/sitemap.xml", page=2).status == 404

    def test_is_the_same_for_unknown_hosts_and_unpublished_sites(self, api, organization, site, pages):
        draft = create_site(api, organization, name="Secret", publish=False)
        create_published_page(api, draft, "Welcome")
        hosts = (draft.record["host"], "nobody.sites.atrium.example", "nobody.atrium.example", "a.example", "[::1]")
        for path in ("/", "/looms", "/sitemap.xml"):
            texts = {request_document(api, host, path).expect(404).text for host in hosts}
            assert len(texts) == 1
            assert "Secret" not in texts.pop()
        assert {request_document(api, host, "/robots.txt").expect(200).text for host in hosts} == {
            "User-agent: *\nDisallow: /\n"
        }

    def test_is_an_error_page_if_a_published_site_has_no_page_there(self, api, site, pages):
        pages.draft("Looms")
        for path in ("/looms", "/none", "/a\\b"):
            answer = request_document(api, site.record["host"], path, headers={"If-None-Match": "*"})
            root = parse_harmless_document(answer)
            assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
            assert "ETag" not in answer.headers
            assert root.find_one("title").text == "Page not found \u2013 Engines"
            assert root.find_one("meta", name="robots").attributes["content"] == "noindex"
            assert {link.attributes["href"] for link in root.find_all("a")} == {"#_content", "/"}


def test_a_visit_takes_two_reads_at_any_depth(api, site, pages, platform):
    api.patch(site.path, caller=site.owner, json={"platformId": platform.id}).expect(200)
    page = pages.publish("Level 1", *(f"Level {level}/Level {level + 1}" for level in range(1, 9)))
    path, host = page.record["path"], site.record["host"]
    get_page_by_path(api, site, "/")
    resolve(api, host)  # Records that a process caches have been read.
    home = api.get(f"{site.path}/pages/home")
    for visit in (get_page_by_path(api, site, path), request_resolution(api, host, path), home):
        assert visit.calls.read_names == ["dynamodb:BatchGetItem"] * 2
