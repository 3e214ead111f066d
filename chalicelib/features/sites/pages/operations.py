"""Pages: create, find, change, publish, delete; their revisions."""

from chalicelib.features.sites.entities.sites import Site, at_site, trees_of
from chalicelib.features.sites.pages.entities.pages import TURN, Content, Page, Revision, status_of
from chalicelib.features.sites.pages.logic import page_changes
from chalicelib.features.sites.pages.logic.page_queries import list_pages as find_pages
from chalicelib.features.sites.pages.logic.publishing import Publishing
from chalicelib.features.sites.pages.logic.tree_positions import PageToChange, Trees
from chalicelib.features.sites.pages.models.schemas import (
    DeleteQuery,
    PageCreate,
    PageOut,
    PagePatch,
    PagePublication,
    PagesQuery,
    PageSummary,
    RevisionOut,
    RevisionSummary,
)
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.results import ListPage as PageOfList
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("sites")

_REVISION = "/sites/{site_id}/pages/{page_id}/revisions/{revision_id}"


def both_trees(request: Request) -> list[ItemKey]:
    """Return where it stands what is known of both trees of the site that the path names."""
    return trees_of(request.parameters["site_id"])


def content_beside(request: Request) -> list[ItemKey]:
    """Return where the blocks stand of the revision that the path names, and what is known of both trees."""
    names = {"page_id": request.parameters["page_id"], "id": request.parameters["revision_id"]}
    return [*both_trees(request), Content.make_item_key(**names)]


def revision_beside(request: Request) -> list[ItemKey]:
    """Return where the revision stands that the body names, and what is known of both trees."""
    revision_id = request.unvalidated_body.get("revisionId")
    names = {"page_id": request.parameters["page_id"], "id": ascii_lower(str(revision_id))}
    return [*both_trees(request), *([Revision.make_item_key(**names)] if isinstance(revision_id, str) else [])]


@routes.get("/sites/{site_id}/pages", access=at_site(Role.MEMBER), scope="sites:read", emits=None, prefetch=both_trees)
def list_pages(ctx: Context, site: Site, query: PagesQuery) -> PageOfList[PageSummary]:
    """List the pages of a site as their drafts are, in the order they were created; with `q` by title.

    With several filters a page of the list may be short.
    """
    return find_pages(ctx, site.id, query)


@routes.post(
    "/sites/{site_id}/pages",
    access=at_site(Role.EDITOR),
    scope="sites:write",
    emits="page.created",
    prefetch=page_changes.surroundings,
)
def create_page(ctx: Context, site: Site, body: PageCreate) -> PageOut:
    """Create a page; it is a draft until it is published, or its `publishAt` comes. The first of a site is its home."""
    page = page_changes.plant(ctx, site, body)
    _start_if_due(ctx, page)
    return PageOut.of(page)


@routes.get(
    "/sites/{site_id}/pages/{page_id}", access=at_site(Role.MEMBER), scope="sites:read", emits=None, prefetch=both_trees
)
def get_page(_ctx: Context, _site: Site, page: Page) -> PageOut:
    """Get a page as its draft is."""
    return PageOut.of(page)


@routes.patch(
    "/sites/{site_id}/pages/{page_id}",
    access=at_site(Role.EDITOR),
    scope="sites:write",
    emits=("page.updated", "page.unpublished"),
    prefetch=page_changes.surroundings,
)
def update_page(ctx: Context, site: Site, page: PageToChange, body: PagePatch) -> PageOut:
    """Change the draft of a page: nothing of it is public before it is published.

    An `unpublishAt` that is past takes back what is published at once; a `publishAt` that is past publishes the draft
    within seconds.
    """
    trees = Trees(ctx.changes, site.id, ctx.access.prefetched)
    changed = page_changes.change(ctx, trees, site, page, body)
    if page.published_revision_id and body.unpublish_at and body.unpublish_at <= ctx.now:
        changed = Publishing(trees, changed, ctx.now).take_back()
        ctx.changes.event = "page.unpublished"
    trees.write()
    times = {"publish_at": body.publish_at, "unpublish_at": body.unpublish_at}
    timed = ctx.changes.update(
        changed, **times, epoch=page.epoch + body.revoke_previews, status=status_of(changed, body.publish_at)
    )
    _start_if_due(ctx, timed)
    return PageOut.of(timed)


@routes.delete(
    "/sites/{site_id}/pages/{page_id}",
    access=at_site(Role.EDITOR),
    scope="sites:write",
    emits="page.deleted",
    prefetch=both_trees,
)
def delete_page(ctx: Context, site: Site, page: PageToChange, query: DeleteQuery) -> None:
    """Delete a page with all its revisions, or with `cascade` also all pages below it: they are gone at once."""
    page_changes.uproot(ctx, site, page, cascade=query.strategy == "cascade")


@routes.post(
    "/sites/{site_id}/pages/{page_id}/publish",
    success=200,
    access=at_site(Role.EDITOR),
    scope="sites:write",
    emits="page.published",
    prefetch=revision_beside,
)
def publish_page(ctx: Context, site: Site, page: PageToChange, body: PagePublication) -> PageOut:
    """Publish the draft of a page, or another revision of it.

    If its path changes by that, those of all pages below it do, and the former ones lead on.
    """
    revision = page if body.revision_id in (None, page.draft_revision_id) else _revision(ctx, page, body.revision_id)
    trees = Trees(ctx.changes, site.id, ctx.access.prefetched)
    published = Publishing(trees, page, ctx.now).publish(revision)
    trees.write()
    return PageOut.of(published)


@routes.get(
    "/sites/{site_id}/pages/{page_id}/revisions",
    access=at_site(Role.MEMBER),
    scope="sites:read",
    emits=None,
    prefetch=both_trees,
)
def list_page_revisions(ctx: Context, _site: Site, page: Page, query: ListQuery) -> PageOfList[RevisionSummary]:
    """List the revisions of a page, the newest first."""
    return ctx.list_records(Revision, Revision.of_page, query, RevisionSummary.of, page_id=page.id)


@routes.get(_REVISION, access=at_site(Role.MEMBER), scope="sites:read", emits=None, prefetch=content_beside)
def get_page_revision(_ctx: Context, _site: Site, _page: Page, revision: Revision) -> RevisionOut:
    """Get a revision of a page."""
    return RevisionOut.of(revision)


@routes.post(
    f"{_REVISION}/restore",
    success=200,
    access=at_site(Role.EDITOR),
    scope="sites:write",
    emits="page.restored",
    prefetch=content_beside,
)
def restore_page_revision(ctx: Context, site: Site, page: PageToChange, revision: Revision) -> PageOut:
    """Let the draft of a page be what a revision was; what is published stays as it is.

    It is a new revision, so nothing is lost. If another page has the path by now that the page had then, it stays where
    it is.
    """
    return PageOut.of(page_changes.restore(ctx, site, page, revision))


def _revision(ctx: Context, page: Page, revision_id: str | None) -> Revision:
    key = Revision.make_item_key(page_id=page.id, id=str(revision_id))
    if key not in ctx.access.prefetched:
        raise ValidationProblem([FieldError("/revisionId", "unknown", "No revision of this page has this id.")])
    return Revision.from_item(ctx.access.prefetched[key])


def _start_if_due(ctx: Context, page: Page) -> None:
    if page.publish_at and page.publish_at <= ctx.now:
        ctx.changes.enqueue_after_commit(TURN, page)
