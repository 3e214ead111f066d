"""Texts and URLs that try to run scripts in a page are displayed as text, or left out."""

import json
from pathlib import Path

import pytest

from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.page_blocks import build_block, text_block, validation_errors
from tests.harness.rendered_pages import Element, render_blocks

ATTACKS: dict[str, list[str]] = json.loads((Path(__file__).parent / "attacks.json").read_text(encoding="utf-8"))
"""Attacks in HTML (such as OWASP's XSS Filter Evasion Cheat Sheet), in Markdown and in URLs."""
MARKDOWN_ELEMENTS = {
    *("a", "blockquote", "code", "div", "em", "h2", "img", "li", "ol", "p", "pre", "s", "strong"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}


def render_everywhere(text: str, url: str = "/") -> Element:
    """Render a page that has the text and the URL in every place that accepts one."""
    blocks = [
        build_block("heading", "a", level=2, text=text),
        text_block(text, "b"),
        build_block("list", "c", items=[text, text], ordered=True),
        build_block("quote", "d", text=text, cite=text),
        build_block("code", "e", text=text, language=text),
        build_block("image", "f", url=url, alt=text),
        build_block("button", "g", label=text, url=url),
        build_block("embed", "h", url=url),
        build_block("custom", "i", data={text: text}),
    ]
    inner_blocks = [{**item, "id": f"inner-{item['id']}"} for item in blocks]
    submenu = MenuItem(text, url, children=[MenuItem(text, url, children=[MenuItem(text)])])
    return render_blocks(
        *blocks,
        build_block("columns", "j", columns=[inner_blocks, []]),
        title=text,
        called=text,
        site_name=text,
        description=text,
        menu=[MenuItem(text, url, current=True), submenu],
        home_href=url,
        preview=True,
    )


@pytest.mark.parametrize("attack", ATTACKS["html"] + ATTACKS["markdown"])
class TestAttackInText:
    def test_it_runs_nowhere(self, attack):
        render_everywhere(attack)

    def test_fields_without_markdown_display_it_unchanged(self, attack):
        root = render_everywhere(attack)
        assert root.find_one("figure", id="e").find_one("code").text == attack
        assert root.find_one("figure", id="f").find_one("img").attributes["alt"] == attack
        assert root.find_one("p", id="g").find_one("a").text == attack
        assert root.find_one("h1").text == attack
        assert root.find_one("title").text == attack
        assert root.find_one("meta", name="description").attributes["content"] == attack
        assert root.find_one("meta", property="og:site_name").attributes["content"] == attack

    @pytest.mark.parametrize("kind", ["heading", "text", "quote"])
    def test_it_adds_only_elements_of_markdown(self, kind, attack):
        plain, attacked = (render_blocks(build_block(kind, level=2, text=text, cite=None)) for text in ("x", attack))
        assert {e.tag for e in attacked.find_all()} - {e.tag for e in plain.find_all()} <= MARKDOWN_ELEMENTS


@pytest.mark.parametrize("url", ATTACKS["addresses"])
class TestAttackInUrl:
    def test_a_stored_url_is_not_linked(self, url):
        render_everywhere("text", url)

    @pytest.mark.parametrize(("kind", "text_field"), [("button", "label"), ("image", "alt"), ("embed", None)])
    def test_it_is_rejected(self, kind, text_field, url):
        block_fields = build_block(kind, url=url, **({text_field: "text"} if text_field else {}))
        assert validation_errors(block_fields) == [("/blocks/0/url", "malformed")]
