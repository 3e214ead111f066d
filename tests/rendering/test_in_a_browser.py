"""A page in Chromium, as readers see it on a phone and on a desktop, by day and by night."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.browser import accessibility_violations, content_width, emulate_display, read_log, save_screenshot
from tests.harness.page_blocks import build_block
from tests.harness.receiver import Receiver, Reply
from tests.harness.rendered_pages import build_theme, build_view

Open = Callable[..., Chrome]

ATTACKS: dict[str, list[str]] = json.loads((Path(__file__).parent / "attacks.json").read_text(encoding="utf-8"))
PICTURE = b"""
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1600 800" width="1600" height="800">
  <defs><linearGradient id="sky" x2="1" y2="1"><stop stop-color="#312e81"/><stop offset="1" stop-color="#be185d"/>
  </linearGradient></defs><rect width="1600" height="800" fill="url(#sky)"/>
</svg>"""
MENU = (
    MenuItem("Engines", "/engines"),
    MenuItem(
        "Looms",
        "/looms",
        children=(
            MenuItem("Silk", "/looms/silk", current=True, children=(MenuItem("Brocade", "/looms/silk/brocade"),)),
            MenuItem("Linen", "/looms/linen"),
        ),
    ),
    MenuItem("Notes", "/notes"),
    MenuItem("About us", "/about"),
)
PROGRAM = """\
def weave(cards: Iterable[Card], warp: Warp) -> Cloth:
    \"\"\"Return what the cards say, woven: each lifts the threads that its holes let through, then one more.\"\"\"
    return sum((warp.lift(card.holes) for card in cards), start=Cloth())
"""
SILK = (
    build_block("heading", "title", level=1, text="Silk, woven by *number*"),
    build_block(
        "text",
        "opening",
        text=(
            "The loom reads its pattern from **punched cards**, one for each pass of the shuttle. What is woven is what "  # noqa: E501
            "was written: [a portrait](https://example.com/portrait), a rose, or nothing at all.\n\nAda Lovelace saw "
            "further. The engine, she wrote, might act upon *other things besides number*, were objects found whose "
            "mutual relations could be expressed by those of the abstract science of operations. ~~Perhaps.~~"
        ),
    ),
    build_block("image", "loom", url="/picture.svg", alt="A loom with its cards, from above"),
    build_block("heading", "needed", level=2, text="What you need"),
    build_block("list", "things", items=["A loom, and **1,326** cards", "Silk: `8 denier`, undyed"], ordered=False),
    build_block(
        "list", "steps", items=["Lace the cards", "Thread the warp", "Weave, [patiently](/patience)"], ordered=True
    ),
    build_block(
        "quote",
        "saying",
        cite="Ada Lovelace, Note A, 1843",
        text=(
            "The Analytical Engine *weaves algebraical patterns* just as the Jacquard loom weaves flowers and leaves."
        ),
    ),
    build_block("heading", "card", level=4, text="A card, as a program"),
    build_block("code", "program", text=PROGRAM, language="python"),
    build_block(
        "text",
        "silks",
        text=(
            "## Three silks\n\n| | Thread | Price |\n|-|:-:|-:|\n| Tussah | coarse | 12.50 |\n| Mulberry | fine | 48.00 |\n"  # noqa: E501
            "\n> Cloth remembers.\n\n1. one\n2. two\n   - nested\n\n```\n"
            + "plain " * 40
            + "\n```\n\n[](/no-words)\n\n#\n"
        ),
    ),
    build_block(
        "columns",
        "ways",
        columns=[
            [
                build_block("heading", "visit", level=3, text="Visit"),
                build_block("text", "hours", text="Thursdays, nine to five."),
                build_block("button", "plan", label="Plan a visit", url="/visit"),
            ],
            [
                build_block("heading", "learn", level=3, text="Learn"),
                build_block("text", "courses", text="Courses begin in spring."),
                build_block(
                    "embed", "film", url="https://video.example.com/watch?v=the-engine-weaves-patterns-of-silk"
                ),
            ],
            [
                build_block(
                    "columns",
                    "inner",
                    columns=[[build_block("text", "left", text="In")], [build_block("text", "right", text="in")]],
                )
            ],
        ],
    ),
    build_block("divider", "line"),
    build_block("embed", "elsewhere", url="https://video.example.com/"),
    build_block("custom", "chart", data={"chart": "visitors"}),
)
LOADED = """
    const loaded = picture => { picture.loading = 'eager'; return picture.decode() }
    Promise.all([...document.images].map(loaded)).then(arguments[0])
"""
"""Waits for the pictures of a page, those that nobody has scrolled to as well."""

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
def opened(receiver: Receiver, browser: Chrome) -> Open:
    """Open a page with these blocks; of what is around them words tell what isn't as usual."""

    def opened(*blocks: dict[str, Any], scheme: str = "light", width: int = 1440, **words: Any) -> Chrome:
        usual = {"lang": "en-GB", "title": "Silk, woven by number", "site_name": "The Weaving Mill", "menu": MENU}
        document = render_document(build_view(*blocks, **{**usual, **words}), {})
        headers = {"Content-Type": document.content_type, **document.headers}
        receiver.replies_by_path["/silk"] = Reply(headers=headers, body=document.text.encode())
        receiver.replies_by_path["/picture.svg"] = Reply(headers={"Content-Type": "image/svg+xml"}, body=PICTURE)
        emulate_display(browser, color_scheme=scheme, width=width)
        browser.get("about:blank")
        read_log(browser, "browser")
        browser.get(receiver.url_at("127.0.0.1", "/silk"))
        return browser

    return opened


def ground(browser: Chrome) -> str:
    """Return the colour behind the page."""
    color: str = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
    return color


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
class TestAPage:
    @pytest.mark.parametrize("name", THEMES)
    def test_can_be_read_by_everyone_in_any_theme(self, opened: Open, name: str, scheme: str, width: int) -> None:
        browser = opened(*SILK, scheme=scheme, width=width, theme=THEMES[name], preview=name == "plain")
        browser.execute_async_script(LOADED)
        assert content_width(browser) <= width
        assert accessibility_violations(browser) == []
        assert read_log(browser, "browser") == []
        assert save_screenshot(browser, f"{name}-{scheme}-{width}").stat().st_size > 10_000

    def test_can_be_read_by_everyone_with_its_menu_open(self, opened: Open, scheme: str, width: int) -> None:
        browser = opened(*SILK, scheme=scheme, width=width)
        browser.find_element(By.TAG_NAME, "summary").click()
        assert browser.find_element(By.LINK_TEXT, "Brocade").is_displayed()
        assert content_width(browser) <= width
        assert accessibility_violations(browser) == []
        assert save_screenshot(browser, f"menu-{scheme}-{width}").stat().st_size > 10_000

    def test_is_written_from_right_to_left_in_languages_that_are(self, opened: Open, scheme: str, width: int) -> None:
        browser = opened(*SILK, scheme=scheme, width=width, lang="ar")
        assert content_width(browser) <= width
        assert accessibility_violations(browser) == []
        site, menu = (browser.find_element(By.CSS_SELECTOR, part).rect for part in (".site", "nav"))
        assert width == 360 or site["x"] > menu["x"]


class TestColors:
    @pytest.mark.parametrize(
        ("name", "light", "dark"),
        [
            ("plain", "rgb(255, 255, 255)", "rgb(19, 22, 27)"),
            ("branded", "rgb(255, 250, 245)", "rgb(19, 22, 27)"),
            ("night", "rgb(34, 34, 34)", "rgb(34, 34, 34)"),
        ],
    )
    def test_follow_the_reader_unless_the_theme_chooses(self, opened: Open, name: str, light: str, dark: str) -> None:
        assert ground(opened(*SILK, scheme="light", theme=THEMES[name])) == light
        assert ground(opened(*SILK, scheme="dark", theme=THEMES[name])) == dark


class TestTheKeyboard:
    def test_leads_past_the_menu(self, opened: Open) -> None:
        browser = opened(*SILK)
        ActionChains(browser).send_keys(Keys.TAB).perform()
        assert browser.switch_to.active_element.text == "Skip to content"
        assert browser.switch_to.active_element.rect["y"] >= 0
        ActionChains(browser).send_keys(Keys.ENTER).perform()
        assert browser.switch_to.active_element.tag_name == "main"

    def test_opens_the_menu(self, opened: Open) -> None:
        browser = opened(*SILK)
        brocade = browser.find_element(By.CSS_SELECTOR, "nav a[href$=brocade]")
        assert not brocade.is_displayed()
        browser.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
        assert brocade.is_displayed()


class TestAttacks:
    @pytest.mark.parametrize("kind", ["html", "markdown"])
    def test_run_nothing_and_leave_nothing_that_could_run(self, opened: Open, kind: str) -> None:
        words = ATTACKS[kind]
        blocks = [
            build_block("text", "all", text="\n\n".join(words)),
            build_block("list", "each", items=words, ordered=False),
            *(build_block("heading", f"h{at}", level=2, text=attack) for at, attack in enumerate(words)),
            *(build_block("image", f"i{at}", url="/picture.svg", alt=attack) for at, attack in enumerate(words)),
            *(build_block("button", f"b{at}", label="Go", url=url) for at, url in enumerate(ATTACKS["addresses"])),
        ]
        browser = opened(*blocks, title=words[0], site_name="".join(words), description="".join(words))
        # Asked by the browser itself: no policy of the page keeps this from running.
        found = browser.execute_script("""
            const all = [...document.querySelectorAll('*')]
            const named = all.flatMap(element => element.getAttributeNames())
            const leading = [...document.querySelectorAll('[href], [src]')].map(e => (e.href || e.src).split(':')[0])
            return [all.map(e => e.localName), named.filter(name => name.startsWith('on')), leading]
        """)
        tags, handlers, schemes = found
        assert not {"script", "iframe", "object", "embed", "svg", "math", "form", "base", "template"} & set(tags)
        assert tags.count("style") == 1
        assert handlers == []
        assert set(schemes) <= {"http", "https", "mailto", "data"}
        assert schemes.count("data") == 1  # It is the icon that there is none of.
        assert [entry for entry in read_log(browser, "browser") if "Content Security Policy" in entry["message"]] == []
