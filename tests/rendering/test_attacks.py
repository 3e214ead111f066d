"""Nobody's words make a page do anything: what is sent to run scripts is shown, or left out."""

import json
from pathlib import Path

import pytest

from chalicelib.features.sites.pages.models.blocks import BlockType
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.page_blocks import build_block, validation_errors
from tests.harness.rendered_pages import Element, render_blocks

ATTACKS: dict[str, list[str]] = json.loads((Path(__file__).parent / "attacks.json").read_text(encoding="utf-8"))
"""The XSS Filter Evasion Cheat Sheet of OWASP and others of its kind, the same by way of Markdown, and addresses."""


def everywhere(words: str, address: str = "/") -> Element:
    """Return a page that says some words wherever it says anything, and leads to an address wherever it leads."""
    said = [
        build_block("heading", "a", level=2, text=words),
        build_block("text", "b", text=words),
        build_block("list", "c", items=[words, words], ordered=True),
        build_block("quote", "d", text=words, cite=words),
        build_block("code", "e", text=words, language=words),
        build_block("image", "f", url=address, alt=words),
        build_block("button", "g", label=words, url=address),
        build_block("embed", "h", url=address),
        build_block("custom", "i", data={words: words}),
    ]
    inner = [{**one, "id": f"inner-{one['id']}"} for one in said]
    below = MenuItem(words, address, children=[MenuItem(words, address, children=[MenuItem(words)])])
    return render_blocks(
        *said,
        build_block("columns", "j", columns=[inner, []]),
        title=words,
        called=words,
        site_name=words,
        description=words,
        menu=[MenuItem(words, address, current=True), below],
        home_href=address,
        preview=True,
    )


@pytest.mark.parametrize("attack", ATTACKS["html"] + ATTACKS["markdown"])
class TestAnAttackInWords:
    def test_is_not_obeyed_wherever_it_stands(self, attack: str) -> None:
        everywhere(attack)

    def test_is_shown_as_it_is_where_words_are_no_markdown(self, attack: str) -> None:
        root = everywhere(attack)
        assert root.find_one("figure", id="e").find_one("code").text == attack
        assert root.find_one("figure", id="f").find_one("img").attributes["alt"] == attack
        assert root.find_one("p", id="g").find_one("a").text == attack
        assert root.find_one("h1").text == attack
        assert root.find_one("title").text == attack
        assert root.find_one("meta", name="description").attributes["content"] == attack
        assert root.find_one("meta", property="og:site_name").attributes["content"] == attack

    @pytest.mark.parametrize("kind", ["heading", "text", "quote"])
    def test_brings_no_element_that_markdown_does_not_have(self, kind: BlockType, attack: str) -> None:
        plain = {e.tag for e in render_blocks(build_block(kind, level=2, text="x", cite=None)).find_all()}
        found = {e.tag for e in render_blocks(build_block(kind, level=2, text=attack, cite=None)).find_all()}
        assert found - plain <= {
            "a",
            "blockquote",
            "code",
            "div",
            "em",
            "h2",
            "img",
            "li",
            "ol",
            "p",
            "pre",
            "s",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        }


@pytest.mark.parametrize("address", ATTACKS["addresses"])
class TestAnAttackInAnAddress:
    def test_leads_nowhere_even_if_it_was_stored(self, address: str) -> None:
        everywhere("words", address)

    @pytest.mark.parametrize(("kind", "words"), [("button", "label"), ("image", "alt"), ("embed", None)])
    def test_is_not_stored(self, kind: BlockType, words: str | None, address: str) -> None:
        sent = build_block(kind, url=address, **({words: "words"} if words else {}))
        assert validation_errors(sent) == [("/blocks/0/url", "malformed")]
