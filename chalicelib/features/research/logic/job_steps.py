"""The first steps of jobs. A step describes a page to fetch, which may lead to further steps."""

from collections.abc import Iterable

from chalicelib.features.research.models.identifiers import is_openalex_author_id, is_orcid
from chalicelib.kernel.storage.entity import Item


def first_import_steps(researcher_id: str) -> list[Item]:
    """Return the first steps of the import of a researcher, or an empty list if no source can know the researcher."""
    if is_orcid(researcher_id):
        openalex_step = {"of": "openalex", "filter": f"author.orcid:{researcher_id}", "with": [researcher_id]}
        return [{"of": "orcid", "id": researcher_id}, openalex_step]
    return [{"of": "author", "id": researcher_id}] if is_openalex_author_id(researcher_id) else []


def first_backfill_steps(edition_id: str, table_of_contents_keys: Iterable[str]) -> list[Item]:
    """Return the first step for each volume of an edition, given the keys of its tables of contents at DBLP."""
    return [{"of": "dblp", "toc": toc, "edition": edition_id} for toc in table_of_contents_keys]
