"""Markdown and code as HTML."""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from pygments import highlight as render_tokens
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True, classprefix="hl-")


def highlight(code: str, language: str) -> Markup:
    """Return code as HTML with a class for each kind of token, or plain if nothing can read the language."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return Markup.escape(code)
    html = render_tokens(code, lexer, _formatter()).rstrip("\n")
    return Markup(html)  # noqa: S704 - the formatter escapes the code  # nosec B704


def anchor_of_heading(text: str) -> str:
    """Return the anchor of a heading, as code hosts derive it."""
    return _NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-")


class Anchors:
    """The anchors of a page's headings. Each is unique: a number distinguishes headings with the same text."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def add(self, text: str) -> str:
        """Return the anchor of the next heading."""
        anchor = anchor_of_heading(text)
        self._counts[anchor] += 1
        return anchor if self._counts[anchor] == 1 else f"{anchor}-{self._counts[anchor] - 1}"


class MarkdownRenderer:
    """Converts Markdown to HTML. `rewrite_link` returns the target of a link, or None if the link is only text."""

    def __init__(self, rewrite_link: Callable[[str], str | None]) -> None:
        self._rewrite_link = rewrite_link
        self._parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight_block}).enable("table")

    def render(self, text: str) -> Markup:
        """Return the HTML of a text."""
        tokens = self._parser.parse(text)
        self._edit(tokens)
        html: str = self._parser.renderer.render(tokens, self._parser.options, {})
        wrapped = html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
        return Markup(wrapped)  # noqa: S704 - the parser escapes HTML  # nosec B704

    def render_inline(self, text: str) -> Markup:
        """Return the HTML of one line of text, without a paragraph."""
        return self.render(text).strip().removeprefix("<p>").removesuffix("</p>")

    def _edit(self, tokens: list[Token]) -> None:
        anchors = Anchors()
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            if token.type == "heading_open" and following:
                token.attrSet("id", anchors.add(plain_text(following)))
            if token.children:
                token.children = self._with_rewritten_links(token.children)

    def _with_rewritten_links(self, children: list[Token]) -> list[Token]:
        result, is_dropping = list[Token](), False
        for child in children:
            if child.type == "image":
                child.attrSet("src", self._rewrite_link(str(child.attrGet("src"))) or "")
            if child.type == "link_open":
                target = self._rewrite_link(str(child.attrGet("href")))
                is_dropping = target is None
                child.attrSet("href", target or "")
            if is_dropping and child.type in ("link_open", "link_close"):
                continue
            result.append(child)
        return result


def plain_text(inline: Token) -> str:
    """Return the text of an inline token, without markup."""
    return "".join(" " if child.type == "softbreak" else child.content for child in inline.children or ())


def _highlight_block(code: str, language: str, _attributes: str) -> str:
    return f"<pre><code>{highlight(code, language or 'text')}</code></pre>"
