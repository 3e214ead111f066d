"""Examples of the operations on research, which read the public library."""

from typing import Any, Final

from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, ResearchOutput
from chalicelib.kernel.core.clock import now
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import research_records

EXAMPLES: Final[ExampleFactories] = {
    "get_artefact": lambda _: example(artefact_id=research_records.ARTEFACT_ID),
    "backfill_venue_edition": lambda _: example(venue_edition="neurips-2025"),
    "import_research": lambda _: example({"researcherId": "0000-0002-1825-0097"}),
    "get_research_job": lambda tenant: example(job_id=research_records.JOB_ID, only_caller=tenant.people.owner),
    "get_output": lambda _: example(output_id=research_records.OUTPUT_ID),
    "reconcile_research": lambda _: example({}),
}


def build_research(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an artefact and an output in the libraries of the organization and of the public, and a job."""
    for library_id, organization_id in ((tenant.id, tenant.id), (PUBLIC_LIBRARY_ID, None)):
        place: dict[str, Any] = {"library_id": library_id, "organization_id": organization_id, "title": "Kilns"}
        source: Any = {"source": "dblp", "source_id": f"{library_id}/{n}", "fetched_at": now(), "is_stale": False}
        yield Artefact(**new_fields(), **place, **source, type="article", content_hash="0" * 64)
        yield ResearchOutput(**new_fields(), **place)
    starter = tenant.people.owner.id
    yield ResearchJob(**new_fields(), library_id=tenant.id, work="reconcile", started_by=starter, ttl=2**40)
