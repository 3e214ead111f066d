"""Markdown, and HTML that is harmless: what becomes of the texts that callers wrote.

Three walls stand between a text and whoever reads the page: Markdown takes no HTML from it and no link but those that
a page may lead to; the template escapes all else; and of what they made only the elements, attributes and addresses
named here are left.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from chalicelib.features.sites.rendering.logic.limits import Meter
from chalicelib.kernel.http.fields import is_visible

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
"""All that can stand in the body of a page."""

ATTRIBUTES: Final = {
    "*": frozenset({"class", "dir", "id", "lang", "tabindex"}),
    "a": frozenset({"aria-current", "href"}),
    "details": frozenset({"name"}),
    "img": frozenset({"alt", "src"}),
    "ol": frozenset({"start"}),
    "summary": frozenset({"aria-current"}),
}
SCHEMES: Final = frozenset({"http", "https", "mailto"})

_ESCAPED: Final = '&<>"'
_STEPS: Final = {"fence": 8, "code_block": 8, "code_inline": 2}
"""What some tokens take to be written, beside what all do."""

_LOWEST: Final = 6
_HEADING_TOKENS: Final = 3
"""What opens a heading, what is in it, what closes it."""


class Writing:
    """The Markdown of one page, read and written within its limits. All methods raise TooComplex."""

    def __init__(self, meter: Meter) -> None:
        from chalicelib.features.sites.rendering.logic.markdown_parser import markdown

        self._meter = meter
        self._parser = _with_rules(markdown(meter))

    def document(self, text: str) -> list["Token"]:
        """Return what Markdown says, as tokens, without what would say nothing to those who listen to the page."""
        return self._counted(_tidy(self._parser.parse(text)))

    def heading(self, text: str, level: int) -> list["Token"]:
        """Return a line of Markdown as a heading; nothing if there is nothing to see in it."""
        from markdown_it.token import Token

        tag = f"h{level}"
        opening, closing = Token("heading_open", tag, 1), Token("heading_close", tag, -1)
        return self._counted(_tidy([opening, *self._parser.parseInline(text), closing]))

    def line(self, text: str) -> str:
        """Return a line of Markdown as HTML; nothing if there is nothing to see in it."""
        tokens = self._counted(_tidy(self._parser.parseInline(text)))
        return self.html(tokens) if _says(tokens[0].children or ()) else ""

    def words(self, text: str) -> str:
        """Return what people read of a line of Markdown."""
        return "".join(child.content for token in self._parser.parseInline(text) for child in token.children or ())

    def html(self, tokens: Sequence["Token"]) -> str:
        """Return tokens as HTML."""
        return str(self._parser.renderer.render(tokens, self._parser.options, {}))

    def _counted(self, tokens: Iterable["Token"]) -> list["Token"]:
        """Return tokens, having counted the HTML that they will at least be: an address is in each link to it."""
        found = [*tokens]
        for token in found:
            for each in token.children or (token,):
                self._meter.add_html(len(each.content) + sum(len(str(value)) for value in each.attrs.values()))
                self._meter.spend(sum(map(each.content.count, _ESCAPED)) + _STEPS.get(each.type, 0))
        return found


def put_in_order(tokens: Iterable["Token"]) -> None:
    """Give the headings of a page the levels at which people can follow them: below its title, and none left out.

    Headings that stand as high as the title lead all others one level down.
    """
    ends = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    headings = list(zip(ends[::2], ends[1::2], strict=True))
    levels = [int(opening.tag.removeprefix("h")) for opening, _ in headings]
    down, above = 1 if 1 in levels else 0, 1
    for (opening, closing), level in zip(headings, levels, strict=True):
        above = min(max(level + down, 2), above + 1, _LOWEST)
        opening.tag = closing.tag = f"h{above}"


def sanitised(text: str) -> str:
    """Return HTML with nothing left in it but what can do no harm, every picture loaded late."""
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


def _with_rules(markdown: "MarkdownIt") -> "MarkdownIt":
    """Return a parser that writes what can be wider than the page so that it is scrolled by itself, with keys too."""
    for kind in ("fence", "code_block"):
        markdown.add_render_rule(kind, _program)
    markdown.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>\n')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


def _program(_renderer: Any, tokens: Sequence["Token"], at: int, *_: Any) -> str:
    from markupsafe import escape

    return f'<pre tabindex="0"><code>{escape(tokens[at].content)}</code></pre>\n'


def _tidy(tokens: Sequence["Token"]) -> Iterator["Token"]:
    skipped = 0
    for at, token in enumerate(tokens):
        if token.type == "inline":
            token.children = list(_with_named_links(token.children or []))
        if token.type == "heading_open" and not _says(tokens[at + 1].children or ()):
            skipped = at + _HEADING_TOKENS
        if token.type in ("th_open", "td_open"):
            _align(token)
        if token.type == "th_open" and not _says(tokens[at + 1].children or ()):
            token.tag = tokens[at + 2].tag = "td"
        if at >= skipped:
            yield token


def _align(cell: "Token") -> None:
    """Say by a class how a cell is aligned: what may style a page stands in one place."""
    style = str(cell.attrs.pop("style", ""))
    if style:
        cell.attrs["class"] = style.removeprefix("text-align:")


def _with_named_links(children: Sequence["Token"]) -> Iterator["Token"]:
    """Yield tokens, and the address of each link in which there is nothing to see."""
    from markdown_it.token import Token

    opened = 0
    for at, token in enumerate(children):
        if token.type == "link_open":
            opened = at
        if token.type == "link_close" and not _says(children[opened:at]):
            yield Token("text", "", 0, content=str(children[opened].attrs["href"]))
        yield token


def _says(tokens: Iterable["Token"]) -> bool:
    return any(token.type in ("text", "code_inline", "image") and is_visible(token.content) for token in tokens)
