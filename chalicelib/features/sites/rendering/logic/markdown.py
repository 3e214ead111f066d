"""Conversion of Markdown to safe HTML.

Three mechanisms protect readers: Markdown accepts no HTML and only links that a page may contain; the templates escape
all other text; and the sanitizer removes everything except the elements, attributes and URL schemes listed here.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from chalicelib.features.sites.rendering.logic.limits import Meter
from chalicelib.kernel.http.fields import has_visible_character

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from nh3 import Cleaner

ELEMENTS: Final = frozenset(
    {
        "a",
        "aside",
        "blockquote",
        "br",
        "code",
        "details",
        "div",
        "em",
        "figcaption",
        "figure",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "img",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "s",
        "span",
        "strong",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    }
)
"""The elements that the body of a page can contain."""

ATTRIBUTES: Final = {
    "*": frozenset({"class", "dir", "id", "lang", "tabindex"}),
    "a": frozenset({"aria-current", "href"}),
    "details": frozenset({"name"}),
    "img": frozenset({"alt", "src"}),
    "ol": frozenset({"start"}),
    "summary": frozenset({"aria-current"}),
}
SCHEMES: Final = frozenset({"http", "https", "mailto"})

_ESCAPED_CHARACTERS: Final = '&<>"'
_TOKEN_STEPS: Final = {"fence": 8, "code_block": 8, "code_inline": 2}
"""Additional steps of some types of tokens."""

_LOWEST_HEADING_LEVEL: Final = 6
_HEADING_TOKENS: Final = 3
"""A heading consists of its opening, its content and its closing."""


class MarkdownWriter:
    """Parses and writes the Markdown of one page within its limits. All methods raise TooComplex."""

    def __init__(self, meter: Meter) -> None:
        from chalicelib.features.sites.rendering.logic.markdown_parser import create_parser

        self._meter = meter
        self._parser = _add_render_rules(create_parser(meter))

    def parse_document(self, text: str) -> list["Token"]:
        """Return Markdown as tokens, without elements that would be empty for screen readers."""
        return self._meter_and_list_tokens(_iter_accessible_tokens(self._parser.parse(text)))

    def parse_heading(self, text: str, level: int) -> list["Token"]:
        """Return a line of Markdown as a heading, or nothing if it has no visible text."""
        from markdown_it.token import Token

        tag = f"h{level}"
        opening, closing = Token("heading_open", tag, 1), Token("heading_close", tag, -1)
        return self._meter_and_list_tokens(_iter_accessible_tokens([opening, *self._parser.parseInline(text), closing]))

    def line_to_unsanitized_html(self, text: str) -> str:
        """Return a line of Markdown as HTML, or nothing if it has no visible text."""
        tokens = self._meter_and_list_tokens(_iter_accessible_tokens(self._parser.parseInline(text)))
        return self.tokens_to_unsanitized_html(tokens) if _has_visible_text(tokens[0].children or ()) else ""

    def plain_text(self, text: str) -> str:
        """Return the text of a line of Markdown."""
        return "".join(child.content for token in self._parser.parseInline(text) for child in token.children or ())

    def tokens_to_unsanitized_html(self, tokens: Sequence["Token"]) -> str:
        """Return tokens as HTML."""
        return str(self._parser.renderer.render(tokens, self._parser.options, {}))

    def _meter_and_list_tokens(self, tokens: Iterable["Token"]) -> list["Token"]:
        """Return the tokens after counting their minimum HTML. A URL is repeated in each link to it."""
        listed = [*tokens]
        for token in listed:
            for each in token.children or (token,):
                self._meter.add_html(len(each.content) + sum(len(str(value)) for value in each.attrs.values()))
                self._meter.spend(sum(map(each.content.count, _ESCAPED_CHARACTERS)) + _TOKEN_STEPS.get(each.type, 0))
        return listed


def normalize_heading_levels(tokens: Iterable["Token"]) -> None:
    """Set the levels of the headings of a page, below its title and without gaps.

    If a heading has the level of the title, all headings move down by one.
    """
    ends = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    headings = list(zip(ends[::2], ends[1::2], strict=True))
    levels = [int(opening.tag.removeprefix("h")) for opening, _ in headings]
    offset, previous = 1 if 1 in levels else 0, 1
    for (opening, closing), level in zip(headings, levels, strict=True):
        previous = min(max(level + offset, 2), previous + 1, _LOWEST_HEADING_LEVEL)
        opening.tag = closing.tag = f"h{previous}"


def sanitize_html(text: str) -> str:
    """Return HTML with only safe elements and attributes. Images are loaded lazily."""
    return _cleaner().clean(text)


@cache
def _cleaner() -> "Cleaner":
    from nh3 import Cleaner

    return Cleaner(
        tags=set(ELEMENTS),
        clean_content_tags={"script", "style"},
        attributes={element: set(names) for element, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        set_tag_attribute_values={"img": {"loading": "lazy"}},
    )


def _add_render_rules(markdown: "MarkdownIt") -> "MarkdownIt":
    """Return a parser that writes wide elements so that they scroll on their own, also with the keyboard."""
    for kind in ("fence", "code_block"):
        markdown.add_render_rule(kind, _render_code)
    markdown.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>\n')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


def _render_code(_renderer: Any, tokens: Sequence["Token"], at: int, *_: Any) -> str:
    from markupsafe import escape

    return f'<pre tabindex="0"><code>{escape(tokens[at].content)}</code></pre>\n'


def _iter_accessible_tokens(tokens: Sequence["Token"]) -> Iterator["Token"]:
    skipped = 0
    for at, token in enumerate(tokens):
        if token.type == "inline":
            token.children = list(_with_urls_as_empty_link_text(token.children or []))
        if token.type == "heading_open" and not _has_visible_text(tokens[at + 1].children or ()):
            skipped = at + _HEADING_TOKENS
        if token.type in ("th_open", "td_open"):
            _set_alignment_class(token)
        if token.type == "th_open" and not _has_visible_text(tokens[at + 1].children or ()):
            token.tag = tokens[at + 2].tag = "td"
        if at >= skipped:
            yield token


def _set_alignment_class(cell: "Token") -> None:
    """Replace the inline style of a cell by a class, because only the style sheet may style a page."""
    style = str(cell.attrs.pop("style", ""))
    if style:
        cell.attrs["class"] = style.removeprefix("text-align:")


def _with_urls_as_empty_link_text(children: Sequence["Token"]) -> Iterator["Token"]:
    """Yield tokens, with its URL as the text of each link that has no visible text."""
    from markdown_it.token import Token

    opened = 0
    for at, token in enumerate(children):
        if token.type == "link_open":
            opened = at
        if token.type == "link_close" and not _has_visible_text(children[opened:at]):
            yield Token("text", "", 0, content=str(children[opened].attrs["href"]))
        yield token


def _has_visible_text(tokens: Iterable["Token"]) -> bool:
    return any(
        token.type in ("text", "code_inline", "image") and has_visible_character(token.content) for token in tokens
    )
