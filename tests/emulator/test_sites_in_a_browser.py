"""A site that was created over HTTP, opened at its own host, also in Chromium."""

from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pytest

from tests.harness.browser import LoggedPage, accessibility_violations, content_width, save_screenshot

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

BLOCKS: Final = [
    {"id": "lead", "type": "text", "text": "The engine *weaves algebraic patterns*, as the loom weaves flowers."},
    {"id": "what", "type": "heading", "level": 2, "text": "What it needs"},
    {"id": "list", "type": "list", "items": ["A **mill**", "A store", "Cards, laced"], "ordered": True},
    {"id": "said", "type": "quote", "text": "It has no pretensions to originate anything.", "cite": "Ada Lovelace"},
    {"id": "code", "type": "code", "text": "print(sum(range(10)))", "language": "python"},
    {"id": "go", "type": "button", "label": "See the looms", "url": "/looms"},
]


def json_of(response: Any) -> dict[str, Any]:
    assert response.is_success, response.text
    return response.json()


def create_published_site(editor):
    """Create a published site with the theme of a platform, and return its path and its home page's id."""
    organization = editor.create_organization()
    platform = json_of(editor.post("/platforms", json={"organizationId": organization, "name": "Engines"}))["id"]
    colors = {"primary": "#9d174d", "background": "#fffaf5", "text": "#2b1b17"}
    json_of(editor.patch(f"/platforms/{platform}/theme", json={"colors": colors}))
    body = {"name": "Analytical Engines", "platformId": platform, "defaultLocale": "en-GB"}
    site = f"/sites/{json_of(editor.post(f'/organizations/{organization}/sites', json=body))['id']}"
    json_of(editor.patch(site, json={"status": "published"}))
    pages = [json_of(editor.post(f"{site}/pages", json={"title": t, "blocks": BLOCKS})) for t in ("Welcome", "Looms")]
    for page in pages:
        json_of(editor.post(f"{site}/pages/{page['id']}/publish"))
    items = [{"id": page["slug"], "label": page["title"], "type": "page", "pageId": page["id"]} for page in pages]
    notes = {"id": "notes", "label": "Notes", "type": "url", "url": "https://example.com/notes"}
    group = {"id": "more", "label": "More", "type": "group", "children": [notes]}
    json_of(editor.put(f"{site}/navigation/main", json={"name": "Main", "items": [*items, group]}))
    return site, pages[0]["id"]


def host_url(stage, editor, site):
    """Return the URL of a site's host on the stage."""
    return f"http://{json_of(editor.get(site))['host']}:{urlsplit(stage.url).port}"


def test_a_published_site_is_served_at_its_host(stage, create_client):
    editor = create_client("ada")
    site, _ = create_published_site(editor)
    url = host_url(stage, editor, site)

    def visit(path: str, method: str = "GET") -> httpx.Response:
        headers = {"Host": urlsplit(url).netloc, "Accept": "*/*", "Authorization": "Bearer invalid"}
        return httpx.request(method, stage.url + path, headers=headers)

    page = visit("/looms")
    assert f'<link rel="canonical" href="{url}/looms">' in page.text
    assert visit("/Looms/").headers["Location"] == "/looms"
    assert visit("/robots.txt").text.endswith(f"Sitemap: {url}/sitemap.xml\n")
    assert f"<loc>{url}/looms</loc>" in visit("/sitemap.xml?utm=x&page=1").text
    assert {visit(path).status_code for path in ("/docs", "/status", "/sitemap.xml?page=2")} == {404}
    assert visit("/?page=0").status_code == 200
    head = visit("/looms", "HEAD")
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", page.headers["ETag"])
    post = visit("/organizations", "POST")
    assert (post.status_code, post.headers["Allow"]) == (405, "GET, HEAD")
    json_of(editor.patch(site, json={"status": "draft"}))
    unused = httpx.get(stage.url, headers={"Host": "nobody.sites.atrium.localhost"})
    assert (visit("/looms").status_code, visit("/looms").text) == (404, unused.text)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 360)])
def test_page_is_accessible(stage, create_client, browser, scheme, width):
    editor = create_client("ada")
    site, home = create_published_site(editor)
    with LoggedPage(browser, color_scheme=scheme, width=width) as opened:
        page = opened.page
        page.goto(f"{stage.url}{site}/pages/home")
        assert page.title() == "Welcome \u2013 Analytical Engines"
        links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))")
        assert links == ["/", "/looms", "https://example.com/notes"]
        assert opened.read_messages() == []
        assert content_width(page) <= width
        assert save_screenshot(page, f"site-{scheme}-{width}").stat().st_size > 10_000
        assert find_violations_with_scripts(browser, page.url, scheme, width) == []

        page.goto(f"{host_url(stage, editor, site)}/")
        page.locator("nav a[href='/looms']").click()
        page.wait_for_url(f"{host_url(stage, editor, site)}/looms")
        assert page.title() == "Looms \u2013 Analytical Engines"
        assert opened.read_messages() == []
        page.goto(f"{host_url(stage, editor, site)}/none")
        assert page.locator("h1").inner_text() == "Page not found"
        assert save_screenshot(page, f"not-found-{scheme}-{width}").stat().st_size > 1_000
        assert find_violations_with_scripts(browser, page.url, scheme, width) == []
        opened.read_messages()  # The browser logs the status 404.

        page.goto(json_of(editor.get(f"{site}/pages/{home}/preview"))["previewUrl"])
        assert page.locator("aside").inner_text().startswith("Preview.")
        assert opened.read_messages() == []


def find_violations_with_scripts(browser, url, scheme, width):
    """Return the accessibility violations of a page. The check needs scripts, which the policy of the page forbids."""
    with LoggedPage(browser, color_scheme=scheme, width=width, bypass_csp=True) as opened:
        opened.page.goto(url)
        return accessibility_violations(opened.page)
