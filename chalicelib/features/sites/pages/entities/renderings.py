"""What is stored of a revision as people see it: its blocks as HTML, compressed, by the renderer that made it.

It stands beside the blocks, is written with them in one transaction, and goes with them.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from chalicelib.features.sites.rendering.logic import content
from chalicelib.features.sites.rendering.logic.limits import TooComplex
from chalicelib.features.sites.rendering.models.renderer_version import RENDERER
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey

_MAX_PART_BYTES: Final = 350_000
"""Of an item, which holds 400 KB."""

_COMPRESSION_LEVEL: Final = 4
"""Of compression: most of what can be had, in a third of the time."""

TOO_COMPLEX_HTML: Final = (
    '<p lang="en" dir="ltr">This page can\'t be shown: its content exceeds what one page can hold. Whoever edits it can'
    " divide it between several pages.</p>"
)
"""What is shown in place of blocks that exceed the limits of a page."""


class StoredRendering(Entity):
    """The blocks of a revision as HTML; it has the revision's id, and the version of its content.

    `html`: compressed; the rest of it is in further `parts`, if there are any. None if the blocks exceed the limits.
    """

    kind = "page.rendering"
    pk, sk = "R#{page_id}", "H#{id}"

    organization_id: str
    page_id: str
    renderer: str
    html: bytes | None = None
    parts: int = 1

    @property
    def is_current(self) -> bool:
        """Whether this renderer made it."""
        return self.renderer == RENDERER

    def load_html(self) -> str:
        """Return the HTML, or what is shown in place of it. What is in further parts takes a read.

        Raises Problem `not_found` if these go at this very moment, with their page.
        """
        if self.html is None:
            return TOO_COMPLEX_HTML
        keys = [_part_key(self.item_key, number) for number in range(1, self.parts)]
        found = table.get_all(keys) if keys else {}
        if len(found) < len(keys):
            raise not_found()
        return zlib.decompress(b"".join([self.html, *(found[key]["html"] for key in keys)])).decode()


class Rendering:
    """The blocks of a page, rendered at most once. `without_first`: whether the first repeats the page's title."""

    def __init__(self, blocks: Sequence[Mapping[str, Any]], *, without_first: bool) -> None:
        self._blocks, self._without_first = blocks, without_first

    @cached_property
    def result(self) -> str | TooComplex:
        """The HTML, or why there is none."""
        try:
            return content.render_blocks(self._blocks, without_first=self._without_first)
        except TooComplex as refused:
            return refused

    @property
    def html(self) -> str:
        """The HTML, or what is shown in place of it."""
        return TOO_COMPLEX_HTML if isinstance(self.result, TooComplex) else self.result

    def build_items(self, **record_fields: Any) -> Iterator[Item]:
        """Yield the items that hold it; `names`: what the first says beside."""
        packed = (
            None if isinstance(self.result, TooComplex) else zlib.compress(self.result.encode(), _COMPRESSION_LEVEL)
        )
        parts = (
            [packed[at : at + _MAX_PART_BYTES] for at in range(0, len(packed), _MAX_PART_BYTES)] if packed else [None]
        )
        first = StoredRendering(**record_fields, renderer=RENDERER, html=parts[0], parts=len(parts))
        yield first.item()
        for number, part in enumerate(parts[1:], 1):
            pk, sk = _part_key(first.item_key, number)
            yield {"pk": pk, "sk": sk, "html": part}


def _part_key(first_key: ItemKey, number: int) -> ItemKey:
    return first_key[0], f"{first_key[1]}#{number}"
