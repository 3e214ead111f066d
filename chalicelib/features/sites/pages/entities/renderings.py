"""The stored HTML of the blocks of a revision, compressed, with the version of the renderer that produced it.

It is stored in the partition of the blocks, and written and removed in the same transactions.
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
from chalicelib.kernel.storage.log_rules import DERIVED

_MAX_PART_BYTES: Final = 350_000
"""Maximum size of the HTML in one item. An item holds at most 400 KB."""

_COMPRESSION_LEVEL: Final = 4
"""A zlib level that is three times as fast as the highest one, and compresses almost as well."""

TOO_COMPLEX_HTML: Final = (
    '<p lang="en" dir="ltr">This page can\'t be shown: its content exceeds what one page can hold. Whoever edits it can'
    " divide it between several pages.</p>"
)
"""The HTML shown in place of blocks that exceed the limits of a page."""


class StoredRendering(Entity):
    """The blocks of a revision as HTML, with the id of the revision and the version of its content.

    `html` is compressed, and None if the blocks exceed the limits. It is the first of `parts` pieces; the others are in
    items of their own.
    """

    kind, log_rules, mac_exemption = "page.rendering", DERIVED, DERIVED.exemption
    pk, sk = "R#{page_id}", "H#{id}"

    organization_id: str
    page_id: str
    renderer: str
    html: bytes | None = None
    parts: int = 1

    @property
    def is_current(self) -> bool:
        """Whether the current renderer produced the HTML."""
        return self.renderer == RENDERER

    def load_html(self) -> str:
        """Return the HTML, or `TOO_COMPLEX_HTML`. Takes a read if there are further parts.

        Raises Problem `not_found` if the page is deleted concurrently.
        """
        if self.html is None:
            return TOO_COMPLEX_HTML
        keys = [_part_key(self.item_key, number) for number in range(1, self.parts)]
        items = table.get_all(keys) if keys else {}
        if len(items) < len(keys):
            raise not_found()
        return zlib.decompress(b"".join([self.html, *(items[key]["html"] for key in keys)])).decode()


class Rendering:
    """The blocks of a page, rendered at most once. `without_first` omits the first block, which repeats the title."""

    def __init__(self, blocks: Sequence[Mapping[str, Any]], *, without_first: bool) -> None:
        self._blocks, self._without_first = blocks, without_first

    @cached_property
    def html_or_error_object(self) -> str | TooComplex:
        """The HTML, or the exception that tells why there is none."""
        try:
            return content.render_blocks_to_safe_html(self._blocks, without_first=self._without_first)
        except TooComplex as error:
            return error

    @property
    def html_or_placeholder(self) -> str:
        """The HTML, or `TOO_COMPLEX_HTML`."""
        return TOO_COMPLEX_HTML if isinstance(self.html_or_error_object, TooComplex) else self.html_or_error_object

    def build_items(self, **record_fields: Any) -> Iterator[Item]:
        """Yield the items that store the HTML. `record_fields` are further fields of the first one."""
        compressed = (
            None
            if isinstance(self.html_or_error_object, TooComplex)
            else zlib.compress(self.html_or_error_object.encode(), _COMPRESSION_LEVEL)
        )
        parts = (
            [compressed[start : start + _MAX_PART_BYTES] for start in range(0, len(compressed), _MAX_PART_BYTES)]
            if compressed
            else [None]
        )
        first = StoredRendering(**record_fields, renderer=RENDERER, html=parts[0], parts=len(parts))
        yield first.item()
        for number, part in enumerate(parts[1:], 1):
            pk, sk = _part_key(first.item_key, number)
            yield {"pk": pk, "sk": sk, "html": part}


def _part_key(first_part_key: ItemKey, number: int) -> ItemKey:
    return first_part_key[0], f"{first_part_key[1]}#{number}"
