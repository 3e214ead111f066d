"""Authors and works at OpenAlex.

Its API: https://developers.openalex.org/guides/page-through-results (cursors), …/api-reference/errors (301 of what was
merged), …/api-reference/works and …/authors (their fields).
"""

from typing import Any, Final

from chalicelib.features.research.logic.source_client import Malformed
from chalicelib.features.research.logic.sources import (
    MOST_AUTHORS,
    Page,
    Record,
    Unreadable,
    author,
    listed,
    openalex,
    said,
    within,
)
from chalicelib.features.research.models.identifiers import arxiv_of, identified, is_openalex_author, is_orcid
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.storage.entity import Item

PAGE_SIZE: Final = 100
"""The most that its documentation allows."""

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
_FIRST: Final = "*"


def resolved(step: Item) -> Page:
    """Return where the works are of an author, who may have been merged with another. Raises what `get` raises."""
    found = openalex().get(f"/authors/{step['id']}", select="id,orcid")
    author_id, orcid_id = _key(within(found, "id")), str(within(found, "orcid") or "").rpartition("/")[2]
    if not is_openalex_author(author_id):
        raise Malformed("OpenAlex sent an author without an id.")
    ids = list(dict.fromkeys([author_id, step["id"]]))
    own = [orcid_id] if is_orcid(orcid_id) else []
    then: list[Item] = [{"of": "openalex", "filter": f"author.id:{author_id}", "with": [*ids, *own]}]
    then += [{"of": "orcid", "id": each, "with": ids, "optional": True} for each in own]
    return Page([], [], then)


def works(step: Item) -> Page:
    """Return a page of works, and the step to the next, if there is one. Raises what `Source.get` raises."""
    cursor = step.get("cursor", _FIRST)
    answer = openalex().get("/works", filter=step["filter"], select=_FIELDS, per_page=PAGE_SIZE, cursor=cursor)
    results, following = listed("OpenAlex", answer, "results"), within(answer, "meta", "next_cursor")
    records, unreadable = [], []
    for work in results:
        try:
            records.append(_record(work, step["with"]))
        except Unreadable as why:
            unreadable.append(f"openalex {_key(within(work, 'id')) or '?'} {why}")
    if following is not None and not isinstance(following, str):
        raise Malformed("OpenAlex sent a cursor that is none.")
    goes_on = bool(results) and bool(following) and following != cursor
    return Page(records, unreadable, [{**step, "cursor": following}] if goes_on else [])


def _record(work: Any, wanted: list[str]) -> Record:
    work_id = _key(within(work, "id"))
    if not (work_id.startswith("W") and work_id[1:].isdigit()):
        raise Unreadable("has no id")
    authorships = within(work, "authorships")
    persons = authorships if isinstance(authorships, list) else []
    locations = within(work, "locations")
    at_arxiv = (_at_arxiv(each) for each in (locations if isinstance(locations, list) else ()))
    identifiers = identified(
        doi=within(work, "doi") or within(work, "ids", "doi"),
        pmid=within(work, "ids", "pmid"),
        openalex=work_id,
        arxiv=next(filter(None, at_arxiv), None),
    )
    venue = within(work, "primary_location", "source")
    conference = within(venue, "type") == "conference"
    kind = TYPES.get(str(within(work, "type")), "other")
    content = said(
        title=within(work, "display_name") or within(work, "title"),
        type_="conference-paper" if conference and kind == "article" else kind,
        year=within(work, "publication_year"),
        venue=within(venue, "display_name"),
        identifiers=identifiers,
        authors=[_author(each) for each in persons[:MOST_AUTHORS]],
    )
    return Record("openalex", work_id, content, [*wanted, *_ids_of(persons, wanted)])


def _author(authorship: Any) -> dict[str, Any]:
    person = within(authorship, "author")
    return author(within(person, "display_name") or within(authorship, "raw_author_name"), within(person, "orcid"))


def _ids_of(persons: list[Any], wanted: list[str]) -> list[str]:
    """Return what else those authors are called by whom the works were asked for."""
    found: list[str] = []
    for each in persons:
        ids = [_key(within(each, "author", name)) for name in ("id", "orcid")]
        found += [one for one in ids if one] if set(ids) & set(wanted) else []
    return found


def _at_arxiv(location: Any) -> str | None:
    address = within(location, "landing_page_url")
    return arxiv_of(address) if isinstance(address, str) and "arxiv.org/" in ascii_lower(address) else None


def _key(address: Any) -> str:
    return address.rpartition("/")[2] if isinstance(address, str) else ""
