"""Pages in Chromium, on phones and desktops, with light and dark colours: appearance, accessibility, attacks."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Error

from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.browser import LoggedPage, accessibility_violations, content_width, save_screenshot
from tests.harness.page_blocks import build_block, text_block
from tests.harness.receiver import Reply
from tests.harness.rendered_pages import build_theme, build_view

pytestmark = pytest.mark.xdist_group("browser")

ATTACKS: dict[str, list[str]] = json.loads((Path(__file__).parent / "attacks.json").read_text(encoding="utf-8"))
IMAGE = b"""
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1600 800" width="1600" height="800">
  <defs><linearGradient id="sky" x2="1" y2="1"><stop stop-color="#312e81"/><stop offset="1" stop-color="#be185d"/>
  </linearGradient></defs><rect width="1600" height="800" fill="url(#sky)"/>
</svg>"""
SILK_ITEM = MenuItem("Silk", "/looms/silk", current=True, children=(MenuItem("Brocade", "/looms/silk/brocade"),))
MENU = (
    MenuItem("Engines", "/engines"),
    MenuItem("Looms", "/looms", children=(SILK_ITEM, MenuItem("Linen", "/looms/linen"))),
    MenuItem("Notes", "/notes"),
    MenuItem("About us", "/about"),
)
MARKDOWN = """
The loom reads its pattern from **punched cards**, one for each pass of the shuttle. What is woven is what was written:
[a portrait](https://example.com/portrait), a rose, or *nothing* at all. ~~Perhaps.~~

## Three silks

| | Thread | Price |
|-|:-:|-:|
| Tussah | coarse | 12.50 |
| Mulberry | fine | 48.00 |

> Cloth remembers.

1. one
2. two
   - nested

[](/no-words)

#
"""
COLUMNS = [
    [
        build_block("heading", "visit", level=3, text="Visit"),
        text_block("Thursdays, nine to five.", "hours"),
        build_block("button", "plan", label="Plan a visit", url="/visit"),
    ],
    [build_block("embed", "film", url="https://video.example.com/watch?v=the-engine-weaves-patterns-of-silk")],
    [build_block("columns", "inner", columns=[[text_block("In", "left")], [text_block("in", "right")]])],
]
SILK = (
    build_block("heading", "title", level=1, text="Silk, woven by *number*"),
    text_block(f"{MARKDOWN}\n```\n{'plain ' * 40}\n```\n", "opening"),
    build_block("image", "loom", url="/picture.svg", alt="A loom with its cards, from above"),
    build_block("heading", "needed", level=2, text="What you need"),
    build_block("list", "things", items=["A loom, and **1,326** cards", "Silk: `8 denier`, undyed"], ordered=False),
    build_block("list", "steps", items=["Thread the warp", "Weave, [patiently](/patience)"], ordered=True),
    build_block("quote", "saying", cite="Ada Lovelace, Note A, 1843", text="The engine *weaves algebraical patterns*."),
    build_block("heading", "card", level=4, text="A card, as a program"),
    build_block(
        "code", "program", text=f"def weave(cards, warp):\n    return {'cards + ' * 20}warp\n", language="python"
    ),
    build_block("columns", "ways", columns=COLUMNS),
    build_block("divider", "line"),
    build_block("embed", "elsewhere", url="https://video.example.com/"),
    build_block("custom", "chart", data={"chart": "visitors"}),
)
LOAD_IMAGES_SCRIPT = """Promise.all([...document.images].map(picture => {
    picture.loading = 'eager'
    return picture.decode()
}))"""
"""Loads all images of a page, including those out of view."""

THEMES = {
    "plain": None,
    "branded": build_theme(
        colors={"primary": "#9d174d", "background": "#fffaf5", "text": "#2b1b17"},
        logo_url="/picture.svg",
        fonts={"body": "Liberation Serif", "heading": "Liberation Sans, sans-serif"},
    ),
    "pale": build_theme(mode="light", colors={"text": "#cccccc", "link": "#dddd00", "primary": "#ffffee"}),
    "night": build_theme(mode="dark", colors={"background": "#222222", "surface": "#999999", "text": "#333333"}),
}


@pytest.fixture
def open_page(receiver, browser):
    """A function that opens a page with these blocks, and with other fields than the defaults.

    The sandbox of a page also stops the scripts of the debugger when they wait. It allows them unless `is_sandboxed`.
    """
    defaults = {"lang": "en-GB", "title": "Silk, woven by number", "site_name": "The Weaving Mill", "menu": MENU}
    with ExitStack() as opened_pages:

        def open_page(
            *blocks: Any, scheme: str = "light", width: int = 1440, is_sandboxed: bool = False, **fields: Any
        ) -> LoggedPage:
            document = render_document(build_view(*blocks, **{**defaults, **fields}), {})
            headers = {"Content-Type": document.content_type, **document.headers}
            if not is_sandboxed:
                policy = headers["Content-Security-Policy"]
                assert "; sandbox " in policy
                headers["Content-Security-Policy"] = policy.replace("; sandbox ", "; sandbox allow-scripts ")
            receiver.replies_by_path["/silk"] = Reply(headers=headers, body=document.text.encode())
            receiver.replies_by_path["/picture.svg"] = Reply(headers={"Content-Type": "image/svg+xml"}, body=IMAGE)
            opened = opened_pages.enter_context(LoggedPage(browser, color_scheme=scheme, width=width))
            opened.page.goto(receiver.url_at("127.0.0.1", "/silk"))
            return opened

        yield open_page


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
class TestPage:
    @pytest.mark.parametrize("name", THEMES)
    def test_themes_are_accessible(self, open_page, name, scheme, width):
        opened = open_page(*SILK, scheme=scheme, width=width, theme=THEMES[name], preview=name == "plain")
        opened.page.evaluate(LOAD_IMAGES_SCRIPT)
        assert content_width(opened.page) <= width
        assert accessibility_violations(opened.page) == []
        assert opened.read_messages() == []
        assert save_screenshot(opened.page, f"{name}-{scheme}-{width}").stat().st_size > 10_000

    def test_the_open_menu_is_accessible(self, open_page, scheme, width):
        page = open_page(*SILK, scheme=scheme, width=width).page
        page.locator("summary").click()
        assert page.get_by_role("link", name="Brocade", exact=True).is_visible()
        assert content_width(page) <= width
        assert accessibility_violations(page) == []
        assert save_screenshot(page, f"menu-{scheme}-{width}").stat().st_size > 10_000

    def test_right_to_left_languages_are_displayed_from_right_to_left(self, open_page, scheme, width):
        page = open_page(*SILK, scheme=scheme, width=width, lang="ar").page
        assert content_width(page) <= width
        assert accessibility_violations(page) == []
        site, menu = (page.locator(part).bounding_box() for part in (".site", "nav"))
        assert width == 360 or site["x"] > menu["x"]


@pytest.mark.parametrize(
    ("name", "light", "dark"),
    [
        ("plain", "rgb(255, 255, 255)", "rgb(19, 22, 27)"),
        ("branded", "rgb(255, 250, 245)", "rgb(19, 22, 27)"),
        ("night", "rgb(34, 34, 34)", "rgb(34, 34, 34)"),
    ],
)
def test_colors_follow_the_browser_unless_the_theme_sets_a_mode(open_page, name, light, dark):
    page = open_page(*SILK, theme=THEMES[name]).page
    for scheme, color in (("light", light), ("dark", dark)):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == color


def test_the_keyboard_skips_and_opens_the_menu(open_page):
    page = open_page(*SILK).page
    page.keyboard.press("Tab")
    link = page.locator(":focus")
    assert link.inner_text() == "Skip to content"
    assert link.bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.localName") == "main"

    brocade = page.locator("nav a[href$=brocade]")
    assert not brocade.is_visible()
    page.locator("summary").press("Enter")
    assert brocade.is_visible()


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_attacks_run_nothing_and_leave_no_executable_content(open_page, kind):
    attacks = ATTACKS[kind]
    blocks = [
        text_block("\n\n".join(attacks), "all"),
        build_block("list", "each", items=attacks, ordered=False),
        *(build_block("heading", f"h{index}", level=2, text=attack) for index, attack in enumerate(attacks)),
        *(build_block("image", f"i{index}", url="/picture.svg", alt=attack) for index, attack in enumerate(attacks)),
        *(build_block("button", f"b{index}", label="Go", url=url) for index, url in enumerate(ATTACKS["addresses"])),
    ]
    opened = open_page(
        *blocks, title=attacks[0], site_name="".join(attacks), description="".join(attacks), is_sandboxed=True
    )
    # The debugger runs this script, so the page's policy does not prevent it.
    tags, handlers, schemes = opened.page.evaluate("""() => {
        const all = [...document.querySelectorAll('*')]
        const attributeNames = all.flatMap(element => element.getAttributeNames())
        const schemes = [...document.querySelectorAll('[href], [src]')].map(e => (e.href || e.src).split(':')[0])
        return [all.map(e => e.localName), attributeNames.filter(name => name.startsWith('on')), schemes]
    }""")
    assert not {"script", "iframe", "object", "embed", "svg", "math", "form", "base", "template"} & set(tags)
    assert tags.count("style") == 1
    assert handlers == []
    assert set(schemes) <= {"http", "https", "mailto", "data"}
    assert schemes.count("data") == 1  # The empty icon.
    assert [message for message in opened.read_messages() if "Content Security Policy" in message] == []


TOKEN: Final = "the token of the console"


@pytest.fixture
def linked_page(open_page, receiver):
    """A page as it is served, on the origin of a console with a token, with links to that origin and a file."""
    own_headers = {"Content-Type": "text/html", "Cross-Origin-Opener-Policy": "same-origin"}
    file_headers = {"Content-Type": "application/zip", "Content-Disposition": "attachment; filename=cards.zip"}
    receiver.replies_by_path["/console"] = Reply(headers=own_headers, body=b"<title>Console</title>")
    receiver.replies_by_path["/cards.zip"] = Reply(headers=file_headers, body=b"PK")
    links = {"console": "/console", "file": "/cards.zip"}
    blocks = [
        build_block("button", name, label=name, url=receiver.url_at("127.0.0.1", path)) for name, path in links.items()
    ]
    opened = open_page(*blocks, text_block("[part](#console)", "parts"), is_sandboxed=True)
    return opened.page


class TestSandbox:
    def test_a_page_has_an_opaque_origin_and_cannot_read_what_the_console_stores(self, linked_page, receiver):
        console = linked_page.context.new_page()
        console.goto(receiver.url_at("127.0.0.1", "/console"))
        assert console.evaluate(f"sessionStorage.token = localStorage.token = '{TOKEN}'") == TOKEN
        assert console.evaluate("origin") == receiver.url_at("127.0.0.1", "").rstrip("/")
        assert linked_page.evaluate("origin") == "null"
        for storage in ("sessionStorage", "localStorage", "document.cookie"):
            with pytest.raises(Error, match="sandboxed"):
                linked_page.evaluate(storage)
        assert linked_page.evaluate("opener") is None

    def test_links_open_pages_without_the_sandbox(self, linked_page, receiver):
        with linked_page.context.expect_page() as opened:
            linked_page.get_by_role("link", name="console").click(modifiers=["Control"])
        linked_page.get_by_role("link", name="console").click()
        for page in (linked_page, opened.value):
            page.wait_for_url("**/console")
            assert (page.title(), page.evaluate("origin")) == ("Console", receiver.url_at("127.0.0.1", "").rstrip("/"))
            assert page.evaluate("opener") is None
        linked_page.go_back()
        assert linked_page.evaluate("origin") == "null"

    def test_links_to_parts_and_files_work(self, linked_page):
        linked_page.get_by_role("link", name="part").click()
        assert linked_page.url.endswith("#console")
        with linked_page.expect_download() as download:
            linked_page.get_by_role("link", name="file").click()
        assert download.value.suggested_filename == "cards.zip"
        assert download.value.failure() is None
