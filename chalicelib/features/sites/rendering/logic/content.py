"""The blocks of a page as HTML: what is stored of each revision, and put into the page of whoever asks for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chalicelib.features.sites.rendering.logic import markdown
from chalicelib.features.sites.rendering.logic.limits import Meter, TooComplex
from chalicelib.features.sites.rendering.logic.markdown import Writing
from chalicelib.features.sites.rendering.logic.templates import template
from chalicelib.kernel.http.fields import fold_text, is_visible

if TYPE_CHECKING:
    from markdown_it.token import Token

Block = Mapping[str, Any]
_Place = tuple[int | str, ...]

_BLOCK_STEPS: Final = 20
_SANITISED_A_STEP: Final = 16
"""Characters."""

_MAX_REPETITION: Final = 8
"""How many times as long as a title the Markdown can be that says it, with each character by its number: `&#101;`."""


def rendered(blocks: Sequence[Block], *, without_first: bool = False) -> str:
    """Return blocks as HTML that can do no harm: under headings in order, without those that say nothing.

    `without_first`: whether the first is left out, because it repeats the page's title. Nothing is shown of custom
    blocks, since what they mean only their writer's programs know. Raises TooComplex if they exceed the limits of a
    page; its path says which text among the blocks did.
    """
    meter = Meter()
    read = _Reader(meter).shown(blocks, without_first=without_first)
    written = template("blocks.html.jinja").render(blocks=read)
    meter.spend(len(written) // _SANITISED_A_STEP)
    html = markdown.sanitised(written)
    Meter().add_html(len(html.encode()))
    return html


def repeats(blocks: Sequence[Block], title: str) -> bool:
    """Return whether the first block is a heading that repeats the title of the page, which has that already."""
    if not blocks or blocks[0]["type"] != "heading" or blocks[0]["level"] != 1:
        return False
    text = str(blocks[0]["text"])
    return len(text) <= _MAX_REPETITION * len(title) and fold_text(Writing(Meter()).words(text)) == fold_text(title)


class _Reader:
    """What reads the blocks of one page."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._writing = meter, Writing(meter)

    def shown(self, blocks: Sequence[Block], *, without_first: bool) -> list[Block]:
        """Return blocks with their Markdown as HTML."""
        found = self._read(blocks, (), begin=int(without_first))
        markdown.put_in_order(_tokens(found))
        return self._written(found)

    def _read(self, blocks: Sequence[Block], place: _Place, begin: int = 0) -> list[Block]:
        read = []
        for number, block in enumerate(blocks[begin:], begin):
            if block["type"] not in _READERS:
                continue
            with _at((*place, number)):
                self._meter.spend(_BLOCK_STEPS)
            found = _READERS[block["type"]](self, block, (*place, number))
            if found:
                read.append(found)
        return read

    def _written(self, blocks: Sequence[Block]) -> list[Block]:
        return [
            {
                **block,
                "html": self._writing.html(block.get("tokens", ())),
                "columns": [self._written(column) for column in block.get("columns", ())],
            }
            for block in blocks
        ]

    def heading(self, block: Block, place: _Place) -> Block:
        with _at((*place, "text")):
            tokens = self._writing.heading(block["text"], block["level"])
        return {**block, "tokens": tokens} if tokens else {}

    def text(self, block: Block, place: _Place) -> Block:
        with _at((*place, "text")):
            tokens = self._writing.document(block["text"])
        return {**block, "tokens": tokens} if tokens else {}

    def list_(self, block: Block, place: _Place) -> Block:
        lines = [self._line(item, (*place, "items", number)) for number, item in enumerate(block["items"])]
        return {**block, "lines": [line for line in lines if line]} if any(lines) else {}

    def quote(self, block: Block, place: _Place) -> Block:
        line = self._line(block["text"], (*place, "text"))
        return {**block, "line": line} if line else {}

    def code(self, block: Block, _place: _Place) -> Block:
        return block if is_visible(block["text"]) else {}

    def embed(self, block: Block, _place: _Place) -> Block:
        return {**block, "host": urlsplit(block["url"]).hostname}

    def button(self, block: Block, _place: _Place) -> Block:
        return block if is_visible(block["label"]) else {**block, "label": block["url"]}

    def columns(self, block: Block, place: _Place) -> Block:
        read = [self._read(column, (*place, "columns", number)) for number, column in enumerate(block["columns"])]
        return {**block, "columns": read}

    def as_it_is(self, block: Block, _place: _Place) -> Block:
        return block

    def _line(self, text: str, place: _Place) -> str:
        with _at(place):
            return self._writing.line(text)


@contextmanager
def _at(place: _Place) -> Iterator[None]:
    """Let what is too complex in here say where it stands."""
    try:
        yield
    except TooComplex as refused:
        refused.path = place
        raise


def _tokens(blocks: Sequence[Block]) -> Iterator["Token"]:
    """Yield the tokens of all Markdown in which headings can stand, in the order of reading."""
    for block in blocks:
        yield from block.get("tokens", ())
        for column in block.get("columns", ()):
            yield from _tokens(column)


_READERS: Final[Mapping[str, Callable[[_Reader, Block, _Place], Block]]] = {
    "heading": _Reader.heading,
    "text": _Reader.text,
    "list": _Reader.list_,
    "quote": _Reader.quote,
    "code": _Reader.code,
    "image": _Reader.as_it_is,
    "embed": _Reader.embed,
    "button": _Reader.button,
    "divider": _Reader.as_it_is,
    "columns": _Reader.columns,
}
