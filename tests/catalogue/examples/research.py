"""Examples of the operations on research: what they read is in the library that everybody sees."""

from typing import Any, Final

from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, ResearchOutput
from chalicelib.kernel.core.clock import now
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put
from tests.harness import research

EXAMPLES: Final[Examples] = {
    "list_artefacts": lambda _: example(),
    "get_artefact": lambda _: example(artefact_id=research.ARTEFACT_ID),
    "backfill_venue_edition": lambda _: example(venue_edition="neurips-2025"),
    "import_research": lambda _: example({"researcherId": "0000-0002-1825-0097"}),
    "get_research_job": lambda world: example(job_id=research.JOB_ID, only=world.people.owner),
    "list_outputs": lambda _: example(),
    "get_output": lambda _: example(output_id=research.OUTPUT_ID),
    "reconcile_research": lambda _: example({}),
    "list_venues": lambda _: example(),
}


def crowd(world: World, number: int) -> None:
    """Let there be so many artefacts and outputs more, in the organization and for everybody, and so many jobs."""
    moment = now()
    for library_id, organization_id in ((world.id, world.id), (PUBLIC_LIBRARY_ID, None)):
        place: dict[str, Any] = {"library_id": library_id, "organization_id": organization_id, "title": "Kilns"}
        put(
            Artefact(
                **begun,
                **place,
                source="dblp",
                source_id=f"{library_id}/{n}",
                type="article",
                fetched_at=moment,
                content_hash="0" * 64,
                is_stale=False,
            )
            for n, begun in enumerate(new(number))
        )
        put(ResearchOutput(**begun, **place) for begun in new(number))
    put(
        ResearchJob(**begun, library_id=world.id, work="reconcile", started_by=world.people.owner.id, ttl=2**40)
        for begun in new(number)
    )
