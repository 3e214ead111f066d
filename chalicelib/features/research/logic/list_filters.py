"""Where in a library it stands what passes a filter: of several, the one that fewest pass."""

from chalicelib.features.research.entities import Artefact, ResearchOutput, researcher_key
from chalicelib.features.research.logic.visibility import Listed
from chalicelib.features.research.models.schemas import ArtefactsQuery, OutputsQuery


def artefacts_by(query: ArtefactsQuery) -> Listed:
    """Return where artefacts stand that pass all filters."""
    source, researcher_id = query.source, query.researcher_id
    if researcher_id:
        return lambda library_id: researcher_key(library_id, Artefact, researcher_id, source or "")
    if source:
        return lambda library_id: Artefact.by_source.partition(library_id=library_id, source=source)
    return lambda library_id: Artefact.in_library.partition(library_id=library_id)


def outputs_by(query: OutputsQuery, doi: str | None) -> Listed:
    """Return where outputs stand that pass the first filter there is."""
    researcher_id = query.researcher_id
    if doi:
        return lambda library_id: ResearchOutput.by_doi.partition(library_id=library_id, doi=doi)
    if researcher_id:
        return lambda library_id: researcher_key(library_id, ResearchOutput, researcher_id)
    if query.venue_id:
        return lambda library_id: ResearchOutput.by_venue.partition(library_id=library_id, venue_id=query.venue_id)
    if query.year:
        return lambda library_id: ResearchOutput.by_year.partition(library_id=library_id, year=query.year)
    return lambda library_id: ResearchOutput.in_library.partition(library_id=library_id, shelf="shown")
