"""Rendering of the blocks of a page. The result is stored with each revision."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chalicelib.features.sites.rendering.logic import markdown
from chalicelib.features.sites.rendering.logic.limits import Meter, TooComplex
from chalicelib.features.sites.rendering.logic.markdown import MarkdownWriter
from chalicelib.features.sites.rendering.logic.templates import get_template
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces, has_visible_character

if TYPE_CHECKING:
    from markdown_it.token import Token

Block = Mapping[str, Any]
_BlockPath = tuple[int | str, ...]

_BLOCK_STEPS: Final = 20
_SANITIZED_CHARACTERS_PER_STEP: Final = 16
"""Characters that the sanitizer processes in one step."""

_MAX_REPETITION: Final = 8
"""How many times longer than a title its Markdown can be, with each character as a reference such as `&#101;`."""


def render_blocks_to_safe_html(blocks: Sequence[Block], *, without_first: bool = False) -> str:
    """Return blocks as safe HTML, with headings in order and without empty elements.

    `without_first` omits the first block, because it repeats the page's title. Custom blocks are omitted, because only
    their authors' programs understand them. Raises TooComplex, with the path of the text, if the blocks exceed the
    limits of a page.
    """
    meter = Meter()
    blocks_to_show = _BlockRenderer(meter).with_markdown_as_unsanitized_html(blocks, without_first=without_first)
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
    return len(text) <= _MAX_REPETITION * len(title) and fold_case_accents_and_spaces(
        MarkdownWriter(Meter()).plain_text(text)
    ) == fold_case_accents_and_spaces(title)


class _BlockRenderer:
    """Renders the blocks of one page."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._writing = meter, MarkdownWriter(meter)

    def with_markdown_as_unsanitized_html(self, blocks: Sequence[Block], *, without_first: bool) -> list[Block]:
        """Return blocks with their Markdown as HTML."""
        parsed = self._parse_blocks(blocks, (), start_index=int(without_first))
        markdown.normalize_heading_levels(_iter_tokens(parsed))
        return self._with_tokens_as_unsanitized_html(parsed)

    def _parse_blocks(self, blocks: Sequence[Block], path: _BlockPath, start_index: int = 0) -> list[Block]:
        parsed = []
        for number, block in enumerate(blocks[start_index:], start_index):
            if block["type"] not in _PARSERS:
                continue
            with _adding_path_to_errors((*path, number)):
                self._meter.spend(_BLOCK_STEPS)
            result = _PARSERS[block["type"]](self, block, (*path, number))
            if result:
                parsed.append(result)
        return parsed

    def _with_tokens_as_unsanitized_html(self, blocks: Sequence[Block]) -> list[Block]:
        return [
            {
                **block,
                "html": self._writing.tokens_to_unsanitized_html(block.get("tokens", ())),
                "columns": [self._with_tokens_as_unsanitized_html(column) for column in block.get("columns", ())],
            }
            for block in blocks
        ]

    def parse_heading_block(self, block: Block, path: _BlockPath) -> Block:
        with _adding_path_to_errors((*path, "text")):
            tokens = self._writing.parse_heading(block["text"], block["level"])
        return {**block, "tokens": tokens} if tokens else {}

    def parse_text_block(self, block: Block, path: _BlockPath) -> Block:
        with _adding_path_to_errors((*path, "text")):
            tokens = self._writing.parse_document(block["text"])
        return {**block, "tokens": tokens} if tokens else {}

    def render_list_items(self, block: Block, path: _BlockPath) -> Block:
        lines = [self._render_line(item, (*path, "items", number)) for number, item in enumerate(block["items"])]
        return {**block, "lines": [line for line in lines if line]} if any(lines) else {}

    def render_quote_line(self, block: Block, path: _BlockPath) -> Block:
        line = self._render_line(block["text"], (*path, "text"))
        return {**block, "line": line} if line else {}

    def code_block_or_empty(self, block: Block, _path: _BlockPath) -> Block:
        return block if has_visible_character(block["text"]) else {}

    def with_embed_host(self, block: Block, _path: _BlockPath) -> Block:
        return {**block, "host": urlsplit(block["url"]).hostname}

    def with_url_as_empty_button_label(self, block: Block, _path: _BlockPath) -> Block:
        return block if has_visible_character(block["label"]) else {**block, "label": block["url"]}

    def parse_column_blocks(self, block: Block, path: _BlockPath) -> Block:
        columns = [
            self._parse_blocks(column, (*path, "columns", number)) for number, column in enumerate(block["columns"])
        ]
        return {**block, "columns": columns}

    def unchanged_block(self, block: Block, _path: _BlockPath) -> Block:
        return block

    def _render_line(self, text: str, path: _BlockPath) -> str:
        with _adding_path_to_errors(path):
            return self._writing.line_to_unsanitized_html(text)


@contextmanager
def _adding_path_to_errors(path: _BlockPath) -> Iterator[None]:
    """Add the path to a TooComplex that is raised inside."""
    try:
        yield
    except TooComplex as error:
        error.path = path
        raise


def _iter_tokens(blocks: Sequence[Block]) -> Iterator["Token"]:
    """Yield the tokens of all Markdown that can contain headings, in reading order."""
    for block in blocks:
        yield from block.get("tokens", ())
        for column in block.get("columns", ()):
            yield from _iter_tokens(column)


_PARSERS: Final[Mapping[str, Callable[[_BlockRenderer, Block, _BlockPath], Block]]] = {
    "heading": _BlockRenderer.parse_heading_block,
    "text": _BlockRenderer.parse_text_block,
    "list": _BlockRenderer.render_list_items,
    "quote": _BlockRenderer.render_quote_line,
    "code": _BlockRenderer.code_block_or_empty,
    "image": _BlockRenderer.unchanged_block,
    "embed": _BlockRenderer.with_embed_host,
    "button": _BlockRenderer.with_url_as_empty_button_label,
    "divider": _BlockRenderer.unchanged_block,
    "columns": _BlockRenderer.parse_column_blocks,
}
