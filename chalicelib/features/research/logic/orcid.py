"""Fetch the works in ORCID records, which people maintain themselves.

Public API, version 3.0: https://info.orcid.org/documentation/api-tutorials/api-tutorial-read-data-on-a-record/ and
https://info.orcid.org/documentation/integration-guide/orcid-record/.
"""

from typing import Any, Final

from chalicelib.features.research.logic.sources import (
    SourcePage,
    SourceRecord,
    UnreadableRecord,
    build_titled_record_content,
    list_at_path,
    orcid_source,
    value_at_path,
)
from chalicelib.features.research.models.identifiers import normalize_identifiers
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


def fetch_all_works(step: Item) -> SourcePage:
    """Return all works in an ORCID record, which are in one response. Raises what `Source.get` raises."""
    orcid_id = step["id"]
    groups = list_at_path("ORCID", orcid_source().get(f"/v3.0/{orcid_id}/works"), "group")
    records, unreadable = [], []
    for group in groups:
        for summary in list_at_path("ORCID", group, "work-summary", optional=True):
            try:
                records.append(_parse_record_or_raise_unreadable(summary, orcid_id, step.get("with", [])))
            except UnreadableRecord as error:
                unreadable.append(f"orcid {value_at_path(summary, 'put-code') or '?'} {error}")
    return SourcePage(records, unreadable, [])


def _parse_record_or_raise_unreadable(summary: Any, orcid_id: str, other_ids: list[str]) -> SourceRecord:
    put_code = value_at_path(summary, "put-code")
    if not isinstance(put_code, int | str) or not str(put_code).isdigit():
        raise UnreadableRecord("has no put-code")
    content = build_titled_record_content(
        title=value_at_path(summary, "title", "title", "value"),
        type_=TYPES.get(str(value_at_path(summary, "type")), "other"),
        year=value_at_path(summary, "publication-date", "year", "value"),
        venue=value_at_path(summary, "journal-title", "value"),
        identifiers=normalize_identifiers(**_work_identifiers(summary)),
        authors=[],
    )
    return SourceRecord("orcid", str(put_code), content, [orcid_id, *other_ids])


def _work_identifiers(summary: Any) -> dict[str, object]:
    """Return the identifiers of the work itself, without those of related works."""
    identifiers: dict[str, object] = {}
    ids = value_at_path(summary, "external-ids", "external-id")
    for each in ids if isinstance(ids, list) else []:
        if value_at_path(each, "external-id-relationship") == "self":
            value = value_at_path(each, "external-id-normalized", "value") or value_at_path(each, "external-id-value")
            identifiers.setdefault(ascii_lower(str(value_at_path(each, "external-id-type"))), value)
    return {name: identifiers.get(name) for name in ("doi", "arxiv", "pmid")}
