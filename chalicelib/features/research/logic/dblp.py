"""What the DBLP computer science bibliography has of an edition.

Its search of publications: https://dblp.org/faq/13501473 (parameters), with `toc:` of a table of contents.
"""

import html
import re
from typing import Any, Final

from chalicelib.features.research.logic.source_client import Malformed
from chalicelib.features.research.logic.sources import (
    MOST_AUTHORS,
    Page,
    Record,
    Unreadable,
    author,
    dblp,
    listed,
    said,
    within,
)
from chalicelib.features.research.models.identifiers import identified
from chalicelib.kernel.storage.entity import Item

PAGE_SIZE: Final = 500
"""Of at most 1,000: an answer of so many takes DBLP a while already."""

TYPES: Final = {
    "Conference and Workshop Papers": "conference-paper",
    "Journal Articles": "article",
    "Informal and Other Publications": "preprint",
    "Informal Publications": "preprint",
    "Parts in Books or Collections": "chapter",
    "Books and Theses": "book",
    "Data and Artifacts": "dataset",
}

_FRONT_MATTER: Final = "Editorship"
_HOMONYM: Final = re.compile(r" \d{4}$")
"""What tells people of one name apart at DBLP."""


def contents(step: Item) -> Page:
    """Return a page of a table of contents, and the step to the next, if there is one. Raises what `get` raises."""
    first = int(step.get("first", 0))
    answer = dblp().get("/search/publ/api", q=f"toc:{step['toc']}.bht:", format="json", h=PAGE_SIZE, f=first, c=0)
    hits = within(answer, "result", "hits")
    found = listed("DBLP", hits, "hit", optional=True)
    try:
        total = int(within(hits, "@total"))
    except (TypeError, ValueError):
        raise Malformed("DBLP sent no number of hits.") from None
    records, unreadable = [], []
    for hit in found:
        info = within(hit, "info")
        if within(info, "type") == _FRONT_MATTER:
            continue
        try:
            records.append(_record(info, step["edition"]))
        except Unreadable as why:
            unreadable.append(f"dblp {within(info, 'key') or '?'} {why}")
    following = first + len(found)
    return Page(records, unreadable, [{**step, "first": following}] if found and following < total else [])


def _record(info: Any, edition_id: str) -> Record:
    key = within(info, "key")
    if not (isinstance(key, str) and key):
        raise Unreadable("has no key")
    addresses = within(info, "ee")
    arxiv = [
        str(each) for each in (addresses if isinstance(addresses, list) else [addresses]) if "arxiv.org/" in str(each)
    ]
    content = said(
        title=_plain(within(info, "title")).removesuffix("."),
        year=within(info, "year"),
        type_=TYPES.get(str(within(info, "type")), "other"),
        venue=_first(within(info, "venue")),
        identifiers=identified(doi=within(info, "doi"), arxiv=arxiv[0] if arxiv else None, dblp=key),
        authors=[author(_name(each)) for each in _several(within(info, "authors", "author"))[:MOST_AUTHORS]],
    )
    return Record("dblp", key, content, edition_id=edition_id)


def _several(value: Any) -> list[Any]:
    """Return a list, be it one that DBLP leaves out around a single element."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _first(value: Any) -> Any:
    return next(iter(_several(value)), None)


def _name(value: Any) -> str:
    return _HOMONYM.sub("", _plain(within(value, "text") if isinstance(value, dict) else value))


def _plain(value: Any) -> str:
    return html.unescape(value) if isinstance(value, str) else ""
