"""A site that was created over HTTP, opened in Chromium."""

from typing import Any, Final

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
        assert accessibility_violations(page) == []

        page.goto(json_of(editor.get(f"{site}/pages/{home}/preview"))["previewUrl"])
        assert page.locator("aside").inner_text().startswith("Preview.")
        assert opened.read_messages() == []
