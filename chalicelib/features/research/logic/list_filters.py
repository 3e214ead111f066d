"""Choose the partition to list for some filters: that of the most selective filter."""

from chalicelib.features.research.entities import Artefact, ResearchOutput, researcher_partition_key
from chalicelib.features.research.logic.visibility import PartitionOfLibrary
from chalicelib.features.research.models.schemas import ArtefactsQuery, OutputsQuery


def artefact_partition_function(query: ArtefactsQuery) -> PartitionOfLibrary:
    """Return a function from a library id to the partition of the artefacts that match all filters."""
    source, researcher_id = query.source, query.researcher_id
    if researcher_id:
        return lambda library_id: researcher_partition_key(library_id, Artefact, researcher_id, source or "")
    if source:
        return lambda library_id: Artefact.by_source.partition(library_id=library_id, source=source)
    return lambda library_id: Artefact.in_library.partition(library_id=library_id)


def output_partition_function(query: OutputsQuery, doi: str | None) -> PartitionOfLibrary:
    """Return a function from a library id to the partition of the outputs that match the first filter."""
    researcher_id = query.researcher_id
    if doi:
        return lambda library_id: ResearchOutput.by_doi.partition(library_id=library_id, doi=doi)
    if researcher_id:
        return lambda library_id: researcher_partition_key(library_id, ResearchOutput, researcher_id)
    if query.venue_id:
        return lambda library_id: ResearchOutput.by_venue.partition(library_id=library_id, venue_id=query.venue_id)
    if query.year:
        return lambda library_id: ResearchOutput.by_year.partition(library_id=library_id, year=query.year)
    return lambda library_id: ResearchOutput.in_library.partition(library_id=library_id, list_name="shown")
