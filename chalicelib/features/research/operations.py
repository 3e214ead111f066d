"""HTTP operations on research: import, reconcile and backfill publications, and list and get the results."""

from typing import Any, Final

from chalicelib.features.research.entities import (
    JOB_RETENTION_DAYS,
    PUBLIC_LIBRARY_ID,
    Artefact,
    ResearchJob,
    ResearchOutput,
)
from chalicelib.features.research.logic.job_steps import first_backfill_steps, first_import_steps
from chalicelib.features.research.logic.list_filters import artefact_partition_function, output_partition_function
from chalicelib.features.research.logic.visibility import (
    caller_library_and_organization_ids,
    list_venues_with_public_output_counts,
    list_visible_jobs_of_caller,
    list_visible_records,
    require_library_change_role,
    require_visible_record,
)
from chalicelib.features.research.models.identifiers import normalize_doi_or_none
from chalicelib.features.research.models.schemas import (
    ArtefactOut,
    ArtefactsQuery,
    EditionId,
    ImportCreate,
    JobType,
    OutputsQuery,
    ReconcileCreate,
    ResearchJobOut,
    VenueOut,
    WorkOut,
)
from chalicelib.features.research.models.venue_catalogue import find_edition
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import FieldError, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery, SmallListQuery
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.work import jobs

routes = RouteGroup("research", scope_areas=(ScopeArea("research", members_read_all=True),))

_JOBS: Final = "/research/jobs"


@routes.get("/research/artefacts", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_artefacts(ctx: Context, query: ArtefactsQuery) -> ListPage[ArtefactOut]:
    """List the records of the sources, in the order in which they were first fetched.

    They are from the caller's own library, those of their organizations, and the public one. With more than 25
    organizations, the list is grouped by 25 of them. A page may be short or empty. The list ends when `nextCursor` is
    null.
    """
    return list_visible_records(ctx, Artefact, artefact_partition_function(query), query, ArtefactOut.of)


@routes.get("/research/artefacts/{artefact_id}", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def get_artefact(ctx: Context, artefact: Artefact) -> ArtefactOut:
    """Get a source's record of a work.

    An artefact shows what one source, such as ORCID, says about a work, with the time at which it was fetched. Compare
    artefacts to see why sources disagree about a work.
    """
    require_visible_record(ctx, artefact)
    return ArtefactOut.of(artefact)


@routes.post(
    "/research/backfill/{venue_edition}",
    success=202,
    access=Caller.OPERATOR,
    scope=None,
    emits="research.backfill.requested",
    collection_path=_JOBS,
)
def backfill_venue_edition(ctx: Context, venue_edition: EditionId) -> ResearchJobOut:
    """Fetch all records of DBLP for an edition of a venue, such as `neurips-2025`, and reconcile them.

    They are stored in the public library. The job runs in the background: poll the job that the 202 returns.
    """
    edition = find_edition(venue_edition)
    if edition is None:
        raise not_found()
    pending_steps = first_backfill_steps(venue_edition, edition.dblp_table_of_contents_keys)
    return _create_and_start_job(ctx, "backfill", pending_steps, edition_id=venue_edition, library_id=PUBLIC_LIBRARY_ID)


@routes.post(
    "/research/import",
    success=202,
    access=Caller.PRINCIPAL,
    scope="research:write",
    emits="research.import.requested",
    collection_path=_JOBS,
    extra_check=require_library_change_role,
    rate_limits=(RateLimit("research-import", limit=10, seconds=3600, per="principal"),),
)
def import_research(ctx: Context, body: ImportCreate) -> ResearchJobOut:
    """Fetch the works of a researcher from ORCID and OpenAlex.

    Importing into an organization's library requires an editor. The job runs in the background: poll the job that the
    202 returns. Records that have not changed since the last import stay as they are. A researcher unknown to all
    sources fails with `unknown_researcher`, and so does an ORCID iD with a wrong check digit, without a request to the
    sources.
    """
    target_library = caller_library_and_organization_ids(ctx, body.organization_id)
    return _create_and_start_job(
        ctx, "import", first_import_steps(body.researcher_id), researcher_id=body.researcher_id, **target_library
    )


@routes.get(_JOBS, access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_research_jobs(ctx: Context, query: ListQuery) -> ListPage[ResearchJobOut]:
    """List the imports, reconciliations and backfills that the caller has started, newest first.

    Each is listed for 30 days. Jobs in the library of an organization are omitted after the caller has left it, so a
    page may be short or empty. The list ends when `nextCursor` is null.
    """
    return list_visible_jobs_of_caller(ctx, query)


@routes.get("/research/jobs/{job_id}", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def get_research_job(ctx: Context, job: ResearchJob) -> ResearchJobOut:
    """Get an import, a reconciliation or a backfill, and its progress. It is available to its caller for 30 days.

    A job in the library of an organization is not available after the caller has left the organization.
    """
    if job.started_by != ctx.principal_or_anonymous.id:
        raise not_found()
    require_visible_record(ctx, job)
    return ResearchJobOut.of(job)


@routes.get("/research/outputs", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_outputs(ctx: Context, query: OutputsQuery) -> ListPage[WorkOut]:
    """List works, in the order in which they were first reconciled.

    The first filter given, of `doi`, `researcherId`, `venueId` and `year`, selects the records. Records that fail the
    other filters are omitted from the page, which may be short. With more than 25 organizations, the list is grouped by
    25 of them.
    """
    doi = normalize_doi_or_none(query.doi)
    if query.doi is not None and doi is None:
        raise ValidationProblem([FieldError("query/doi", "malformed", "must be a DOI such as 10.5555/12345678")])
    filters = query.model_dump(include={"venue_id", "year"}) | {"doi": doi, "researcher_ids": query.researcher_id}
    return list_visible_records(
        ctx, ResearchOutput, output_partition_function(query, doi), query, WorkOut.of, **filters
    )


@routes.get("/research/outputs/{output_id}", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def get_output(ctx: Context, output: ResearchOutput) -> WorkOut | Redirect:
    """Get a work. A work that was merged into another redirects to it.

    The work contains, for each field, the artefact from which it was taken. Use it to show a publication once, although
    several sources have it.
    """
    require_visible_record(ctx, output)
    if output.merged_into:
        return Redirect(f"/research/outputs/{output.merged_into}")
    return WorkOut.of(output)


@routes.post(
    "/research/reconcile",
    success=202,
    access=Caller.PRINCIPAL,
    scope="research:write",
    emits="research.reconcile.requested",
    collection_path=_JOBS,
    extra_check=require_library_change_role,
)
def reconcile_research(ctx: Context, body: ReconcileCreate) -> ResearchJobOut:
    """Build works from artefacts that share a DOI or an id of arXiv, PubMed or OpenAlex.

    Reconciling an organization's library requires an editor. The job runs in the background: poll the job that the 202
    returns. Works that only look alike are not merged but counted in `conflicts`: they have the same title and first
    author (without authors, a common researcher), and are at most a year apart. Reconciling again is safe, because the
    same artefacts produce the same works in whatever order they were imported.
    """
    return _create_and_start_job(ctx, "reconcile", [], **caller_library_and_organization_ids(ctx, body.organization_id))


@routes.get("/research/venues", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_venues(ctx: Context, query: SmallListQuery) -> ListPage[VenueOut]:
    """List the venues whose editions can be backfilled, with the number of outputs of each edition.

    Use it to choose an edition for a backfill, or a venue as a filter of the works.
    """
    return ctx.slice_page(list_venues_with_public_output_counts(), query)


def _create_and_start_job(ctx: Context, job_type: JobType, pending_steps: list[Item], **fields: Any) -> ResearchJobOut:
    """Create a job, which is started by a task after the commit."""
    job = ResearchJob(
        **ctx.new_id_and_time_fields(),
        lease_until=ctx.now,
        work=job_type,
        pending_steps=pending_steps,
        started_by=str(ctx.principal_or_anonymous.id),
        ttl=timestamp_ms(after(ctx.now, days=JOB_RETENTION_DAYS)) // 1000,
        **fields,
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, job)
    ctx.changes.event(job)
    return ResearchJobOut.of(job)
