"""Examples of the operations on research, which read the public library."""

from typing import Any, Final

from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, ResearchOutput
from chalicelib.kernel.core.clock import now
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records
from tests.harness import research_records

EXAMPLES: Final[ExampleFactories] = {
    "get_artefact": lambda _: example(artefact_id=research_records.ARTEFACT_ID),
    "backfill_venue_edition": lambda _: example(venue_edition="neurips-2025"),
    "import_research": lambda _: example({"researcherId": "0000-0002-1825-0097"}),
    "get_research_job": lambda world: example(job_id=research_records.JOB_ID, only_caller=world.people.owner),
    "get_output": lambda _: example(output_id=research_records.OUTPUT_ID),
    "reconcile_research": lambda _: example({}),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add artefacts and outputs to the libraries of the organization and of the public, and jobs."""
    timestamp = now()
    for library_id, organization_id in ((world.id, world.id), (PUBLIC_LIBRARY_ID, None)):
        place: dict[str, Any] = {"library_id": library_id, "organization_id": organization_id, "title": "Kilns"}
        put_records(
            Artefact(
                **common_fields,
                **place,
                source="dblp",
                source_id=f"{library_id}/{n}",
                type="article",
                fetched_at=timestamp,
                content_hash="0" * 64,
                is_stale=False,
            )
            for n, common_fields in enumerate(new_records_fields(count))
        )
        put_records(ResearchOutput(**common_fields, **place) for common_fields in new_records_fields(count))
    put_records(
        ResearchJob(**common_fields, library_id=world.id, work="reconcile", started_by=world.people.owner.id, ttl=2**40)
        for common_fields in new_records_fields(count)
    )
