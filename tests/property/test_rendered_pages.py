"""Whatever a page is made of, and whatever its theme: it does no harm, and everyone can find their way in it."""

from itertools import pairwise
from typing import Final
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.platforms.models.color_contrast import MIN_CONTRAST_RATIO, contrast_ratio
from chalicelib.features.sites.rendering.logic.stylesheet import palette, stylesheet
from chalicelib.features.sites.rendering.models.view import MenuItem
from chalicelib.kernel.http.fields import LINK, is_visible
from tests.harness.blocks import Stored, kept
from tests.harness.pages import Element, rendered, theme

PARTS: Final = [
    "<script>",
    "</style>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "]]>",
    "<svg/onload=",
    "&lt;",
    "&#106;",
    "javascript:",
    "data:text/html,",
    "](",
    "[",
    "![",
    ")",
    "<",
    ">",
    '"',
    "'",
    "`",
    "```\n",
    "\n\n",
    "\n",
    "    ",
    "|",
    "|-|\n",
    "# ",
    "###### ",
    "> ",
    "- ",
    "1. ",
    "**",
    "_",
    "~~",
    "\\",
    "{{ 1 }}",
    "{% raw %}",
    "on=",
    "https://a.b/",
    "mailto:a@b",
    "/c",
    "#d",
    " ",
    "a",
    "\u202e",
    "\u200b",
    "é",
]
"""What Markdown, HTML, the template or an address takes for more than a word."""

words = st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=12).map("".join)
printable = words.map(lambda text: "".join(c for c in text if c in "\n\t" or category(c) != "Cc"))
addresses = st.sampled_from(["/", "/a", "#b", "https://example.com/?a=1&b=<", "mailto:a@example.com"]) | printable
colors = st.from_regex("^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$", fullmatch=True)
names = st.sampled_from(["background", "surface", "text", "muted", "link", "primary", "onPrimary"])


def blocks(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Stored]]:
    """Return lists of blocks that say such text, columns among them; each has an id of its own."""
    links = addresses.map(str.strip).filter(LINK.fullmatch)
    pictures = links.filter(lambda url: not url.lower().startswith(("mailto:", "#")))
    flat = st.one_of(
        st.fixed_dictionaries({"type": st.just("heading"), "level": st.integers(1, 6), "text": text}),
        st.fixed_dictionaries({"type": st.just("text"), "text": text}),
        st.fixed_dictionaries({"type": st.just("list"), "items": st.lists(text, max_size=3), "ordered": st.booleans()}),
        st.fixed_dictionaries({"type": st.just("quote"), "text": text, "cite": st.none() | text}),
        st.fixed_dictionaries({"type": st.just("code"), "text": text, "language": st.none() | st.just("c++")}),
        st.fixed_dictionaries({"type": st.just("image"), "url": pictures, "alt": text}),
        st.fixed_dictionaries({"type": st.just("button"), "label": text, "url": links}),
        st.just({"type": "embed", "url": "https://video.example.com/"}),
        st.just({"type": "divider"}),
        st.fixed_dictionaries({"type": st.just("custom"), "data": st.fixed_dictionaries({"chart": text})}),
    )
    columns = st.lists(st.lists(flat, max_size=3), min_size=1, max_size=3)
    nested = st.fixed_dictionaries({"type": st.just("columns"), "columns": columns})
    return st.lists(flat | nested, max_size=6).map(numbered)


def numbered(found: list[Stored], prefix: str = "b") -> list[Stored]:
    """Return blocks with an id for each of them."""
    return [
        {**block, "id": f"{prefix}.{at}"}
        | (
            {"columns": [numbered(c, f"{prefix}.{at}.{n}") for n, c in enumerate(block["columns"])]}
            if "columns" in block
            else {}
        )
        for at, block in enumerate(found)
    ]


def menus(label: st.SearchStrategy[str]) -> st.SearchStrategy[list[MenuItem]]:
    leaves = st.builds(MenuItem, label, st.none() | addresses, st.booleans())
    below = st.lists(leaves, max_size=2)
    return st.lists(st.builds(MenuItem, label, st.none() | addresses, st.booleans(), below), max_size=3)


@given(found=blocks(words), title=printable, about=words, menu=menus(words), preview=st.booleans())
def test_words_bring_nothing_into_a_page_that_can_do_harm(
    found: list[Stored], title: str, about: str, menu: list[MenuItem], *, preview: bool
) -> None:
    root = rendered(*found, title=title, site_name=about, description=about, menu=menu, preview=preview)
    assert root.one("h1").words == title


@given(found=blocks(printable))
def test_all_blocks_that_a_page_may_have_can_be_shown(found: list[Stored]) -> None:
    can_be_followed(rendered(*kept(*found)))


def can_be_followed(root: Element) -> None:
    """See that headings leave no level out, ids are there once, and links and headings say something."""
    headings = root.all("h1", "h2", "h3", "h4", "h5", "h6")
    levels = [int(e.tag[1]) for e in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [e.attributes["id"] for e in root.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert all(says_something(e) for e in (*headings, *root.all("a", "summary", "th")))
    assert all("alt" in e.attributes for e in root.all("img"))


def says_something(element: Element) -> bool:
    return is_visible(element.words) or any(is_visible(e.attributes["alt"]) for e in element.all("img"))


@given(given_colors=st.dictionaries(names, colors), mode=st.sampled_from([None, "auto", "light", "dark"]))
def test_everyone_can_read_a_page_whatever_its_colors(given_colors: dict[str, str], mode: str | None) -> None:
    for scheme in ("light", "dark"):
        found = palette(theme(colors=given_colors, mode=mode), scheme)
        for text in ("text", "muted", "link"):
            for ground in ("background", "surface"):
                assert contrast_ratio(found[text], found[ground]) >= MIN_CONTRAST_RATIO
        assert contrast_ratio(found["on-primary"], found["primary"]) >= MIN_CONTRAST_RATIO


@given(fonts=st.dictionaries(st.sampled_from(["body", "heading", "mono"]), words))
def test_no_name_of_a_font_ends_what_it_stands_in(fonts: dict[str, str]) -> None:
    marks = "{}<>@;()*/\n"
    bare, named = ([c for c in stylesheet(theme(fonts=said)) if c in marks] for said in ({}, fonts))
    assert named == bare
