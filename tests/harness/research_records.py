"""Sample records of research, as a completed reconcile stores them."""

from typing import Any, Final

from chalicelib.features.research.entities import PUBLIC_LIBRARY_ID, Artefact, ResearchJob, ResearchOutput
from chalicelib.features.research.logic.record_rules import merged_work_fields
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import Entity

ARTEFACT_ID: Final = "01939d3c-0000-7000-8000-00000000a001"
OUTPUT_ID: Final = "01939d3c-0000-7000-8000-00000000a002"
JOB_ID: Final = "01939d3c-0000-7000-8000-00000000a003"


def build_research_records(starter_id: str) -> list[Entity]:
    """Return an artefact of DBLP, its public output, and the job that reconciled them."""
    timestamp = now()
    common_fields: dict[str, Any] = {"created_at": timestamp, "updated_at": timestamp}
    artefact = Artefact(
        **common_fields,
        id=ARTEFACT_ID,
        library_id=PUBLIC_LIBRARY_ID,
        source="dblp",
        source_id="conf/nips/WareC25",
        year=2025,
        title="Cracks in Kilns, Learned from Shards",
        type="conference-paper",
        venue_name="NeurIPS",
        identifiers={"doi": "10.5555/3000000", "dblp": "conf/nips/WareC25"},
        edition_id="neurips-2025",
        authors=[{"name": "Terra Ware", "orcid": None}],
        fetched_at=timestamp,
        content_hash="0" * 64,
        output_id=OUTPUT_ID,
        is_stale=False,
    )
    output = ResearchOutput(
        **common_fields, id=OUTPUT_ID, library_id=PUBLIC_LIBRARY_ID, **merged_work_fields([artefact])
    )
    job = ResearchJob(
        **common_fields,
        id=JOB_ID,
        library_id=starter_id,
        work="reconcile",
        started_by=starter_id,
        status="completed",
        ttl=2**40,
    )
    return [artefact, output, job]
