"""What a page may ask of the renderer, by counts that are the same on every machine."""

import sys
from typing import Any, Final

import pytest
from pydantic_core import to_json

from benchmarks.rendering import shapes
from benchmarks.rendering.shapes import KINDS, PATTERNS, Page
from chalicelib.features.sites.menus.models import MAX_MENU_ITEMS
from chalicelib.features.sites.pages.models.schemas import MAX_BLOCKS_BYTES
from chalicelib.features.sites.rendering.logic import content
from chalicelib.features.sites.rendering.logic.limits import (
    MAX_ADDRESS_CHARACTERS,
    MAX_CELLS,
    MAX_HTML_BYTES,
    MAX_NESTING,
    MAX_STEPS,
    Meter,
    TooComplex,
)
from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.page_blocks import StoredBlock, build_block
from tests.harness.rendered_pages import build_view, render_blocks

MAX_CALLS: Final = 8 * MAX_STEPS
"""Of functions in Python, while one page is rendered: what takes long is made of many."""

MAX_PAGE_BYTES: Final = 1024 * 1024
WORST: Final = [
    "prose",
    "wide table",
    "many tables",
    "pipes",
    "one reference",
    "references in order",
    "definitions",
    "brackets",
    "pictures",
    "nested links",
    "nested pictures",
    "pictures in pictures",
    "destinations",
    "encoded addresses",
    "mixed strikes",
    "deep",
    "closed deep",
    "growing backticks",
    "ampersands",
    "autolinks",
    "paragraphs",
    "list",
    "nested list",
    "nested quote",
    "closed fences",
    "table of numbers",
]
"""Patterns that are, or were, the worst of their kind: `python -m benchmarks.rendering` looks for others."""


class Kept(Meter):
    """A meter that a test can read."""

    made: Final[list[Meter]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)


def refused(*blocks: StoredBlock) -> str:
    """Why blocks are refused; nothing if they are not."""
    try:
        content.render_blocks(blocks)
    except TooComplex as why:
        return str(why)
    return ""


def text(words: str) -> StoredBlock:
    return build_block("text", text=words)


def table(columns: int, rows: int) -> str:
    """A table of empty cells, all but the first of each row filled in."""
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|\n" * rows


def calls(found: Page) -> int:
    """How many functions in Python are called while a page is rendered."""
    number = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal number
        number += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        content.render_blocks(found)
    except TooComplex:
        pass
    finally:
        sys.setprofile(before)
    return number


@pytest.mark.parametrize("pattern", WORST)
class TestAPageThatIsFull:
    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
    def test_is_shown_or_refused_within_its_limits(
        self, pattern: str, kind: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = kind(PATTERNS[pattern])
        assert len(to_json(found)) <= MAX_BLOCKS_BYTES
        Kept.made.clear()
        monkeypatch.setattr(content, "Meter", Kept)
        try:
            assert len(content.render_blocks(found).encode()) <= MAX_HTML_BYTES
        except TooComplex:
            pass
        else:
            assert Kept.made[0].steps <= MAX_STEPS

    def test_calls_a_bounded_number_of_functions(self, pattern: str) -> None:
        content.render_blocks([text("a")])
        assert calls(shapes.of_headings(PATTERNS[pattern])) <= MAX_CALLS


class TestLimits:
    def test_let_the_longest_prose_and_long_articles_be_shown(self) -> None:
        assert not refused(*shapes.of_text(PATTERNS["prose"]))
        assert not refused(text(PATTERNS["article"] * 120))
        assert not refused(
            *(build_block("code", f"a{number}", text="print(1)\n" * 500, language=None) for number in range(50))
        )
        assert not refused(build_block("list", items=["The mill, and what is in it."] * 2000, ordered=False))

    def test_count_the_cells_that_short_rows_lack_in_all_tables_of_a_page(self) -> None:
        assert not refused(
            text(table(50, MAX_CELLS // 100 - 1)), build_block("text", "b", text=table(50, MAX_CELLS // 100 - 1))
        )
        why = refused(text(table(50, MAX_CELLS // 100)), build_block("text", "b", text=table(50, MAX_CELLS // 100)))
        assert f"at most {MAX_CELLS} cells" in why

    def test_count_the_levels_of_quotes_lists_and_emphasis(self) -> None:
        for deep in (
            "> " * MAX_NESTING + "a",
            "- " * (MAX_NESTING // 2) + "a",
            "*a " * MAX_NESTING + "b*" * MAX_NESTING,
        ):
            assert not refused(text(deep)), deep
        for deeper in (
            "> " * (MAX_NESTING + 1) + "a",
            "- " * (MAX_NESTING // 2 + 1) + "a",
            "*a " * (MAX_NESTING + 2) + "b*" * (MAX_NESTING + 2),
        ):
            assert f"at most {MAX_NESTING} levels deep" in refused(text(deeper)), deeper

    def test_lose_nothing_of_what_is_as_deep_as_it_may_be(self) -> None:
        root = render_blocks(text("> " * MAX_NESTING + "a\n\nb"))
        assert [element.text.strip() for element in root.find_one("main").find_all("p")] == ["a", "b"]

    def test_count_an_address_in_each_link_to_it(self) -> None:
        address = "/" + "x" * (MAX_ADDRESS_CHARACTERS - 1)
        most = MAX_HTML_BYTES // MAX_ADDRESS_CHARACTERS
        assert not refused(text(f"[a]: {address}\n\n" + "[a] " * (most - 16)))
        assert "a link by reference repeats its whole address" in refused(
            text(f"[a]: {address}\n\n" + "[a] " * (most + 1))
        )

    def test_take_a_longer_address_for_text(self) -> None:
        address = "/" + "x" * MAX_ADDRESS_CHARACTERS
        for words in (f"[a]({address})", f"![a]({address})", f"[a]: {address}\n\n[a]", f"<https:/{address}>"):
            assert not render_blocks(text(words)).find_one("main").find_all("a", "img"), words[:10]
        assert (
            render_blocks(text(f"[a]({address[:-1]})")).find_one("main").find_one("a").attributes["href"]
            == address[:-1]
        )

    def test_say_which_text_it_is(self) -> None:
        inner = [build_block("divider", "b"), build_block("list", "c", items=["a", "[" * 9999], ordered=False)]
        with pytest.raises(TooComplex) as why:
            content.render_blocks([text("a"), build_block("columns", "d", columns=[[], inner])])
        assert why.value.path == (1, "columns", 1, 1, "items", 1)


def test_a_page_with_the_longest_menu_and_head_is_no_longer_than_a_page_may_be() -> None:
    label, href = "&" * 200, "/" + "&" * 120
    menu = [MenuItem(label, href, children=[MenuItem(label, href)] * 99)] * (MAX_MENU_ITEMS // 100)
    words: dict[str, Any] = {"menu": menu, "title": label, "site_name": label, "description": "&" * 4000}
    whole = render_document(build_view(text("x" * (MAX_HTML_BYTES - 200)), **words), {})
    assert MAX_HTML_BYTES + 200_000 < len(whole.text.encode()) <= MAX_PAGE_BYTES
