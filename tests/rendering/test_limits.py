"""The limits of the renderer, measured in counts that are the same on every machine."""

import sys
from typing import Any, Final

import pytest
from pydantic_core import to_json

from benchmarks.rendering import page_patterns
from benchmarks.rendering.page_patterns import PAGE_BUILDERS, PATTERNS, Page
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
from tests.harness.page_blocks import StoredBlock, build_block, text_block
from tests.harness.rendered_pages import build_view, render_blocks

MAX_CALLS: Final = 8 * MAX_STEPS
"""The maximum number of Python function calls for one page. It bounds the time."""

MAX_PAGE_BYTES: Final = 1024 * 1024
WORST_PATTERNS: Final = [
    *("prose", "wide table", "many tables", "pipes", "one reference", "references in order", "definitions"),
    *("brackets", "pictures", "nested links", "nested pictures", "pictures in pictures", "destinations"),
    *("encoded addresses", "mixed strikes", "deep", "closed deep", "growing backticks", "ampersands", "autolinks"),
    *("paragraphs", "list", "nested list", "nested quote", "closed fences", "table of numbers"),
]
"""Patterns that are, or were, the worst of their kind. `python -m benchmarks.rendering` looks for others."""


class RecordedMeter(Meter):
    """A meter that tests can read afterwards."""

    instances: Final[list[Meter]] = []

    def __init__(self) -> None:
        super().__init__()
        self.instances.append(self)


def rejection_reason(*blocks: StoredBlock) -> str:
    """Return why blocks are rejected, or an empty string."""
    try:
        content.render_blocks_to_safe_html(blocks)
    except TooComplex as error:
        return str(error)
    return ""


def build_table(columns: int, rows: int) -> str:
    """Return a table whose rows have one empty cell each. The renderer adds the others."""
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|\n" * rows


def count_function_calls(page: Page) -> int:
    """Return the number of Python function calls while a page is rendered."""
    call_count = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal call_count
        call_count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        content.render_blocks_to_safe_html(page)
    except TooComplex:
        pass
    finally:
        sys.setprofile(before)
    return call_count


@pytest.mark.parametrize("pattern", WORST_PATTERNS)
class TestLargestPages:
    @pytest.mark.parametrize("kind", PAGE_BUILDERS, ids=lambda kind: str(kind.__name__))
    def test_a_page_is_rendered_or_rejected_within_the_limits(self, pattern, kind, monkeypatch):
        page = kind(PATTERNS[pattern])
        assert len(to_json(page)) <= MAX_BLOCKS_BYTES
        RecordedMeter.instances.clear()
        monkeypatch.setattr(content, "Meter", RecordedMeter)
        try:
            assert len(content.render_blocks_to_safe_html(page).encode()) <= MAX_HTML_BYTES
        except TooComplex:
            pass
        else:
            assert RecordedMeter.instances[0].steps <= MAX_STEPS

    def test_the_number_of_function_calls_is_bounded(self, pattern):
        content.render_blocks_to_safe_html([text_block("a")])
        assert count_function_calls(page_patterns.build_headings_page(PATTERNS[pattern])) <= MAX_CALLS


class TestLimits:
    def test_the_longest_prose_and_long_articles_are_rendered(self):
        assert not rejection_reason(*page_patterns.build_text_page(PATTERNS["prose"]))
        assert not rejection_reason(text_block(PATTERNS["article"] * 120))
        assert not rejection_reason(*[build_block("code", text="print(1)\n" * 500, language=None)] * 50)
        assert not rejection_reason(build_block("list", items=["The mill, and what is in it."] * 2000, ordered=False))

    def test_missing_cells_of_short_rows_count_in_all_tables_of_a_page(self):
        rows = MAX_CELLS // 100
        assert not rejection_reason(*[text_block(build_table(50, rows - 1))] * 2)
        assert f"at most {MAX_CELLS} cells" in rejection_reason(*[text_block(build_table(50, rows))] * 2)

    @pytest.mark.parametrize(
        ("repeat", "allowed", "too_deep"),
        [
            (lambda levels: "> " * levels + "a", MAX_NESTING, MAX_NESTING + 1),
            (lambda levels: "- " * levels + "a", MAX_NESTING // 2, MAX_NESTING // 2 + 1),
            (lambda levels: "*a " * levels + "b*" * levels, MAX_NESTING, MAX_NESTING + 2),
        ],
        ids=["quotes", "lists", "emphasis"],
    )
    def test_levels_of_quotes_lists_and_emphasis_are_limited(self, repeat, allowed, too_deep):
        assert not rejection_reason(text_block(repeat(allowed)))
        assert f"at most {MAX_NESTING} levels deep" in rejection_reason(text_block(repeat(too_deep)))

    def test_text_at_the_deepest_level_is_rendered(self):
        root = render_blocks(text_block("> " * MAX_NESTING + "a\n\nb"))
        assert [element.text.strip() for element in root.find_one("main").find_all("p")] == ["a", "b"]

    def test_a_reference_counts_its_url_in_each_link(self):
        url = "/" + "x" * (MAX_ADDRESS_CHARACTERS - 1)
        max_links = MAX_HTML_BYTES // MAX_ADDRESS_CHARACTERS
        assert not rejection_reason(text_block(f"[a]: {url}\n\n" + "[a] " * (max_links - 16)))
        reason = rejection_reason(text_block(f"[a]: {url}\n\n" + "[a] " * (max_links + 1)))
        assert "a link by reference repeats its whole address" in reason

    def test_a_longer_url_is_displayed_as_text(self):
        url = "/" + "x" * MAX_ADDRESS_CHARACTERS
        for markdown in (f"[a]({url})", f"![a]({url})", f"[a]: {url}\n\n[a]", f"<https:/{url}>"):
            assert not render_blocks(text_block(markdown)).find_one("main").find_all("a", "img"), markdown[:10]
        (link,) = render_blocks(text_block(f"[a]({url[:-1]})")).find_one("main").find_all("a")
        assert link.attributes["href"] == url[:-1]

    def test_the_error_has_the_path_of_the_text(self):
        inner = [build_block("divider", "b"), build_block("list", "c", items=["a", "[" * 9999], ordered=False)]
        with pytest.raises(TooComplex) as raised:
            content.render_blocks_to_safe_html([text_block("a"), build_block("columns", "d", columns=[[], inner])])
        assert raised.value.path == (1, "columns", 1, 1, "items", 1)


def test_a_page_with_the_longest_menu_and_head_is_within_its_limit():
    label, href = "&" * 200, "/" + "&" * 120
    menu = [MenuItem(label, href, children=[MenuItem(label, href)] * 99)] * (MAX_MENU_ITEMS // 100)
    fields: dict[str, Any] = {"menu": menu, "title": label, "site_name": label, "description": "&" * 4000}
    document = render_document(build_view(text_block("x" * (MAX_HTML_BYTES - 200)), **fields), {})
    assert MAX_HTML_BYTES + 200_000 < len(document.text.encode()) <= MAX_PAGE_BYTES
