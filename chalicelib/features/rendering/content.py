"""The blocks of a page as its template shows them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chalicelib.features.rendering import markup
from chalicelib.kernel.fields import folded, is_visible

if TYPE_CHECKING:
    from markdown_it.token import Token

Block = Mapping[str, Any]


def shown(blocks: Sequence[Block], title: str) -> list[Block]:
    """Return blocks with their Markdown as HTML, under headings in order, without those that say nothing.

    A first heading that repeats the page's title is left out: the page has that already. Nothing is shown of custom
    blocks, since what they mean only their writer's programs know.
    """
    found = _read(blocks[1:] if blocks and _repeats(blocks[0], title) else blocks)
    markup.put_in_order(_tokens(found))
    return _written(found)


def _repeats(block: Block, title: str) -> bool:
    is_title = block["type"] == "heading" and block["level"] == 1
    return is_title and folded(markup.words(block["text"])) == folded(title)


def _read(blocks: Sequence[Block]) -> list[Block]:
    read = (_READERS[block["type"]](block) for block in blocks if block["type"] in _READERS)
    return [block for block in read if block]


def _tokens(blocks: Sequence[Block]) -> Iterator["Token"]:
    """Yield the tokens of all Markdown in which headings can stand, in the order of reading."""
    for block in blocks:
        yield from block.get("tokens", ())
        for column in block.get("columns", ()):
            yield from _tokens(column)


def _written(blocks: Sequence[Block]) -> list[Block]:
    return [
        {
            **block,
            "html": markup.html(block.get("tokens", ())),
            "columns": [_written(column) for column in block.get("columns", ())],
        }
        for block in blocks
    ]


def _heading(block: Block) -> Block:
    tokens = markup.heading(block["text"], block["level"])
    return {**block, "tokens": tokens} if tokens else {}


def _text(block: Block) -> Block:
    tokens = markup.document(block["text"])
    return {**block, "tokens": tokens} if tokens else {}


def _list(block: Block) -> Block:
    items = [line for item in block["items"] if (line := markup.line(item))]
    return {**block, "lines": items} if items else {}


def _quote(block: Block) -> Block:
    line = markup.line(block["text"])
    return {**block, "line": line} if line else {}


def _code(block: Block) -> Block:
    return block if is_visible(block["text"]) else {}


def _embed(block: Block) -> Block:
    return {**block, "host": urlsplit(block["url"]).hostname}


def _button(block: Block) -> Block:
    return block if is_visible(block["label"]) else {**block, "label": block["url"]}


def _columns(block: Block) -> Block:
    return {**block, "columns": [_read(column) for column in block["columns"]]}


def _as_it_is(block: Block) -> Block:
    return block


_READERS: Final[Mapping[str, Callable[[Block], Block]]] = {
    "heading": _heading, "text": _text, "list": _list, "quote": _quote, "code": _code, "image": _as_it_is,
    "embed": _embed, "button": _button, "divider": _as_it_is, "columns": _columns,
}  # fmt: skip
