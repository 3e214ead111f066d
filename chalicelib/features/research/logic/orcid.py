"""Works at ORCID: what people say of themselves.

Its public API, version 3.0: https://info.orcid.org/documentation/api-tutorials/api-tutorial-read-data-on-a-record/ and
https://info.orcid.org/documentation/integration-guide/orcid-record/.
"""

from typing import Any, Final

from chalicelib.features.research.logic.sources import Page, Record, Unreadable, listed, orcid, said, within
from chalicelib.features.research.models.identifiers import identified
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.storage.entity import Item

TYPES: Final = {
    "journal-article": "article",
    "conference-paper": "conference-paper",
    "conference-abstract": "conference-paper",
    "conference-proceedings": "proceedings",
    "book": "book",
    "book-chapter": "chapter",
    "preprint": "preprint",
    "working-paper": "preprint",
    "dissertation": "thesis",
    "dissertation-thesis": "thesis",
    "report": "report",
    "data-set": "dataset",
    "software": "software",
}


def works(step: Item) -> Page:
    """Return all works of a record: one answer holds them. Raises what `Source.get` raises."""
    orcid_id = step["id"]
    groups = listed("ORCID", orcid().get(f"/v3.0/{orcid_id}/works"), "group")
    records, unreadable = [], []
    for group in groups:
        for summary in listed("ORCID", group, "work-summary", optional=True):
            try:
                records.append(_record(summary, orcid_id, step.get("with", [])))
            except Unreadable as why:
                unreadable.append(f"orcid {within(summary, 'put-code') or '?'} {why}")
    return Page(records, unreadable, [])


def _record(summary: Any, orcid_id: str, companions: list[str]) -> Record:
    put_code = within(summary, "put-code")
    if not isinstance(put_code, int | str) or not str(put_code).isdigit():
        raise Unreadable("has no put-code")
    content = said(
        title=within(summary, "title", "title", "value"),
        type_=TYPES.get(str(within(summary, "type")), "other"),
        year=within(summary, "publication-date", "year", "value"),
        venue=within(summary, "journal-title", "value"),
        identifiers=identified(**_own_ids(summary)),
        authors=[],
    )
    return Record("orcid", str(put_code), content, [orcid_id, *companions])


def _own_ids(summary: Any) -> dict[str, object]:
    """Return the ids of the work itself: others are those of what it is part of, or a version of."""
    found: dict[str, object] = {}
    ids = within(summary, "external-ids", "external-id")
    for each in ids if isinstance(ids, list) else []:
        if within(each, "external-id-relationship") == "self":
            value = within(each, "external-id-normalized", "value") or within(each, "external-id-value")
            found.setdefault(ascii_lower(str(within(each, "external-id-type"))), value)
    return {name: found.get(name) for name in ("doi", "arxiv", "pmid")}
