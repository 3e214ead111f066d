"""The first pages of a job. Each may lead to others."""

from collections.abc import Iterable

from chalicelib.features.research.models.identifiers import is_openalex_author, is_orcid
from chalicelib.kernel.storage.entity import Item


def import_steps(researcher_id: str) -> list[Item]:
    """Return the first pages of a researcher's works, none if no source can know the researcher."""
    if is_orcid(researcher_id):
        with_ = [researcher_id]
        works = {"of": "openalex", "filter": f"author.orcid:{researcher_id}", "with": with_}
        return [{"of": "orcid", "id": researcher_id}, works]
    return [{"of": "author", "id": researcher_id}] if is_openalex_author(researcher_id) else []


def backfill_steps(edition_id: str, tocs: Iterable[str]) -> list[Item]:
    """Return the first page of each volume of an edition."""
    return [{"of": "dblp", "toc": toc, "edition": edition_id} for toc in tocs]
