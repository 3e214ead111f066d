"""A site that was written over HTTP, opened in Chromium at the running service."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from selenium.webdriver import Chrome

from tests.emulator.conftest import Calling
from tests.emulator.people import Caller
from tests.emulator.stage import Stage
from tests.harness.browser import chromium, logged, obstacles, picture, show, width_needed

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

BLOCKS: Final = [
    {"id": "lead", "type": "text", "text": "The engine *weaves algebraic patterns*, as the loom weaves flowers."},
    {"id": "what", "type": "heading", "level": 2, "text": "What it needs"},
    {"id": "list", "type": "list", "items": ["A **mill**", "A store", "Cards, laced"], "ordered": True},
    {"id": "said", "type": "quote", "text": "It has no pretensions to originate anything.", "cite": "Ada Lovelace"},
    {"id": "code", "type": "code", "text": "print(sum(range(10)))", "language": "python"},
    {"id": "go", "type": "button", "label": "See the looms", "url": "/looms"},
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def done(answer: Any) -> dict[str, Any]:
    """What came of a request."""
    assert answer.is_success, answer.text
    said: dict[str, Any] = answer.json()
    return said


def site_of(editor: Caller) -> tuple[str, str]:
    """Where a published site is found, and its home: written by an editor, in the looks of a platform."""
    organization = editor.makes_organization()
    platform = done(editor.post("/platforms", json={"organizationId": organization, "name": "Engines"}))["id"]
    colors = {"primary": "#9d174d", "background": "#fffaf5", "text": "#2b1b17"}
    done(editor.patch(f"/platforms/{platform}/theme", json={"colors": colors}))
    body = {"name": "Analytical Engines", "platformId": platform, "defaultLocale": "en-GB"}
    site = f"/sites/{done(editor.post(f'/organizations/{organization}/sites', json=body))['id']}"
    done(editor.patch(site, json={"status": "published"}))
    pages = [done(editor.post(f"{site}/pages", json={"title": t, "blocks": BLOCKS})) for t in ("Welcome", "Looms")]
    for page in pages:
        done(editor.post(f"{site}/pages/{page['id']}/publish"))
    items = [{"id": page["slug"], "label": page["title"], "type": "page", "pageId": page["id"]} for page in pages]
    more = {
        "id": "more",
        "label": "More",
        "type": "group",
        "children": [
            {"id": "notes", "label": "Notes", "type": "url", "url": "https://example.com/notes"},
        ],
    }
    done(editor.put(f"{site}/navigation/main", json={"name": "Main", "items": [*items, more]}))
    return site, pages[0]["id"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 360)])
def test_a_page_can_be_read_by_everyone(
    stage: Stage, calling: Calling, browser: Chrome, scheme: str, width: int
) -> None:
    editor = calling("ada")
    site, home = site_of(editor)
    show(browser, scheme=scheme, width=width)
    browser.get("about:blank")
    logged(browser, "browser")
    browser.get(f"{stage.url}{site}/pages/home")
    assert browser.title == "Welcome \u2013 Analytical Engines"
    links = browser.execute_script("return [...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))")
    assert links == ["/", "/looms", "https://example.com/notes"]
    assert logged(browser, "browser") == []
    assert width_needed(browser) <= width
    assert picture(browser, f"site-{scheme}-{width}").stat().st_size > 10_000
    assert obstacles(browser) == []

    browser.get(done(editor.get(f"{site}/pages/{home}/preview"))["previewUrl"])
    assert browser.find_element("css selector", "aside").text.startswith("Preview.")
    assert logged(browser, "browser") == []
