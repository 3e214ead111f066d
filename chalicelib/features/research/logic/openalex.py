"""Fetch authors and works from OpenAlex.

API documentation: https://developers.openalex.org/guides/page-through-results (cursors), …/api-reference/errors (301
for merged records), …/api-reference/works and …/authors (fields).
"""

from typing import Any, Final

from chalicelib.features.research.logic.source_client import InvalidResponse
from chalicelib.features.research.logic.sources import (
    MAX_AUTHORS,
    SourcePage,
    SourceRecord,
    UnreadableRecord,
    build_named_author,
    build_titled_record_content,
    list_at_path,
    openalex_source,
    value_at_path,
)
from chalicelib.features.research.models.identifiers import (
    is_openalex_author_id,
    is_orcid,
    normalize_arxiv_id_or_none,
    normalize_identifiers,
)
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.storage.entity import Item

PAGE_SIZE: Final = 100
"""Works per page, the maximum that the documentation allows."""

TYPES: Final = {
    "article": "article",
    "review": "article",
    "letter": "article",
    "editorial": "article",
    "book": "book",
    "book-chapter": "chapter",
    "preprint": "preprint",
    "dissertation": "thesis",
    "report": "report",
    "dataset": "dataset",
    "software": "software",
}

_FIELDS: Final = "id,doi,display_name,publication_year,type,ids,primary_location,locations,authorships"
_FIRST_CURSOR: Final = "*"


def fetch_author_and_build_steps(step: Item) -> SourcePage:
    """Return the steps for the works of an author, who may have been merged with another.

    Raises what `Source.get` raises.
    """
    response = openalex_source().get(f"/authors/{step['id']}", select="id,orcid")
    author_id, orcid_id = (
        _last_url_segment_or_empty(value_at_path(response, "id")),
        str(value_at_path(response, "orcid") or "").rpartition("/")[2],
    )
    if not is_openalex_author_id(author_id):
        raise InvalidResponse("OpenAlex sent an author without an id.")
    ids = list(dict.fromkeys([author_id, step["id"]]))
    orcid_ids = [orcid_id] if is_orcid(orcid_id) else []
    next_steps: list[Item] = [{"of": "openalex", "filter": f"author.id:{author_id}", "with": [*ids, *orcid_ids]}]
    next_steps += [{"of": "orcid", "id": each, "with": ids, "optional": True} for each in orcid_ids]
    return SourcePage([], [], next_steps)


def fetch_works_page(step: Item) -> SourcePage:
    """Return a page of works and the step for the next page, if any. Raises what `Source.get` raises."""
    cursor = step.get("cursor", _FIRST_CURSOR)
    response = openalex_source().get("/works", filter=step["filter"], select=_FIELDS, per_page=PAGE_SIZE, cursor=cursor)
    results, next_cursor = list_at_path("OpenAlex", response, "results"), value_at_path(response, "meta", "next_cursor")
    records, unreadable = [], []
    for work in results:
        try:
            records.append(_parse_record_or_raise_unreadable(work, step["with"]))
        except UnreadableRecord as error:
            unreadable.append(f"openalex {_last_url_segment_or_empty(value_at_path(work, 'id')) or '?'} {error}")
    if next_cursor is not None and not isinstance(next_cursor, str):
        raise InvalidResponse("OpenAlex sent an invalid cursor.")
    has_more = bool(results) and bool(next_cursor) and next_cursor != cursor
    return SourcePage(records, unreadable, [{**step, "cursor": next_cursor}] if has_more else [])


def _parse_record_or_raise_unreadable(work: Any, researcher_ids: list[str]) -> SourceRecord:
    work_id = _last_url_segment_or_empty(value_at_path(work, "id"))
    if not (work_id.startswith("W") and work_id[1:].isdigit()):
        raise UnreadableRecord("has no id")
    authorships = value_at_path(work, "authorships")
    persons = authorships if isinstance(authorships, list) else []
    locations = value_at_path(work, "locations")
    arxiv_ids = (_arxiv_id(each) for each in (locations if isinstance(locations, list) else ()))
    identifiers = normalize_identifiers(
        doi=value_at_path(work, "doi") or value_at_path(work, "ids", "doi"),
        pmid=value_at_path(work, "ids", "pmid"),
        openalex=work_id,
        arxiv=next(filter(None, arxiv_ids), None),
    )
    venue = value_at_path(work, "primary_location", "source")
    is_conference = value_at_path(venue, "type") == "conference"
    work_type = TYPES.get(str(value_at_path(work, "type")), "other")
    content = build_titled_record_content(
        title=value_at_path(work, "display_name") or value_at_path(work, "title"),
        type_="conference-paper" if is_conference and work_type == "article" else work_type,
        year=value_at_path(work, "publication_year"),
        venue=value_at_path(venue, "display_name"),
        identifiers=identifiers,
        authors=[_parse_author(each) for each in persons[:MAX_AUTHORS]],
    )
    return SourceRecord(
        "openalex", work_id, content, [*researcher_ids, *_all_ids_of_requested_authors(persons, researcher_ids)]
    )


def _parse_author(authorship: Any) -> dict[str, Any]:
    person = value_at_path(authorship, "author")
    return build_named_author(
        value_at_path(person, "display_name") or value_at_path(authorship, "raw_author_name"),
        value_at_path(person, "orcid"),
    )


def _all_ids_of_requested_authors(authorships: list[Any], requested_ids: list[str]) -> list[str]:
    """Return all ids of those authors of a work whose works were requested."""
    author_ids: list[str] = []
    for each in authorships:
        ids = [_last_url_segment_or_empty(value_at_path(each, "author", name)) for name in ("id", "orcid")]
        author_ids += [author_id for author_id in ids if author_id] if set(ids) & set(requested_ids) else []
    return author_ids


def _arxiv_id(location: Any) -> str | None:
    url = value_at_path(location, "landing_page_url")
    return normalize_arxiv_id_or_none(url) if isinstance(url, str) and "arxiv.org/" in ascii_lower(url) else None


def _last_url_segment_or_empty(url: Any) -> str:
    return url.rpartition("/")[2] if isinstance(url, str) else ""
