"""Research: import what public sources say, reconcile it to works, backfill conferences; read what that came to."""

from typing import Any, Final

from chalicelib.features.research.entities import COMMON, JOBS_KEPT_DAYS, Artefact, ResearchJob, ResearchOutput
from chalicelib.features.research.logic.job_steps import to_backfill, to_import
from chalicelib.features.research.logic.list_filters import artefacts_by, outputs_by
from chalicelib.features.research.logic.visibility import let_in, library_of, listed, refuse_unseen, venues
from chalicelib.features.research.models.identifiers import doi_of
from chalicelib.features.research.models.schemas import (
    ArtefactOut,
    ArtefactsQuery,
    EditionId,
    ImportCreate,
    OutputsQuery,
    ReconcileCreate,
    ResearchJobOut,
    VenueOut,
    Work,
    WorkOut,
)
from chalicelib.features.research.models.venue_catalogue import edition_of
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import FieldError, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SmallListQuery
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import Item

routes = RouteGroup("research", scope_areas=(ScopeArea("research", members_read_all=True),))

_JOBS: Final = "/research/jobs"


@routes.get("/research/artefacts", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_artefacts(ctx: Context, query: ArtefactsQuery) -> ListPage[ArtefactOut]:
    """List what the sources say of works, in the order in which it was first fetched.

    It is of the caller's own library, of those of their organizations, and of the one that everybody sees. Of more than
    25 organizations it comes by groups of 25; a page may be short or empty, and `nextCursor` is null at the end.
    """
    return listed(ctx, Artefact, artefacts_by(query), query, ArtefactOut.of)


@routes.get("/research/artefacts/{artefact_id}", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def get_artefact(ctx: Context, artefact: Artefact) -> ArtefactOut:
    """Get what a source says of a work."""
    refuse_unseen(ctx, artefact)
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
    """Fetch all that DBLP has of an edition of a venue, such as `neurips-2025`, and reconcile it.

    It goes to the library that everybody sees. It is done in the background: ask for the job that the 202 answers.
    """
    edition = edition_of(venue_edition)
    if edition is None:
        raise not_found()
    steps = to_backfill(venue_edition, edition.tocs)
    return _start(ctx, "backfill", steps, edition_id=venue_edition, library_id=COMMON)


@routes.post(
    "/research/import",
    success=202,
    access=Caller.PRINCIPAL,
    scope="research:write",
    emits="research.import.requested",
    collection_path=_JOBS,
    extra_check=let_in,
    rate_limits=(RateLimit("research-import", limit=10, seconds=3600, per="principal"),),
)
def import_research(ctx: Context, body: ImportCreate) -> ResearchJobOut:
    """Fetch what ORCID and OpenAlex say of a researcher's works.

    Into an organization's library editors put them, and those above them. It is done in the background: ask for the job
    that the 202 answers. What has not changed since the last import is left alone. A researcher whom no source knows
    lets it fail with `unknown_researcher`; that an ORCID iD has a wrong check digit does so before anybody is asked.
    """
    place = library_of(ctx, body.organization_id)
    return _start(ctx, "import", to_import(body.researcher_id), researcher_id=body.researcher_id, **place)


@routes.get("/research/jobs/{job_id}", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def get_research_job(ctx: Context, job: ResearchJob) -> ResearchJobOut:
    """Get an import, a reconcile or a backfill: how far it is. It is there for 30 days, for whoever started it.

    That of an organization's library ends for those who left it.
    """
    if job.started_by != ctx.principal.id:
        raise not_found()
    refuse_unseen(ctx, job)
    return ResearchJobOut.of(job)


@routes.get("/research/outputs", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_outputs(ctx: Context, query: OutputsQuery) -> ListPage[WorkOut]:
    """List works, in the order in which they were first reconciled.

    The first filter there is of `doi`, `researcherId`, `venueId` and `year` is looked for; what doesn't pass the others
    is left out of its page, which may be short. Of more than 25 organizations they come by groups of 25.
    """
    doi = doi_of(query.doi)
    if query.doi is not None and doi is None:
        raise ValidationProblem([FieldError("query/doi", "malformed", "must be a DOI such as 10.5555/12345678")])
    others = query.model_dump(include={"venue_id", "year"}) | {"doi": doi, "researcher_ids": query.researcher_id}
    return listed(ctx, ResearchOutput, outputs_by(query, doi), query, WorkOut.of, **others)


@routes.get("/research/outputs/{output_id}", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def get_output(ctx: Context, output: ResearchOutput) -> WorkOut | Redirect:
    """Get a work. One that turned out to be the same as another leads there."""
    refuse_unseen(ctx, output)
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
    extra_check=let_in,
)
def reconcile_research(ctx: Context, body: ReconcileCreate) -> ResearchJobOut:
    """Make works of what the sources say: of what shares a DOI, an id of arXiv, PubMed or OpenAlex.

    In an organization's library editors do, and those above them. It is done in the background: ask for the job that
    the 202 answers. What only looks alike (the same title and first author, a year apart at most; where a work lists no
    authors, one of its researchers) is not merged but counted in `conflicts`. It can be repeated: of the same artefacts
    the same works come, in whatever order they were imported.
    """
    return _start(ctx, "reconcile", [], **library_of(ctx, body.organization_id))


@routes.get("/research/venues", access=Caller.PRINCIPAL, scope="research:read", emits=None)
def list_venues(ctx: Context, query: SmallListQuery) -> ListPage[VenueOut]:
    """List the venues whose editions can be backfilled, with how many outputs each edition has."""
    return ctx.slice_page(venues(), query)


def _start(ctx: Context, work: Work, steps: list[Item], **said: Any) -> ResearchJobOut:
    """Return a new job, which begins once it is committed."""
    job = ResearchJob(
        **ctx.new_record_fields(),
        turn_at=ctx.now,
        work=work,
        steps=steps,
        started_by=str(ctx.principal.id),
        ttl=timestamp_ms(after(ctx.now, days=JOBS_KEPT_DAYS)) // 1000,
        **said,
    )
    ctx.changes.enqueue_after_commit(ResearchJob.task, ctx.changes.create(job))
    return ResearchJobOut.of(job)
