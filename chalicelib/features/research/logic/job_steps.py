"""The pages that a job begins with; each may lead to others."""

from collections.abc import Iterable

from chalicelib.features.research.models.identifiers import is_openalex_author, is_orcid
from chalicelib.kernel.storage.entity import Item


def to_import(researcher_id: str) -> list[Item]:
    """Return the first pages of a researcher's works; none if they can't be known to any source."""
    if is_orcid(researcher_id):
        with_ = [researcher_id]
        works = {"of": "openalex", "filter": f"author.orcid:{researcher_id}", "with": with_}
        return [{"of": "orcid", "id": researcher_id}, works]
    return [{"of": "author", "id": researcher_id}] if is_openalex_author(researcher_id) else []


def to_backfill(edition_id: str, tocs: Iterable[str]) -> list[Item]:
    """Return the first page of each volume of an edition."""
    return [{"of": "dblp", "toc": toc, "edition": edition_id} for toc in tocs]
