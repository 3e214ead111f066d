"""Fetch the records of an edition of a venue from the DBLP computer science bibliography.

It uses the publication search API (https://dblp.org/faq/13501473), with `toc:` and the key of a table of contents.
"""

import html
import re
from typing import Any, Final

from chalicelib.features.research.logic.source_client import InvalidResponse
from chalicelib.features.research.logic.sources import (
    MAX_AUTHORS,
    SourcePage,
    SourceRecord,
    UnreadableRecord,
    build_named_author,
    build_titled_record_content,
    dblp_source,
    list_at_path,
    value_at_path,
)
from chalicelib.features.research.models.identifiers import normalize_identifiers
from chalicelib.kernel.storage.entity import Item

PAGE_SIZE: Final = 500
"""Records per page. DBLP allows 1,000, but is slow with so many."""

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
_HOMONYM_SUFFIX: Final = re.compile(r" \d{4}$")
"""The number with which DBLP distinguishes people of the same name."""


def fetch_contents_page(step: Item) -> SourcePage:
    """Return a page of a table of contents and the step for the next page, if any. Raises what `Source.get` raises."""
    offset = int(step.get("first", 0))
    response = dblp_source().get(
        "/search/publ/api", q=f"toc:{step['toc']}.bht:", format="json", h=PAGE_SIZE, f=offset, c=0
    )
    hits = value_at_path(response, "result", "hits")
    hit_list = list_at_path("DBLP", hits, "hit", optional=True)
    try:
        total = int(value_at_path(hits, "@total"))
    except (TypeError, ValueError):
        raise InvalidResponse("DBLP sent no number of hits.") from None
    records, unreadable = [], []
    for hit in hit_list:
        info = value_at_path(hit, "info")
        if value_at_path(info, "type") == _FRONT_MATTER:
            continue
        try:
            records.append(_parse_record_or_raise_unreadable(info, step["edition"]))
        except UnreadableRecord as error:
            unreadable.append(f"dblp {value_at_path(info, 'key') or '?'} {error}")
    next_offset = offset + len(hit_list)
    return SourcePage(records, unreadable, [{**step, "first": next_offset}] if hit_list and next_offset < total else [])


def _parse_record_or_raise_unreadable(info: Any, edition_id: str) -> SourceRecord:
    key = value_at_path(info, "key")
    if not (isinstance(key, str) and key):
        raise UnreadableRecord("has no key")
    urls = value_at_path(info, "ee")
    arxiv_urls = [str(each) for each in (urls if isinstance(urls, list) else [urls]) if "arxiv.org/" in str(each)]
    content = build_titled_record_content(
        title=_unescape_html_or_empty(value_at_path(info, "title")).removesuffix("."),
        year=value_at_path(info, "year"),
        type_=TYPES.get(str(value_at_path(info, "type")), "other"),
        venue=_first_of(value_at_path(info, "venue")),
        identifiers=normalize_identifiers(
            doi=value_at_path(info, "doi"), arxiv=arxiv_urls[0] if arxiv_urls else None, dblp=key
        ),
        authors=[
            build_named_author(_author_name(each))
            for each in _as_list(value_at_path(info, "authors", "author"))[:MAX_AUTHORS]
        ],
    )
    return SourceRecord("dblp", key, content, edition_id=edition_id)


def _as_list(value: Any) -> list[Any]:
    """Return a value as a list. DBLP omits the list around a single element."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _first_of(value: Any) -> Any:
    return next(iter(_as_list(value)), None)


def _author_name(value: Any) -> str:
    return _HOMONYM_SUFFIX.sub(
        "", _unescape_html_or_empty(value_at_path(value, "text") if isinstance(value, dict) else value)
    )


def _unescape_html_or_empty(value: Any) -> str:
    return html.unescape(value) if isinstance(value, str) else ""
