"""Rendered pages are safe and accessible for any content and theme."""

import re
from itertools import pairwise
from typing import Final
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.platforms.models.color_contrast import MIN_CONTRAST_RATIO, contrast_ratio
from chalicelib.features.sites.rendering.logic.stylesheet import palette, stylesheet
from chalicelib.features.sites.rendering.models.view import MenuItem
from chalicelib.kernel.http.fields import LINK, has_visible_character
from tests.harness.page_blocks import StoredBlock, validate_blocks
from tests.harness.rendered_pages import Element, build_theme, render_blocks

MARKUP: Final = [
    *("<script>", "</style>", "<img src=x onerror=alert(1)>", "<!--", "-->", "]]>", "<svg/onload=", "&lt;", "&#106;"),
    *("javascript:", "data:text/html,", "](", "[", "![", ")", "<", ">", '"', "'", "`", "```\n", "\n\n", "\n", "    "),
    *("|", "|-|\n", "# ", "###### ", "> ", "- ", "1. ", "**", "_", "~~", "\\", "{{ 1 }}", "{% raw %}", "on="),
    *("https://a.b/", "mailto:a@b", "/c", "#d", " ", "a", "\u202e", "\u200b", "é"),
]
"""Text with a special meaning in Markdown, HTML, templates or URLs."""

words = st.lists(st.sampled_from(MARKUP) | st.text(max_size=5), max_size=12).map("".join)
printable = words.map(lambda text: "".join(c for c in text if c in "\n\t" or category(c) != "Cc"))
addresses = st.sampled_from(["/", "/a", "#b", "https://example.com/?a=1&b=<", "mailto:a@example.com"]) | printable
colors = st.from_regex("^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$", fullmatch=True)
names = st.sampled_from(["background", "surface", "text", "muted", "link", "primary", "onPrimary"])


def block(type_: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[StoredBlock]:
    return st.fixed_dictionaries({"type": st.just(type_), **fields})


def blocks(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[StoredBlock]]:
    """Return lists of blocks with such text, including columns. Each block has an ID."""
    links = addresses.map(str.strip).filter(LINK.fullmatch)
    pictures = links.filter(lambda url: not url.lower().startswith(("mailto:", "#")))
    flat = st.one_of(
        block("heading", level=st.integers(1, 6), text=text),
        block("text", text=text),
        block("list", items=st.lists(text, max_size=3), ordered=st.booleans()),
        block("quote", text=text, cite=st.none() | text),
        block("code", text=text, language=st.none() | st.just("c++")),
        block("image", url=pictures, alt=text),
        block("button", label=text, url=links),
        block("embed", url=st.just("https://video.example.com/")),
        block("divider"),
        block("custom", data=st.fixed_dictionaries({"chart": text})),
    )
    columns = block("columns", columns=st.lists(st.lists(flat, max_size=3), min_size=1, max_size=3))
    return st.lists(flat | columns, max_size=6).map(with_ids)


def with_ids(page_blocks: list[StoredBlock], prefix: str = "b") -> list[StoredBlock]:
    identified = [{**block, "id": f"{prefix}.{index}"} for index, block in enumerate(page_blocks)]
    for block in identified:
        if "columns" in block:
            block["columns"] = [with_ids(column, f"{block['id']}.{n}") for n, column in enumerate(block["columns"])]
    return identified


def menus(label: st.SearchStrategy[str]) -> st.SearchStrategy[list[MenuItem]]:
    leaves = st.builds(MenuItem, label, st.none() | addresses, st.booleans())
    children = st.lists(leaves, max_size=2)
    return st.lists(st.builds(MenuItem, label, st.none() | addresses, st.booleans(), children), max_size=3)


@given(page_blocks=blocks(words), title=printable, description=words, menu=menus(words), preview=st.booleans())
def test_text_adds_no_harmful_markup(page_blocks, title, description, menu, *, preview):
    texts = {"title": title, "site_name": description, "description": description}
    root = render_blocks(*page_blocks, **texts, menu=menu, preview=preview)
    assert root.find_one("h1").text == title


@given(page_blocks=blocks(printable))
def test_every_valid_block_is_rendered_accessibly(page_blocks):
    assert_accessible(render_blocks(*validate_blocks(*page_blocks)))


def assert_accessible(root: Element) -> None:
    """Assert that headings skip no level, IDs are unique, and links and headings have a visible text."""
    headings = root.find_all("h1", "h2", "h3", "h4", "h5", "h6")
    levels = [int(e.tag[1]) for e in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [e.attributes["id"] for e in root.find_all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert all(has_visible_text(e) for e in (*headings, *root.find_all("a", "summary", "th")))
    assert all("alt" in e.attributes for e in root.find_all("img"))


def has_visible_text(element: Element) -> bool:
    return has_visible_character(element.text) or any(
        has_visible_character(e.attributes["alt"]) for e in element.find_all("img")
    )


@given(theme_colors=st.dictionaries(names, colors), mode=st.sampled_from([None, "auto", "light", "dark"]))
def test_text_has_sufficient_contrast_in_any_theme(theme_colors, mode):
    for scheme in ("light", "dark"):
        colors_by_name = palette(build_theme(colors=theme_colors, mode=mode), scheme)
        for text in ("text", "muted", "link"):
            for background in ("background", "surface"):
                assert contrast_ratio(colors_by_name[text], colors_by_name[background]) >= MIN_CONTRAST_RATIO
        assert contrast_ratio(colors_by_name["on-primary"], colors_by_name["primary"]) >= MIN_CONTRAST_RATIO


@given(fonts=st.dictionaries(st.sampled_from(["body", "heading", "mono"]), words))
def test_a_font_name_cannot_end_its_declaration(fonts):
    with_fonts, without_fonts = stylesheet(build_theme(fonts=fonts)), stylesheet(build_theme(fonts={}))
    no_syntax = re.compile(r"[^{}<>@;()*/\n]")
    assert no_syntax.sub("", with_fonts) == no_syntax.sub("", without_fonts)
