"""Rendering of the blocks of a page. The result is stored with each revision."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chalicelib.features.sites.rendering.logic import markdown
from chalicelib.features.sites.rendering.logic.limits import Meter, TooComplex
from chalicelib.features.sites.rendering.logic.markdown import MarkdownWriter
from chalicelib.features.sites.rendering.logic.templates import get_template
from chalicelib.kernel.http.fields import fold_text, is_visible

if TYPE_CHECKING:
    from markdown_it.token import Token

Block = Mapping[str, Any]
_BlockPath = tuple[int | str, ...]

_BLOCK_STEPS: Final = 20
_SANITIZED_CHARACTERS_PER_STEP: Final = 16
"""Characters that the sanitizer processes in one step."""

_MAX_REPETITION: Final = 8
"""How many times longer than a title its Markdown can be, with each character as a reference such as `&#101;`."""


def render_blocks(blocks: Sequence[Block], *, without_first: bool = False) -> str:
    """Return blocks as safe HTML, with headings in order and without empty elements.

    `without_first` omits the first block, because it repeats the page's title. Custom blocks are omitted, because only
    their authors' programs understand them. Raises TooComplex, with the path of the text, if the blocks exceed the
    limits of a page.
    """
    meter = Meter()
    blocks_to_show = _BlockRenderer(meter).render(blocks, without_first=without_first)
    rendered = get_template("blocks.html.jinja").render(blocks=blocks_to_show)
    meter.spend(len(rendered) // _SANITIZED_CHARACTERS_PER_STEP)
    html = markdown.sanitize_html(rendered)
    Meter().add_html(len(html.encode()))
    return html


def repeats_title(blocks: Sequence[Block], title: str) -> bool:
    """Return whether the first block is a heading that repeats the title of the page."""
    if not blocks or blocks[0]["type"] != "heading" or blocks[0]["level"] != 1:
        return False
    text = str(blocks[0]["text"])
    return len(text) <= _MAX_REPETITION * len(title) and fold_text(
        MarkdownWriter(Meter()).plain_text(text)
    ) == fold_text(title)


class _BlockRenderer:
    """Renders the blocks of one page."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._writing = meter, MarkdownWriter(meter)

    def render(self, blocks: Sequence[Block], *, without_first: bool) -> list[Block]:
        """Return blocks with their Markdown as HTML."""
        parsed = self._parse(blocks, (), begin=int(without_first))
        markdown.normalize_heading_levels(_tokens(parsed))
        return self._to_html(parsed)

    def _parse(self, blocks: Sequence[Block], place: _BlockPath, begin: int = 0) -> list[Block]:
        parsed = []
        for number, block in enumerate(blocks[begin:], begin):
            if block["type"] not in _PARSERS:
                continue
            with _error_path((*place, number)):
                self._meter.spend(_BLOCK_STEPS)
            result = _PARSERS[block["type"]](self, block, (*place, number))
            if result:
                parsed.append(result)
        return parsed

    def _to_html(self, blocks: Sequence[Block]) -> list[Block]:
        return [
            {
                **block,
                "html": self._writing.to_html(block.get("tokens", ())),
                "columns": [self._to_html(column) for column in block.get("columns", ())],
            }
            for block in blocks
        ]

    def heading(self, block: Block, place: _BlockPath) -> Block:
        with _error_path((*place, "text")):
            tokens = self._writing.parse_heading(block["text"], block["level"])
        return {**block, "tokens": tokens} if tokens else {}

    def text(self, block: Block, place: _BlockPath) -> Block:
        with _error_path((*place, "text")):
            tokens = self._writing.parse_document(block["text"])
        return {**block, "tokens": tokens} if tokens else {}

    def list_(self, block: Block, place: _BlockPath) -> Block:
        lines = [self._line(item, (*place, "items", number)) for number, item in enumerate(block["items"])]
        return {**block, "lines": [line for line in lines if line]} if any(lines) else {}

    def quote(self, block: Block, place: _BlockPath) -> Block:
        line = self._line(block["text"], (*place, "text"))
        return {**block, "line": line} if line else {}

    def code(self, block: Block, _place: _BlockPath) -> Block:
        return block if is_visible(block["text"]) else {}

    def embed(self, block: Block, _place: _BlockPath) -> Block:
        return {**block, "host": urlsplit(block["url"]).hostname}

    def button(self, block: Block, _place: _BlockPath) -> Block:
        return block if is_visible(block["label"]) else {**block, "label": block["url"]}

    def columns(self, block: Block, place: _BlockPath) -> Block:
        columns = [self._parse(column, (*place, "columns", number)) for number, column in enumerate(block["columns"])]
        return {**block, "columns": columns}

    def unchanged(self, block: Block, _place: _BlockPath) -> Block:
        return block

    def _line(self, text: str, place: _BlockPath) -> str:
        with _error_path(place):
            return self._writing.render_line(text)


@contextmanager
def _error_path(place: _BlockPath) -> Iterator[None]:
    """Add the path to a TooComplex that is raised inside."""
    try:
        yield
    except TooComplex as error:
        error.path = place
        raise


def _tokens(blocks: Sequence[Block]) -> Iterator["Token"]:
    """Yield the tokens of all Markdown that can contain headings, in reading order."""
    for block in blocks:
        yield from block.get("tokens", ())
        for column in block.get("columns", ()):
            yield from _tokens(column)


_PARSERS: Final[Mapping[str, Callable[[_BlockRenderer, Block, _BlockPath], Block]]] = {
    "heading": _BlockRenderer.heading,
    "text": _BlockRenderer.text,
    "list": _BlockRenderer.list_,
    "quote": _BlockRenderer.quote,
    "code": _BlockRenderer.code,
    "image": _BlockRenderer.unchanged,
    "embed": _BlockRenderer.embed,
    "button": _BlockRenderer.button,
    "divider": _BlockRenderer.unchanged,
    "columns": _BlockRenderer.columns,
}
